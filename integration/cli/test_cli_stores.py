"""Commands on tables on S3, whose keys stand in a file: on no command line, and in nothing that is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.cli.main import cli
from hudi_hive.metastore import HiveMetastore
from hudi_hive.testing import FakeMetastore
from integration.support.stores.s3 import SECRET_KEY, S3Server
from tests.cli.shared.cli_helpers import run

__all__ = ["run"]

WITHOUT = {"completion", "demo", "metastore start", "metastore stop", "metastore status", "spark jar", "spark package"}
"""Commands that open no table."""


def commands(group: click.Group, names: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """All commands with their full names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group) and command.commands:
            yield from commands(command, (*names, name))
        else:
            yield " ".join((*names, name)), command


def test_each_command_that_opens_tables_takes_storage_options() -> None:
    without = {
        name
        for name, command in commands(cli)
        if not {"--storage-option", "--storage-options-file"} <= {text for one in command.params for text in one.opts}
    }
    assert without == WITHOUT


def test_commands_on_s3(run, s3: S3Server, tmp_path: Path) -> None:
    path, file = s3.folder("s3a"), tmp_path / "lake.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in s3.hadoop().items()))
    file.chmod(0o600)

    def call(*words: str) -> str:
        code, out, err = run(*words, "--storage-options-file", str(file))
        assert code == 0, (words, err)
        assert SECRET_KEY not in out + err
        return out

    call("table", "create", path, "--name", "t", "--type", "mor", "--record-key", "id", "--ordering", "ts")
    table = HudiTable.open(path, s3.options())
    for step in range(2):
        table.upsert(pa.table({"id": ["a", "b"], "ts": [step, step], "v": [f"{step}", "x"]}))
    for words in (
        ("show", path),
        ("timeline", path),
        ("files", path),
        ("stats", path),
        ("plan", path),
        ("schema", path),
        ("metadata", "stats", path),
        ("metadata", "list-partitions", path),
        ("metadata", "list-files", path),
        ("metadata", "validate", path),
        ("input-format", path, "--realtime"),
        ("table", "compact", path),
        ("schema", "alter", path, "add", "w", "bigint"),
        ("metadata", "delete", path),
    ):
        assert call(*words)
    rows = json.loads(call("read", path, "--columns", "id,ts", "--format", "json"))
    assert sorted(row["ts"] for row in rows) == [1, 1]
    counted = json.loads(call("sql", "SELECT count(*) AS n FROM t", "--table", f"t={path}", "--format", "json"))
    assert counted == [{"n": 2}]
    with FakeMetastore() as server, HiveMetastore(server.uri) as metastore:
        call("sync", "--metastore-uris", server.uri, "--database", "default", "--table", "t", "--base-path", path)
        entry = metastore.find_table("default", "t_rt")
        assert entry is not None and entry.sd.location == path
