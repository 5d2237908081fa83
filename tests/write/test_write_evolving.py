"""Writing into tables whose columns have ids: what old files hold comes back under the names and types of now."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive.errors import InvalidOptionError, SchemaError, WriteConflictError
from hudi_hive.schema import InternalSchema, parse_internal_schema
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.instants import COMMIT, COMPACTION, DELTA_COMMIT
from hudi_hive.write.commit.transaction import WriteTransaction
from hudi_hive.write.files.statuses import WRITE_STATUS_SCHEMA
from hudi_hive.write.options.config import WriteConfig
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import rollback
from hudi_hive.write.rollback.savepoint_action import create_savepoint, delete_savepoint
from hudi_hive.write.schema.schemas import merged_schema
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.archival import archive_instants
from hudi_hive.write.services.cleaning import clean
from hudi_hive.write.services.clustering import execute_clustering, schedule_clustering
from hudi_hive.write.services.compaction import execute_compaction, schedule_compaction
from tests.support.running.long import VERSION_CASES, with_long_cases

KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
BARE = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
SORT = {"hoodie.clustering.plan.strategy.sort.columns": "id"}
KEEP = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.int64()),
        ("name", pa.string()),
        ("n", pa.int32()),
        ("info", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)


@pytest.fixture(params=VERSION_CASES)
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(folder: Path, version: int, kind: str = "COPY_ON_WRITE", *ids: int) -> Path:
    """A table with rows that were written before its columns had ids."""
    HudiTable.create(
        folder / "t", name="t", version=version, table_type=kind, record_keys=["id"], ordering_fields=["ts"]
    )
    write(folder / "t", *[old_row(one) for one in ids or (1, 2)])
    return folder / "t"


def old_row(number: int) -> dict[str, Any]:
    info = {"a": number, "b": f"b{number}"}
    return {"id": number, "ts": 0, "name": f"name{number}", "n": number, "info": info}


def write(path: Path, *rows: dict[str, Any], schema: pa.Schema = SCHEMA, **options: str) -> Any:
    return HudiTable.open(path).upsert(pa.Table.from_pylist(list(rows), schema), {**BARE, **options})


def alter(path: Path, *changes: tuple[str, ...]) -> None:
    builder = HudiTable.open(path).update_schema(BARE)
    for method, *arguments in changes:
        builder = getattr(builder, method)(*arguments)
    builder.commit()


def seen(path: Path, **scan: Any) -> list[dict[str, Any]]:
    found = HudiTable.open(path).scan(**scan).to_arrow().sort_by("id").to_pylist()
    return [{name: value for name, value in row.items() if not name.startswith("_hoodie")} for row in found]


def context(path: Path, options: dict[str, str] | None = None) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), {**BARE, **(options or {})})


def writes(path: Path) -> list[str]:
    return sorted(i.requested for i in MetaClient.load(path).timeline.write_instants())


def said(path: Path, instant: str) -> InternalSchema | None:
    """The version that a commit says it wrote with."""
    timeline = MetaClient.load(path).timeline
    text = timeline.commit_metadata(timeline.get(instant)).extra.get("latest_schema")
    return None if text is None else parse_internal_schema(text)


def all_files(path: Path) -> list[str]:
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


def test_rows_are_reconciled_by_name(version: int, kind: str, tmp_path: Path) -> None:
    path = make(tmp_path, version, kind)
    alter(path, ("rename", "name", "title"), ("rename", "info.b", "bee"), ("add", "extra", "string"))
    altered = writes(path)[-1]
    # other order, other case, no `n` and no `extra`; `a` is wider and there is a new column
    schema = pa.schema(
        [
            ("TITLE", pa.string()),
            ("info", pa.struct([("bee", pa.string()), ("a", pa.int64())])),
            ("fresh", pa.float64()),
            ("ts", pa.int64()),
            ("id", pa.int64()),
        ]
    )
    write(path, {"TITLE": "t2", "info": {"bee": "x", "a": 1 << 40}, "fresh": 0.5, "ts": 1, "id": 2}, schema=schema)
    want = [
        {**old_row(1), "title": "name1", "info": {"a": 1, "bee": "b1"}, "extra": None, "fresh": None},
        {"id": 2, "ts": 1, "title": "t2", "n": None, "info": {"a": 1 << 40, "bee": "x"}, "extra": None, "fresh": 0.5},
    ]
    del want[0]["name"]
    assert seen(path) == want
    client = MetaClient.load(path)
    history = client.schema_history()
    assert [one.version_id for one in history] == [0, int(altered), int(writes(path)[-1])]
    new = history[-1].find("fresh")
    assert new is not None and new.id == history[-2].max_column_id + 1 == history[-1].max_column_id
    assert said(path, writes(path)[-1]) == history[-1]
    # a write that changes nothing repeats the version, and has a history beside it
    write(
        path,
        {"id": 3, "ts": 1, "title": "t3"},
        schema=pa.schema([SCHEMA.field("id"), SCHEMA.field("ts"), ("title", "string")]),
    )
    assert said(path, writes(path)[-1]) == history[-1]
    client = MetaClient.load(path)
    assert client.schema_history() == history and max(client.schema_history_files()) == writes(path)[-1]
    commit = client.schema_commit()
    assert commit is not None and [entry["name"] for entry in json.loads(commit.extra["schema"])["fields"]] == [
        item.name for item in history[-1].fields
    ]


def test_a_dropped_column_that_is_added_again_is_a_new_column(version: int, kind: str, tmp_path: Path) -> None:
    path = make(tmp_path, version, kind)
    alter(path, ("drop", "name"))
    alter(path, ("add", "name", "string"), ("drop", "info.b"), ("rename", "info.a", "b"))
    schema = pa.schema([*[f for f in SCHEMA if f.name != "info"], pa.field("info", pa.struct([("b", pa.int32())]))])
    write(path, {"id": 2, "ts": 1, "name": "new", "n": 20, "info": {"b": 7}}, schema=schema)
    first = {"id": 1, "ts": 0, "n": 1, "info": {"b": 1}, "name": None}
    want = [first, {"id": 2, "ts": 1, "n": 20, "info": {"b": 7}, "name": "new"}]
    assert seen(path) == want
    HudiTable.open(path).delete(pa.table({"id": [2]}), BARE)
    assert seen(path) == [first]
    if kind == "MERGE_ON_READ":
        planned = schedule_compaction(context(path))
        assert planned is not None
        execute_compaction(context(path), planned)
        assert seen(path) == [first]
    write(path, {"id": 3, "ts": 1, "name": "x", "n": 3, "info": None}, schema=schema)
    planned = schedule_clustering(context(path, SORT))
    assert planned is not None
    execute_clustering(context(path), planned)
    assert seen(path) == [first, {"id": 3, "ts": 1, "n": 3, "info": None, "name": "x"}]


@pytest.mark.parametrize("evolved", [True, False])
def test_services_write_the_columns_of_their_plans_time(version: int, evolved: bool, tmp_path: Path) -> None:
    """Their files bear the plan's time, which readers find the version by, also once its commit is archived."""
    path = make(tmp_path, version, "MERGE_ON_READ")
    if evolved:
        alter(path, ("rename", "name", "title"))
    now = "title" if evolved else "name"
    schema = pa.schema([*[f for f in SCHEMA if f.name != "name"], (now, pa.string())])
    write(path, {**dict.fromkeys(schema.names), "id": 2, "ts": 1, now: "two"}, schema=schema)
    planned = schedule_compaction(context(path))
    assert planned is not None
    alter(path, ("rename", now, "heading"), ("change_type", "n", "bigint"), ("add", now, "string"))
    want = seen(path)
    assert [(row["heading"], row["n"], row[now]) for row in want] == [("name1", 1, None), ("two", None, None)]
    done = execute_compaction(context(path), planned)
    assert seen(path) == want
    [name] = [name for name in all_files(path) if name.endswith(f"_{planned.requested}.parquet")]
    assert pq.read_schema(name).field("n").type == pa.int32() and "heading" not in pq.read_schema(name).names
    assert (said(path, done.requested) is not None) == evolved
    planned = schedule_clustering(context(path, SORT))
    assert planned is not None
    alter(path, ("rename", "heading", "head"))
    execute_clustering(context(path), planned)
    want = [{"head" if key == "heading" else key: value for key, value in row.items()} for row in want]
    assert seen(path) == want
    for number in range(5):
        HudiTable.open(path).upsert(pa.table({"id": [50], "ts": [number]}), BARE)
        clean(context(path, KEEP))
        archive_instants(context(path, KEEP))
    assert planned.requested not in writes(path)
    assert [row for row in seen(path) if row["id"] != 50] == want


def test_rows_that_do_not_fit_are_refused_before_anything_is_written(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    alter(path, ("rename", "name", "title"))
    before = all_files(path)
    wrong = pa.table({"id": [1], "ts": [1], "title": [[1, 2]]})
    with pytest.raises(SchemaError, match="title"):
        HudiTable.open(path).upsert(wrong, BARE)
    with pytest.raises(InvalidOptionError, match="whose columns have ids"):
        write(path, old_row(1), **{"hoodie.schema.on.read.enable": "false"})
    assert all_files(path) == before
    write(
        path,
        {"id": 9, "ts": 1},
        schema=SCHEMA.remove(4).remove(3).remove(2),
        **{"hoodie.schema.on.read.enable": "true"},
    )
    assert [row["title"] for row in seen(path)] == ["name1", "name2", None]


def begin(path: Path, kind: str) -> WriteTransaction:
    client = MetaClient.load(path)
    action = COMMIT if kind == "COPY_ON_WRITE" else DELTA_COMMIT
    return WriteTransaction(client, WriteConfig.of(BARE | MULTI, client.config), action=action, operation="UPSERT")


MULTI = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


@pytest.mark.parametrize("change", [[("rename", "name", "title")], [("drop", "n"), ("add", "n", "int")]])
def test_a_write_that_began_with_other_columns_is_refused(
    version: int, change: list[tuple[str, ...]], tmp_path: Path
) -> None:
    """Also where names and types came out the same: what it merged belongs to other columns."""
    path = make(tmp_path, version)
    alter(path, ("comment", "info", "once"))
    with pytest.raises(WriteConflictError, match="changed the table's schema"), begin(path, "COPY_ON_WRITE") as late:
        schema = json.dumps(late.client.avro_schema())
        builder = HudiTable.open(path).update_schema(BARE | MULTI)
        for method, *arguments in change:
            builder = getattr(builder, method)(*arguments)
        builder.commit()
        late.commit(WRITE_STATUS_SCHEMA.empty_table(), schema=schema)
    assert writes(path)[-1] != late.instant and len(MetaClient.load(path).schema_history()) == 3


def test_a_change_that_a_newer_write_would_hide_is_made_with_a_newer_instant(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    schema = pa.schema([*SCHEMA, ("fresh", pa.string())])
    with pytest.raises(WriteConflictError, match="which is newer"), begin(path, "COPY_ON_WRITE") as slow:
        HudiTable.open(path).upsert(pa.Table.from_pylist([old_row(2)], SCHEMA), BARE | MULTI)
        text = merged_schema(schema, slow.client.avro_schema(), "t").text
        slow.commit(WRITE_STATUS_SCHEMA.empty_table(), schema=text)
    assert "fresh" not in seen(path)[0]


def test_going_back_brings_the_columns_of_then(version: int, kind: str, tmp_path: Path) -> None:
    path = make(tmp_path, version, kind)
    as_it_was = seen(path)
    first = create_savepoint(context(path)).instant.requested
    alter(path, ("rename", "name", "title"))
    renamed = seen(path)
    second = create_savepoint(context(path)).instant.requested
    write(path, {"id": 2, "ts": 1, "n": 1 << 40}, schema=pa.schema([("id", "int64"), ("ts", "int64"), ("n", "int64")]))
    widened = writes(path)[-1]
    assert seen(path) != renamed and HudiTable.open(path).schema().field("n").type == pa.int64()
    if kind == "COPY_ON_WRITE":
        rollback(context(path), widened)
    else:
        restore(context(path), second)
    assert seen(path) == renamed and HudiTable.open(path).schema().field("n").type == pa.int32()
    assert not [name for name in os.listdir(path / ".hoodie/.schema") if name.startswith(widened)]
    alter(path, ("drop", "title"))
    assert [len(row) for row in seen(path)] == [4, 4]
    delete_savepoint(context(path), second)
    restore(context(path), first)
    assert seen(path) == as_it_was
    assert MetaClient.load(path).evolved_schema() is None and not MetaClient.load(path).schema_history_files()
    alter(path, ("add", "title", "string"))  # ids begin anew
    write(path, {**old_row(3), "title": "x"}, schema=pa.schema([*SCHEMA, ("title", pa.string())]))
    assert seen(path) == [*({**row, "title": None} for row in as_it_was), {**old_row(3), "title": "x"}]


STATISTICS = {
    **BARE,
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.parquet.small.file.limit": "0",
}
PARTS = pa.schema(
    [
        ("id", pa.int64()),
        ("p", pa.string()),
        ("a", pa.int32()),
        ("c", pa.int32()),
        ("x", pa.int32()),
        ("f", pa.float32()),
    ]
)


def in_parts(folder: Path, version: int, kind: str) -> Path:
    """A table of four files in two partitions, each with rows of its own tens."""
    path = folder / "parts"
    HudiTable.create(path, name="t", version=version, table_type=kind, record_keys=["id"], partition_fields=["p"])
    for file in range(4):
        numbers = range(10 * file, 10 * file + 3)
        rows = [{"id": n, "p": f"p{file % 2}", "a": n, "c": n * 10, "x": n, "f": n / 3} for n in numbers]
        HudiTable.open(path).insert(pa.Table.from_pylist(rows, PARTS), STATISTICS)
    return path


def keys_and_slices(path: Path, text: str) -> tuple[list[int], int]:
    """Keys of the rows that pass a filter, as they are without any index, and the slices that are read for them."""
    table = HudiTable.open(path)
    plain = table.scan(row_filter=text, options={"hoodie.enable.data.skipping": "false"}).to_arrow()
    ids = sorted(plain.column("id").to_pylist())
    scan = table.scan(row_filter=text)
    assert sorted(scan.to_arrow().column("id").to_pylist()) == ids
    return ids, scan.plan().slices.num_rows


@pytest.mark.parametrize(
    ("version", "kind"),
    with_long_cases([(6, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")], itertools.product((6, 8, 9), KINDS)),
)
def test_statistics_stay_when_names_and_types_change(version: int, kind: str, tmp_path: Path) -> None:
    """As many files are opened behind a rename as before it, and no statistics of one column are another's."""
    path = in_parts(tmp_path, version, kind)
    before = MetaClient.load(path).config.metadata_partitions
    assert keys_and_slices(path, "c = 110") == ([11], 1)
    table = HudiTable.open(path).update_schema(STATISTICS)
    table.rename("c", "d").drop("x").change_type("a", "long").change_type("f", "double").commit()
    HudiTable.open(path).update_schema(STATISTICS).add("x", "int").add("c", "int").commit()
    assert MetaClient.load(path).config.metadata_partitions == before
    assert keys_and_slices(path, "d = 110") == ([11], 1)
    assert keys_and_slices(path, "a = 11 AND d > 0") == ([11], 1)
    assert keys_and_slices(path, "f < 1") == ([0, 1, 2], 1)
    assert keys_and_slices(path, "x = 11 OR c = 110") == ([], 0)
    assert len(keys_and_slices(path, "x IS NULL AND c IS NULL")[0]) == 12
    row = {"id": 99, "p": "p1", "a": 99, "d": 990, "f": 33.0, "x": 11, "c": 110}
    HudiTable.open(path).insert(pa.Table.from_pylist([row]), STATISTICS)
    assert keys_and_slices(path, "d = 110") == ([11], 1)
    assert keys_and_slices(path, "x = 11 AND c = 110") == ([99], 1)
    # Two columns that change their names with each other; then numbers that become texts, whose order is another.
    swap = HudiTable.open(path).update_schema(STATISTICS)
    swap.rename("c", "y").rename("x", "c").rename("y", "x").commit()
    assert keys_and_slices(path, "x = 110") == ([99], 1)
    assert keys_and_slices(path, "c = 110")[0] == []
    HudiTable.open(path).update_schema(STATISTICS).change_type("d", "string").commit()
    assert keys_and_slices(path, "d = '110'")[0] == [11]
    assert keys_and_slices(path, "d > '9'")[0] == [99]
    lost = int(version == 6)  # there a file with another column's statistics loses its own
    assert keys_and_slices(path, "d IS NULL") == ([], lost)
    assert HudiTable.open(path).metadata.validate().is_valid


@pytest.mark.parametrize("made_by", ["metadata table", "compaction"])
def test_statistics_of_older_files_have_the_names_of_now(made_by: str, tmp_path: Path) -> None:
    """A metadata table that is made behind a rename, and a compaction that was planned before it, go by ids."""
    path = in_parts(tmp_path, 8, "MERGE_ON_READ")
    services = ServiceContext(MetaClient.load(path), STATISTICS)
    if made_by == "compaction":
        rows = [{"id": 11, "p": "p1", "a": 5, "c": 770, "x": 3, "f": 0.5}]
        HudiTable.open(path).upsert(pa.Table.from_pylist(rows, PARTS), STATISTICS)
        services = ServiceContext(MetaClient.load(path), STATISTICS)
        assert schedule_compaction(services) is not None
    builder = HudiTable.open(path).update_schema(STATISTICS).rename("c", "d").rename("x", "y")
    builder.change_type("a", "decimal(12,1)").commit()
    if made_by == "compaction":
        [planned] = MetaClient.load(path).timeline.pending({COMPACTION})
        execute_compaction(ServiceContext(MetaClient.load(path), STATISTICS), planned)
        assert keys_and_slices(path, "d = 770") == ([11], 1)
        assert keys_and_slices(path, "a = 5") == ([11], 1)
        return
    table = HudiTable.open(path)
    table.metadata.delete()
    HudiTable.open(path).metadata.create(options=STATISTICS)
    assert "column_stats" in MetaClient.load(path).config.metadata_partitions
    assert keys_and_slices(path, "d = 110") == ([11], 1)
    assert keys_and_slices(path, "y = 11") == ([11], 1)
    assert keys_and_slices(path, "a = 11") == ([11], 1)


def test_a_planned_compaction_is_not_lost_by_a_change(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version, "MERGE_ON_READ")
    write(path, {**old_row(1), "ts": 1, "name": "one"})
    assert schedule_compaction(context(path)) is not None
    alter(path, ("change_type", "n", "string"))
    schema = SCHEMA.set(3, pa.field("n", pa.string()))
    write(path, {**old_row(2), "ts": 2, "n": "many"}, schema=schema)
    want = seen(path)
    assert [(row["n"], row["name"]) for row in want] == [("1", "one"), ("many", "name2")]
    [planned] = MetaClient.load(path).timeline.pending({COMPACTION})
    execute_compaction(context(path), planned)
    assert seen(path) == want
