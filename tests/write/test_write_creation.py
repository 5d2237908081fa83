"""A table that a statement makes, with what comes behind it: nothing is left where the statement fails or is killed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import TableExistsError, WriteConflictError
from hudi_hive.table import MetaClient, is_hudi_table
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.write.commit import creating, finish_creation, in_place_of, remove_unfinished
from hudi_hive.write.coordination import LocalExecutor, table_lock
from hudi_hive.write.writers import LocalWriter
from tests.support.faults.write_faults import CHANGES, count_calls, killed
from tests.support.running.long import with_long_cases

ROWS = pa.table({"id": ["a", "b"], "p": ["x", "y"]})
OPTIONS = {"hoodie.datasource.write.operation": "bulk_insert", "hoodie.index.bloom.num_entries": "100"}
RECORD = ".hoodie/.aux/creation.json"


def make(path):
    definition = TableDefinition(name="t", record_keys=["id"], partition_fields=["p"])
    return create_table(path, definition)


def write(path, annotate=None, rows=ROWS):
    writer = LocalWriter(MetaClient.load(path), OPTIONS, executor=LocalExecutor(1))
    writer.annotate = annotate
    writer.write(rows)


def statement(path: Path, after=lambda: None) -> None:
    with creating(str(path), lambda: make(path)) as creation:
        write(path, creation.annotate)
        after()


def read(path):
    return sorted(HudiTable.open(path).scan().to_arrow()["id"].to_pylist())


def test_a_statement_that_is_killed_leaves_nothing_once_it_is_run_again(tmp_path, thorough):
    calls = count_calls(statement, tmp_path / "counted")
    points = [at for at, name in enumerate(calls) if name in CHANGES]
    for at in points if thorough else points[2::17]:
        path = tmp_path / str(at)
        assert killed(statement, path, at)
        left = path.exists()
        removed = remove_unfinished(str(path))
        assert not path.exists() or not left, calls[at]
        assert removed or not (path / ".hoodie").exists()
        statement(path)
        assert read(path) == ["a", "b"]
        assert not (path / RECORD).exists()


def test_a_statement_that_fails_behind_its_commit_leaves_nothing(tmp_path):
    def fail():
        raise KeyboardInterrupt

    path = tmp_path / "t"
    with pytest.raises(KeyboardInterrupt):
        statement(path, fail)
    assert not path.exists()
    path.mkdir()
    (path / "of others.csv").write_text("1")
    with pytest.raises(KeyboardInterrupt):
        statement(path, fail)
    assert [one.name for one in path.rglob("*")] == ["of others.csv"]


def dead(path: Path) -> None:
    record = json.loads((path / RECORD).read_text())
    record["owner"]["started"] = "1"
    (path / RECORD).write_text(json.dumps(record))


def test_what_others_have_written_stays(tmp_path):
    path = tmp_path / "t"

    def others():
        dead(path)
        shutil.copytree(path, tmp_path / "whole")
        write(path, rows=ROWS.slice(1))
        shutil.copytree(path, tmp_path / "written")

    statement(path, others)
    assert not remove_unfinished(str(tmp_path / "written")) and read(tmp_path / "written") == ["a", "b", "b"]
    assert not (tmp_path / "written" / RECORD).exists()
    shutil.copytree(tmp_path / "whole", tmp_path / "finished")
    finish_creation(str(tmp_path / "finished"))
    assert not remove_unfinished(str(tmp_path / "finished")) and read(tmp_path / "finished") == ["a", "b"]
    shutil.copytree(tmp_path / "whole", tmp_path / "registered")
    assert not remove_unfinished(str(tmp_path / "registered"), keep_commits=True)
    assert read(tmp_path / "registered") == ["a", "b"]
    assert remove_unfinished(str(tmp_path / "whole")) and not (tmp_path / "whole").exists()


def test_a_table_that_another_statement_is_making_is_left_alone(tmp_path):
    path = tmp_path / "t"

    def others():
        with pytest.raises(WriteConflictError, match="is being made"):
            remove_unfinished(str(path))
        with pytest.raises(TableExistsError):
            statement(path)

    statement(path, others)
    assert read(path) == ["a", "b"]


def replace(path: Path) -> None:
    client = MetaClient.load(path)

    def write_new(place):
        make(place)
        write(place, rows=ROWS.slice(1))

    in_place_of(client, table_lock({}, client.storage), write_new)


@pytest.mark.parametrize("step", with_long_cases((15,), (15, 1)))
def test_a_table_is_there_at_any_moment_of_its_replacement(tmp_path, step):
    statement(tmp_path / "base")
    shutil.copytree(tmp_path / "base", tmp_path / "counted")
    calls = count_calls(replace, tmp_path / "counted")
    for at in [at for at, name in enumerate(calls) if name in CHANGES][::step]:
        folder = tmp_path / f"at {at}"
        folder.mkdir()
        path = folder / "t"
        shutil.copytree(tmp_path / "base", path)
        assert killed(replace, path, at)
        assert is_hudi_table(path) and read(path) in (["a", "b"], ["b"])
        replace(path)
        assert read(path) == ["b"] and os.listdir(folder) == ["t"]
