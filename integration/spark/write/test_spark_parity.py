"""The same rows through the writer on Spark and the one without an engine: the same tables, the same numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.formats.base import open_base_file
from hudi_hive.metadata import MetadataTable
from hudi_hive.table import MetaClient, TableDefinition, create_table
from hudi_hive.write.writers import LocalWriter
from tests.support.running.long import long_case

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("fare", pa.float64()),
        ("ts", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
        ("tags", pa.list_(pa.struct([("n", pa.int32()), ("day", pa.date32())]))),
    ]
)
NUMBERS = ("num_writes", "num_inserts", "num_updates", "num_deletes")
TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}


def trips(
    first: int, last: int, *, fare: float = 1.0, ts: int = 1, cities: int = 2, shift: int = 0, gone=()
) -> pa.Table:
    """Rows of keys ``k<first>`` to ``k<last - 1>``; ``shift`` moves them to other cities, ``gone`` are marked."""
    rows = [
        {
            "id": f"k{n}",
            "city": f"c{(n + shift) % cities}",
            "fare": fare + n,
            "ts": ts,
            "_hoodie_is_deleted": n in gone,
            "tags": [{"n": n, "day": None}] if n % 3 else None,
        }
        for n in range(first, last)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@dataclass(frozen=True)
class Case:
    """A table and what is written to it.

    Attributes:
        name: of the case.
        steps: operation, rows, further options of each write.
        options: of all writes.
        table: how the table is made, beside its name, keys and type.
        deterministic: whether also the files are told.
        since: the first table version that has what it is about.
        kinds: the table types that have it.
    """

    name: str
    steps: Sequence[tuple[str, pa.Table, Mapping[str, str]]]
    options: Mapping[str, str] = field(default_factory=dict)
    table: Mapping[str, object] = field(default_factory=dict)
    bucketed: bool = False
    since: int = 6
    kinds: Sequence[str] = ("cow", "mor")


def index(kind: str, **more: str) -> dict[str, str]:
    return {"hoodie.index.type": kind, **{name.replace("__", "."): value for name, value in more.items()}}


DROP = {"hoodie.datasource.insert.dup.policy": "drop"}
FAIL = {"hoodie.datasource.insert.dup.policy": "fail"}
COMBINE = {"hoodie.combine.before.insert": "true"}
BUCKET = index("BUCKET", hoodie__bucket__index__num__buckets="3")
SPLIT = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.bucket.index.split.threshold": "0",
    "hoodie.bucket.index.max.num.buckets": "5",
}
SOME = ("insert", trips(0, 30), {})
KEYS = ["id", "city"]
OTHER_CITY = trips(10, 20, fare=5.0, ts=2, shift=1)
TWICE = pa.concat_tables([trips(25, 35, fare=7.0, ts=3), trips(20, 30, fare=6.0, ts=2), trips(30, 33, fare=8.0, ts=3)])
BOTH_CITIES = pa.concat_tables([trips(0, 12, fare=4.0, ts=4), trips(5, 16, fare=3.0, ts=3, shift=1)])
NARROW = (
    trips(0, 20)
    .drop_columns(["tags"])
    .cast(pa.schema([SCHEMA.field(0), SCHEMA.field(1), ("fare", pa.float32()), *list(SCHEMA)[3:5]]))
)
MOVES = {
    "GLOBAL_SIMPLE": {"hoodie.simple.index.update.partition.path": "true"},
    "GLOBAL_BLOOM": {"hoodie.bloom.index.update.partition.path": "true"},
    "RECORD_INDEX": {
        "hoodie.record.index.update.partition.path": "true",
        "hoodie.metadata.record.index.enable": "true",
    },
}


def global_cases() -> list[Case]:
    """Indexes that find keys in all partitions: records move to the partition of their row, or stay."""
    cases = []
    for (kind, more), moves in itertools.product(MOVES.items(), (True, False)):
        options = {name: value if moves or "update" not in name else "false" for name, value in more.items()}
        steps = [
            SOME,
            ("upsert", OTHER_CITY, {}),
            ("upsert", trips(12, 18, fare=9.0, ts=1), {}),  # older than what is there
            ("upsert", BOTH_CITIES, {}),
            ("upsert", trips(0, 8, ts=9, shift=1, gone=(1, 2)), {}),
            ("delete", trips(3, 40).select(["id"]), {}),
            ("insert", trips(2, 6, fare=2.0), DROP),
        ]
        cases.append(Case(f"{kind} {'moves' if moves else 'stays'}", steps, index(kind) | options))
    return cases


CASES = [
    Case(
        "upserts",
        [
            ("upsert", trips(0, 30), {}),
            ("upsert", TWICE, {}),
            ("upsert", trips(28, 40, ts=0), {}),
            ("upsert", trips(0, 50, ts=5, gone=range(0, 50, 7)), {}),
            ("delete", pa.concat_tables([trips(0, 10), trips(5, 60), trips(0, 9, shift=1)]).select(KEYS), {}),
        ],
    ),
    Case(
        "commit time ordering",
        [("upsert", TWICE, {}), ("upsert", pa.concat_tables([TWICE, TWICE]), {})],
        table={"ordering_fields": (), "merge_mode": "COMMIT_TIME_ORDERING"},
    ),
    Case(
        "buckets",
        [
            ("bulk_insert", trips(0, 10), {}),
            ("insert", trips(5, 30), {}),
            ("upsert", TWICE, {}),
            ("insert", trips(34, 50, cities=3), {}),
            ("delete", trips(0, 40).select(KEYS), {}),
        ],
        BUCKET,
        bucketed=True,
    ),
    Case(
        "buckets of consistent hashing",
        [
            ("upsert", trips(0, 30), {}),
            ("upsert", TWICE, SPLIT),
            ("upsert", trips(34, 50, cities=3, gone=(36, 39)), {}),
            ("delete", trips(0, 20).select(KEYS), {}),
            ("bulk_insert", trips(45, 60), SPLIT),
            ("insert_overwrite", trips(0, 5), {}),
        ],
        BUCKET | {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"},
        kinds=("mor",),
    ),
    Case(
        "keys made up",
        [("insert", trips(0, 20), {}), ("bulk_insert", trips(0, 20), {}), ("insert", trips(20, 25), COMBINE)],
        table={"record_keys": (), "ordering_fields": ()},
    ),
    Case(
        "duplicates",
        [
            SOME,
            ("insert", trips(20, 40, fare=2.0), DROP),
            ("bulk_insert", trips(35, 50, fare=3.0), DROP),
            ("insert", trips(45, 60), FAIL),
            ("bulk_insert", trips(60, 62), FAIL),
            ("insert", pa.concat_tables([trips(62, 66), trips(62, 66, fare=2.0, ts=2)]), COMBINE),
            ("insert", trips(60, 70), {}),
            ("insert", trips(62, 66), {"hoodie.merge.allow.duplicate.on.inserts": "false"}),
            ("insert", trips(64, 80), {"hoodie.datasource.write.insert.drop.duplicates": "true"}),
        ],
    ),
    Case(
        "overwrites",
        [
            SOME,
            ("insert_overwrite", trips(0, 8, fare=3.0, cities=1), {}),
            ("insert_overwrite", trips(0, 8, cities=2, gone=range(0, 8, 2)), {}),
            ("insert_overwrite_table", trips(5, 9, cities=3), {}),
        ],
    ),
    Case(
        "partition columns dropped",
        [SOME, ("upsert", TWICE, {}), ("bulk_insert", trips(50, 60), {}), ("delete", trips(0, 9).select(KEYS), {})],
        table={
            "hive_style_partitioning": True,
            "properties": {"hoodie.datasource.write.drop.partition.columns": "true"},
        },
    ),
    Case(
        "changes logged",
        [SOME, ("upsert", TWICE, {}), ("delete", trips(0, 9).select(KEYS), {})],
        table={"cdc": "data_before_after"},
    ),
    Case(
        "not partitioned, several keys, no meta columns",
        [SOME, ("upsert", TWICE, {}), ("delete", trips(0, 9).select(["id", "ts"]), {})],
        table={"partition_fields": (), "record_keys": ("id", "ts"), "populate_meta_fields": False},
    ),
    Case(
        "new and wider columns",
        [
            ("upsert", NARROW, {}),
            ("upsert", trips(10, 30, ts=2), {}),
            ("insert", trips(30, 33).drop_columns(["tags"]), {}),
        ],
    ),
    Case(
        "record index of each partition",
        [
            SOME,
            ("upsert", pa.concat_tables([BOTH_CITIES, trips(28, 40, ts=2, cities=5)]), {}),
            ("upsert", trips(0, 8, ts=9, shift=1, gone=(1, 2)), {}),
            ("delete", trips(3, 20).select(KEYS), {}),
            ("insert_overwrite", trips(0, 8, fare=3.0, cities=1), {}),
            ("insert", trips(2, 6, fare=2.0, shift=1), DROP),
        ],
        index("RECORD_LEVEL_INDEX", hoodie__metadata__record__level__index__enable="true"),
        since=9,
    ),
    *global_cases(),
]
SOME_CASES = {
    "upserts": ("cow", 8),
    "buckets": ("cow", 6),
    "buckets of consistent hashing": ("mor", 8),
    "duplicates": ("cow", 9),
    "partition columns dropped": ("cow", 8),
    "GLOBAL_SIMPLE moves": ("cow", 9),
    "record index of each partition": ("mor", 9),
}
SOME_STEPS = {
    "upserts": (0, 1, 4),
    "buckets": (0, 2),
    "buckets of consistent hashing": (0, 1, 3),
    "duplicates": (0, 1, 4, 5),
    "partition columns dropped": (0, 1),
    "GLOBAL_SIMPLE moves": (0, 1, 4),
    "record index of each partition": (0, 1, 3, 4),
}
"""Writes of these cases in a short run: one of every kind, on a table that has something to change."""


def chosen() -> list[pytest.ParameterSet]:
    """Some writes of some cases, each once; in a long run all of all, in both table types and in all versions."""
    by_name = {case.name: case for case in CASES}
    chosen: list[pytest.ParameterSet] = []
    for name, (kind, version) in SOME_CASES.items():
        case = by_name[name]
        short = replace(case, steps=[case.steps[number] for number in SOME_STEPS[name]])
        chosen.append(pytest.param(short, kind, version, id=f"some {name} {kind} {version}"))
    for case, kind, version in itertools.product(CASES, TYPES, (6, 8, 9)):
        if version >= case.since and kind in case.kinds:
            chosen.append(long_case(case, kind, version, name=f"{case.name} {kind} {version}"))
    return chosen


@pytest.fixture(scope="module", autouse=True)
def few_tasks(spark):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def new_table(path, case: Case, kind: str, version: int):
    definition = {
        "record_keys": ("id",),
        "partition_fields": ("city",),
        "ordering_fields": ("ts",),
        "table_type": TYPES[kind],
        "version": version,
        **case.table,
    }
    return create_table(str(path), TableDefinition(name="trips", **definition))


def result_of(write, *arguments):
    """What a write tells, or how it was refused."""
    try:
        report = write(*arguments)
    except HudiHiveError as error:
        return type(error)
    return report.inserted, report.updated, report.deleted, sorted(report.services.failed)


def content(path, case: Case) -> dict[str, object]:
    """All that two tables should have in common."""
    table, client = HudiTable.open(str(path)), MetaClient.load(str(path))
    made_up = case.table.get("record_keys") == ()
    meta = ["_hoodie_partition_path"] if made_up else ["_hoodie_record_key", "_hoodie_partition_path"]
    meta = meta if client.config.populate_meta_fields else []
    schema = table.scan().to_arrow().schema
    data = [name for name in schema.names if not name.startswith("_hoodie_") or name == "_hoodie_is_deleted"]
    rows = table.scan(selected_fields=(*meta, *data)).to_arrow().to_pylist()
    commits = []
    for instant in client.timeline.write_instants():
        metadata = client.timeline.commit_metadata(instant)
        stats = metadata.write_stats
        by = ["partition", "file_id"] if case.bucketed else ["partition"]
        if case.bucketed:
            at = stats.schema.get_field_index("file_id")
            stats = stats.set_column(at, "file_id", pc.utf8_slice_codeunits(stats["file_id"], 0, 8))
        sums = stats.group_by(by).aggregate([(name, "sum") for name in NUMBERS])
        numbers = sums.select([*by, *[f"{name}_sum" for name in NUMBERS]]).sort_by([(n, "ascending") for n in by])
        replaced = pc.value_counts(metadata.replaced["partition"].combine_chunks())
        commits.append((instant.action, metadata.operation, numbers.to_pylist(), metadata.extra, len(replaced)))
    slices = client.file_system_view().latest_file_slices().to_pylist()
    columns = set()
    for row in slices:
        if row["base_file"] is not None:
            with open_base_file(client.storage, f"{row['partition']}/{row['base_file']}".lstrip("/")) as file:
                columns.add(str(file.schema.remove_metadata()))
    has_index = "record_index" in client.config.metadata_partitions
    places = MetadataTable.open(client).record_locations().select(["key", "partition"]) if has_index else None
    return {
        "index": None if places is None else places.to_pylist(),
        "rows": sorted(rows, key=repr),
        "schema": str(schema),
        "commits": commits,
        "columns": columns,
        "metadata": client.config.metadata_partitions,
    }


@pytest.mark.parametrize(("case", "kind", "version"), chosen())
def test_both_writers_come_to_the_same(spark, tmp_path, case, kind, version):
    clients = {name: new_table(tmp_path / name, case, kind, version) for name in ("local", "spark")}
    for number, (operation, rows, more) in enumerate(case.steps):
        options = {**case.options, **more, "hoodie.datasource.write.operation": operation}
        expected = result_of(LocalWriter(clients["local"].reload(), options).write, rows)
        frame = spark.createDataFrame(rows)
        found = result_of(hudi_spark.write, frame, tmp_path / "spark", options)
        assert found == expected, f"step {number}, {operation}"
        mine, theirs = content(tmp_path / "spark", case), content(tmp_path / "local", case)
        for name, value in theirs.items():
            assert mine[name] == value, f"step {number}, {operation}: {name}"
