"""``hudi-hive --merger``: Python mergers of users for one command."""

from __future__ import annotations

import json

import pyarrow as pa
from click.testing import CliRunner

import hudi_hive
from hudi_hive import HudiTable
from hudi_hive.cli.main import cli
from hudi_hive.errors import UnsupportedTableError
from tests.support.mergers import SUM, total


def test_the_command_line_takes_mergers(tmp_path):
    path = str(tmp_path / "t")
    hudi_hive.register_merger(SUM, total)
    HudiTable.create(path, name="t", table_type="MERGE_ON_READ", record_keys=["id"], payload_class=SUM)
    for _ in range(2):
        HudiTable.open(path).upsert(pa.table({"id": [1], "n": [10]}))
    hudi_hive.unregister_merger(SUM)
    command = ["read", path, "--format", "json"]
    assert isinstance(CliRunner().invoke(cli, command).exception, UnsupportedTableError)
    entry = f"{SUM}=tests.support.mergers:total"
    for arguments, variables in ((["--merger", entry], {}), ([], {"HUDI_HIVE_MERGERS": entry})):
        answer = CliRunner().invoke(cli, [*arguments, *command], env=variables)
        hudi_hive.unregister_merger(SUM)
        assert json.loads(answer.stdout)[0]["n"] == 20
