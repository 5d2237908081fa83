"""``hudi-hive table create|archive``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hudi_hive.cli.main import cli
from hudi_hive.errors import HudiHiveError, TableExistsError
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import unzip_fixture

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": n, "type": ["null", "string"]} for n in ("id", "ts", "p")]}


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments), catch_exceptions=True)
    if isinstance(result.exception, HudiHiveError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_table_is_made(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    path = str(tmp_path / "t")
    options = ["--type", "mor", "--table-version", "9", "--record-key", "id", "--partition", "p", "--ordering", "ts"]
    output = run("table", "create", path, "--name", "t", *options, "--hive-style", "--schema", str(schema))
    assert "MERGE_ON_READ" in output
    config = MetaClient.load(path).config
    assert (config.version, config.record_keys, config.partition_fields) == (9, ("id",), ("p",))
    assert config.hive_style_partitioning
    assert config.merge_mode == "EVENT_TIME_ORDERING"
    with pytest.raises(TableExistsError):
        run("table", "create", path, "--name", "t")


def test_old_instants_are_archived(tmp_path: Path) -> None:
    path = unzip_fixture("v8_cow_archived", tmp_path)
    before = len(MetaClient.load(path).timeline.archived().instants)
    conf = [f"--conf={name}" for name in ("hoodie.keep.min.commits=2", "hoodie.keep.max.commits=3")]
    output = run("table", "archive", str(path), *conf, "--conf=hoodie.clean.commits.retained=1")
    assert "2 archived" in output
    assert len(MetaClient.load(path).timeline.archived().instants) == before + 2
