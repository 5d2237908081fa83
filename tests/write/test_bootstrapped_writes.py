"""Writes and services of ours on tables that real Hudi bootstrapped: rows are those of a model, sources stay."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import PathNotFoundError, UnsupportedTableError
from hudi_hive.formats.avro import read_container
from hudi_hive.schema import META_FIELDS
from hudi_hive.table.bootstrap import is_skeleton
from tests.support.bootstrapped import bootstrapped_names, unzip_bootstrapped
from tests.support.running.long import with_long_cases

NAMES = bootstrapped_names()
OPTIONS = {"hoodie.datasource.write.recordkey.field": "id"}


def opened(name, tmp_path):
    return HudiTable.open(unzip_bootstrapped(name, tmp_path))


def rows(table):
    whole = HudiTable.open(table.path).scan().to_arrow()
    return {row["id"]: row for row in whole.drop_columns(list(META_FIELDS)).to_pylist()}


def skeletons(table):
    paths = HudiTable.open(table.path).scan().plan().slices["path"].to_pylist()
    return [path for path in paths if path and is_skeleton(path)]


def frame(table, some):
    schema = pa.schema([field for field in HudiTable.open(table.path).scan().schema if field.name not in META_FIELDS])
    return pa.Table.from_pylist(some, schema)


def source_files(table, tmp_path):
    return {path: path.read_bytes() for path in tmp_path.rglob("*") if "_source" in str(path) and path.is_file()}


@pytest.mark.parametrize("name", with_long_cases(NAMES[::4], NAMES))
def test_upserts_deletes_and_services(name, tmp_path):
    table = opened(name, tmp_path)
    model, before, sources = rows(table), skeletons(table), source_files(table, tmp_path)
    changed = [{**row, "name": "ours", "ts": 10} for key, row in model.items() if key in ("k000", "k004", "k011")]
    new = [{**next(iter(model.values())), "id": "n1", "ts": 10}, {**list(model.values())[-1], "id": "n2", "ts": 10}]
    table.upsert(frame(table, [*changed, *new]), OPTIONS)
    model |= {row["id"]: row for row in [*changed, *new]}
    assert rows(table) == model
    gone = next(key for key in model if key not in ("k000", "k004", "k011", "n1", "n2"))
    HudiTable.open(table.path).delete(frame(table, [model.pop(gone)]), OPTIONS)
    assert rows(table) == model
    if "_mor_" in name:
        assert HudiTable.open(table.path).compact().result
        assert rows(table) == model
        slices = HudiTable.open(table.path).scan().plan().slices
        assert not any(slices["log_files"].to_pylist())
    elif before:
        assert len(skeletons(table)) < len(before)
    clustering = {"hoodie.clustering.plan.strategy.small.file.limit": str(1 << 20)}
    clustered = HudiTable.open(table.path).cluster(clustering).result
    assert clustered or "full_record" in name  # one file in each partition
    assert rows(table) == model and len(skeletons(table)) <= len(before) // 2
    HudiTable.open(table.path).clean({"hoodie.cleaner.commits.retained": "1"})
    assert rows(table) == model
    assert source_files(table, tmp_path) == sources


@pytest.mark.parametrize("name", ["bootstrapped/v6_mor_mixed", "bootstrapped/v9_mor_compacted"])
def test_undone_writes(name, tmp_path):
    """A rollback, and a restore to a savepoint of a time with skeletons, bring back what was there."""
    table = opened(name, tmp_path)
    model, before = rows(table), skeletons(table)
    saved = table.savepoint().result.instant.requested
    changed = [{**row, "name": "ours", "ts": 10} for row in model.values()]
    HudiTable.open(table.path).upsert(frame(table, changed), OPTIONS)
    HudiTable.open(table.path).compact()
    assert {row["name"] for row in rows(table).values()} == {"ours"} and len(skeletons(table)) < len(before)
    HudiTable.open(table.path).restore(saved)
    assert rows(table) == model and skeletons(table) == before


def test_plans_name_the_source_of_skeletons(tmp_path):
    """Hudi reads a skeleton by what the plan says, when it carries the plan out."""
    table = opened("bootstrapped/v8_mor_mixed", tmp_path)
    assert HudiTable.open(table.path).compact(schedule=True).result
    folder = tmp_path / "v8_mor_mixed" / ".hoodie" / "timeline"
    (requested,) = folder.glob("*.compaction.requested")
    (record,) = read_container(requested.read_bytes(), "plan")
    named = {operation["dataFilePath"]: operation["bootstrapFilePath"] for operation in record["operations"]}
    assert any(map(is_skeleton, named))
    for base, source in named.items():
        assert (source is not None) == is_skeleton(base)
        assert source is None or (tmp_path / source.removeprefix(f"file:{tmp_path}/")).is_file()


def test_a_write_into_a_skeleton_whose_source_is_gone(tmp_path):
    """Nothing is left of it."""
    table = opened("bootstrapped/v9_cow_nonpart_metadata_only", tmp_path)
    model = rows(table)
    some = frame(table, [{**model["k001"], "ts": 10}, {**model["k002"], "ts": 10}])
    for path in (tmp_path / "v9_cow_nonpart_metadata_only_source").glob("*.parquet"):
        path.rename(path.with_suffix(".away"))
    commits = len(HudiTable.open(table.path).timeline.write_instants())
    with pytest.raises(PathNotFoundError, match="the source file of the skeleton"):
        HudiTable.open(table.path).upsert(some, OPTIONS)
    assert len(HudiTable.open(table.path).timeline.write_instants()) == commits
    for path in (tmp_path / "v9_cow_nonpart_metadata_only_source").glob("*.away"):
        path.rename(path.with_suffix(".parquet"))
    assert rows(table) == model


def test_what_is_not_changed(tmp_path):
    table = opened("bootstrapped/v6_cow_metadata_only", tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with pytest.raises(UnsupportedTableError, match="the version of a bootstrapped table"):
        table.upgrade(to=8)
    with pytest.raises(UnsupportedTableError, match="bootstrapped"):
        table.update_schema().add("more", "int").commit()
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
