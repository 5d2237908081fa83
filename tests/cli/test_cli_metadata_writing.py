"""``hudi-hive metadata create | init | delete | set`` on tables made here."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hudi_hive.cli.main import cli
from hudi_hive.metadata import validate
from tests.support.fixture_tables import VERSIONS
from tests.support.tables.metadata_writing import HandMade


def _run(*arguments, code=0):
    result = CliRunner().invoke(cli, ["metadata", *arguments])
    assert result.exit_code == code, result.output
    return f"{result.output} {result.exception or ''}"


@pytest.mark.parametrize("version", VERSIONS)
def test_make_and_delete(tmp_path, version):
    table = HandMade(tmp_path / "t", version, {"hoodie.metadata.enable": "false"})
    table.commit({"a": [("k1", 1)], "b": [("k2", 2)]})
    path = str(tmp_path / "t")
    _run("create", path, "--partition", "record_index", "--partition", "column_stats")
    assert set(table.fresh().config.metadata_partitions) == {"files", "column_stats", "record_index"}
    assert validate(table.fresh()).is_valid
    assert "already" in _run("create", path, code=1)
    _run("delete", path, "--partition", "record_index")
    assert set(table.fresh().config.metadata_partitions) == {"files", "column_stats"}
    _run("init", path, "--partition", "record_index")
    assert "record_index" in table.fresh().config.metadata_partitions
    assert "no partition" in _run("delete", path, "--partition", "nope", code=1)
    _run("validate", path)
    assert "record_index" in _run("stats", path)
    _run("set", path, "--off")
    assert not table.fresh().config.metadata_partitions
    assert not (tmp_path / "t/.hoodie/metadata").exists()
    _run("set", path, "--on")
    assert "files" in table.fresh().config.metadata_partitions
    assert validate(table.fresh()).is_valid
