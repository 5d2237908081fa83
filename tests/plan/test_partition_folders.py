"""Folders that a filter's partition columns leave out before they are listed: none with a row that passes."""

from __future__ import annotations

import itertools
import random
from datetime import date
from pathlib import Path
from threading import Condition

import fsspec
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.plan import PartitionPlanner, Query, ReadOptions
from hudi_hive.plan.model import folder_filter
from hudi_hive.predicate import parse_filter
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import DEFAULT_PARTITION, partition_path

OFF = {"hoodie.metadata.enable": "false"}
AVRO = {
    pa.string(): "string",
    pa.int32(): "int",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.bool_(): "boolean",
}


def make(path, types, *, hive_style=False, url_encoded=False):
    """An empty table with partition columns a, b, … of some types and one other column, n."""
    names = "abc"[: len(types)]
    fields = [("id", pa.string()), *zip(names, types, strict=True), ("n", pa.int32())]
    avro = [{"name": name, "type": ["null", AVRO[kind]], "default": None} for name, kind in fields]
    HudiTable.create(
        path,
        name="t",
        record_keys=["id"],
        partition_fields=list(names),
        hive_style_partitioning=hive_style,
        url_encode_partitioning=url_encoded,
        create_schema={"type": "record", "name": "t", "fields": avro},
    )
    return MetaClient.load(path)


def keeps(client, where, *folders):
    judge = folder_filter(client, parse_filter(where, client.schema()))
    return None if judge is None else judge(folders).tolist()


# -- any values, any filters -------------------------------------------------------------------------------------------

TEXTS = [None, "", "a", "b", "ab", "a/b", "a/b/c", "a/b=1", "b=1", "c=a/b=a", "a=1", "a0", "é", "a%2Fb", "%41"]
VALUES = {
    pa.string(): [*TEXTS, DEFAULT_PARTITION, f"{DEFAULT_PARTITION}/a", "\U0010ffff", "a/\U0010ffff"],
    pa.int32(): [None, -1, 0, 1, 10, 11],
    pa.date32(): [None, date(2024, 1, 1), date(2024, 1, 2), date(1969, 12, 31)],
    pa.bool_(): [None, True, False],
}
TYPES = [
    (pa.string(),),
    (pa.int32(),),
    (pa.string(), pa.string()),
    (pa.int32(), pa.string()),
    (pa.date32(), pa.bool_()),
    (pa.string(), pa.int32(), pa.string()),
]


def literal(value):
    text = "true" if value is True else "false" if value is False else str(value)
    return f"DATE '{text}'" if isinstance(value, date) else f"'{text}'" if isinstance(value, str) else text


def condition(rng, columns, depth=2):
    if depth and rng.random() < 0.6:
        left, right = (condition(rng, columns, depth - 1) for _ in range(2))
        return rng.choice([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})", f"(({left}) IS NOT TRUE)"])
    name, kind = rng.choice(columns)
    values = [literal(value) for value in VALUES[kind] if value is not None]
    one = rng.choice(values)
    if pa.types.is_boolean(kind):
        return rng.choice([name, f"{name} IS NULL", f"{name} = {one}"])
    many = rng.sample(values, rng.randint(1, 3))
    if pa.types.is_string(kind):
        many += rng.choice([[], [f"'z{number}'" for number in range(20)]])
    return rng.choice(
        [
            f"{name} {rng.choice(['=', '!=', '<', '<=', '>', '>=', '<=>'])} {one}",
            f"{name} {rng.choice(['=', '>=', '<'])} {one}",
            f"{name} IN ({', '.join(many)})",
            f"{name} NOT IN ({', '.join(many)})",
            f"{name} BETWEEN {one} AND {rng.choice(values)}",
            f"{name} IS {rng.choice(['', 'NOT '])}NULL",
            *([f"{name} LIKE '{rng.choice(['a%', 'a/%', '%b', 'a_', 'b=%'])}'"] if pa.types.is_string(kind) else []),
        ]
    )


def text_of(value):
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("style", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("types", TYPES, ids=lambda types: "_".join(map(str, types)))
def test_no_folder_above_a_row_that_passes_is_left_out(tmp_path, types, style):
    hive_style, url_encoded = style
    client = make(tmp_path / "t", types, hive_style=hive_style, url_encoded=url_encoded)
    schema, names = client.schema(), client.config.partition_fields
    rng = random.Random(str((types, style)))
    rows = list(itertools.product(*(VALUES[kind] for kind in types)))
    rows = rows if len(rows) < 100 else rng.sample(rows, 100)
    folders = []
    for row in rows:
        path = partition_path([text_of(v) for v in row], names, hive_style=hive_style, url_encoded=url_encoded)
        steps = path.split("/")
        folders.append(["/".join(steps[: end + 1]) for end in range(len(steps))])
    every = sorted(set(itertools.chain.from_iterable(folders)))
    rng.shuffle(every)
    data = pa.table(
        [[row[at] for row in rows] for at in range(len(types))], schema=pa.schema(zip(names, types, strict=True))
    )
    columns = [*zip(names, types, strict=True), ("n", pa.int32())]
    left_out = 0
    for _ in range(30):
        where = condition(rng, columns)
        row_filter = parse_filter(where, schema)
        judge = folder_filter(client, row_filter)
        if judge is None:
            continue
        kept = dict(zip(every, judge(every).tolist(), strict=True))
        left_out += len(kept) - sum(kept.values())
        passing = [False] * len(rows)
        for n in VALUES[pa.int32()]:
            held = data.append_column("n", pa.array([n] * len(rows), pa.int32()))
            passing = [
                old or new is True for old, new in zip(passing, row_filter.evaluate(held).to_pylist(), strict=True)
            ]
        lost = [row for row, ok, way in zip(rows, passing, folders, strict=True) if ok and not all(map(kept.get, way))]
        assert lost == [], where
    assert left_out > 10  # a filter that keeps all would pass, too


# -- what is left out --------------------------------------------------------------------------------------------------


def test_hive_style_paths_of_texts(tmp_path):
    client = make(tmp_path / "t", (pa.string(), pa.int32()), hive_style=True)
    folders = ["a=x", "a=y", "a=x/b=1", "a=x/b=2", f"a={DEFAULT_PARTITION}", "odd", "a=xy"]
    assert keeps(client, "a = 'x'", *folders) == [True, False, True, True, False, True, False]
    assert keeps(client, "a IN ('y', 'z')", *folders) == [False, True, False, False, False, True, False]
    assert keeps(client, "a > 'x' AND a < 'xx'", *folders) == [True, False, True, True, False, True, False]
    assert keeps(client, "a IS NULL", *folders) == [False, False, False, False, True, True, False]
    assert keeps(client, "a = ''", *folders)[4] and keeps(client, f"a = '{DEFAULT_PARTITION}'", *folders)[4]
    assert keeps(client, "a = 'x' AND b = 2", *folders) == [True, False, False, True, False, True, False]
    # The column a may be the text x/b=2, of a path that goes on.
    assert keeps(client, "b = 1", "a=x/b=1", "a=x/b=2", "a=x/b=2/b=1") == [True, True, True]
    assert keeps(client, "a = 'x' OR n = 1", *folders) == [True] * 7
    assert keeps(client, "(a = 'y' AND n = 1) OR (a = 'xy' AND b = 7)", *folders)[:3] == [False, True, False]
    assert keeps(client, "n = 1", *folders) is None
    assert keeps(client, "a IN (" + ", ".join(f"'t{n}'" for n in range(40)) + ")", "a=t7", "a=t77") == [True, False]


def test_encoded_values_have_no_slashes(tmp_path):
    client = make(tmp_path / "t", (pa.string(), pa.string()), url_encoded=True)
    assert keeps(client, "b = 'q/r'", "x", "x/q", "x/q%2Fr", "x/q/r") == [True, False, True, True]
    assert keeps(client, "a != 'x'", "x", "y") == [False, True]
    assert keeps(client, "a != 'x'", "a=x", "y") == [True, True]  # the properties do not tell how it is written


def test_plain_texts_may_go_on_below(tmp_path):
    client = make(tmp_path / "t", (pa.string(),))
    folders = ["2023", "2024", "2024/01", "2024/02", "2024/01/05", "2024/01/06"]
    assert keeps(client, "a = '2024/01/05'", *folders) == [False, True, True, False, True, False]
    assert keeps(client, "a >= '2024/02'", *folders) == [False, True, False, True, False, False]
    assert keeps(client, "a < '2024'", *folders) == [True, False, False, False, False, False]


def test_numbers_and_dates_have_no_slashes(tmp_path):
    client = make(tmp_path / "t", (pa.int32(), pa.date32()))
    folders = ["7", "8", "7/2024-01-01", "7/2024-01-02", "tmp", "7/2024/01/01"]
    assert keeps(client, "b = DATE '2024-01-01'", *folders) == [True, True, True, False, True, True]
    assert keeps(client, "a = 8", *folders) == [False, True, False, False, True, True]


def test_formatted_times_are_not_judged(tmp_path):
    HudiTable.create(
        tmp_path / "t",
        name="t",
        record_keys=["id"],
        partition_fields=["at:TIMESTAMP", "city:SIMPLE"],
        key_generator="CUSTOM",
        create_schema={
            "type": "record",
            "name": "t",
            "fields": [{"name": n, "type": ["null", "string"], "default": None} for n in ("id", "at", "city")],
        },
        properties={
            "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
            "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
            "hoodie.keygen.timebased.output.dateformat": "yyyy/MM",
        },
    )
    client = MetaClient.load(tmp_path / "t")
    assert keeps(client, "at = '2024-01-01'", "2023") is None
    # The folder 05 may be the city, or a month.
    assert keeps(client, "city = 'oslo'", "2024", "2024/05", "2024/05/oslo", "2024/05/lima") == [True] * 4


# -- listings ----------------------------------------------------------------------------------------------------------

CITIES, DAYS = ("kyiv", "lima", "oslo"), ("d1", "d2", "d3", "d4")


def write(path, **how):
    table = HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["city", "day"], **how)
    cells = list(itertools.product(CITIES, DAYS))
    rows = [{"id": f"{city}-{day}", "city": city, "day": day, "n": at} for at, (city, day) in enumerate(cells)]
    table.insert(pa.Table.from_pylist(rows), options=OFF)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "hive-style"])
def cities(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("folders") / "t"
    write(path, hive_style_partitioning=request.param)
    return path


def listed(storage):
    """Folders of partitions that were listed, by their place in the tree, and no other."""
    root = storage.uri()
    paths = [path[len(root) :].strip("/") for path in storage.counters.listed]
    return sorted(path for path in paths if not path.startswith(".hoodie"))


def under(city, *days):
    return [city, *(f"{city}/{day}" for day in days or DAYS)]


def plain(paths):
    return [path.replace("city=", "").replace("day=", "") for path in paths]


@pytest.mark.parametrize(
    ("where", "folders"),
    [
        ("city = 'lima'", ["", *under("lima")]),
        ("city = 'lima' AND day = 'd3'", ["", *under("lima", "d3")]),
        ("city IN ('oslo', 'rome')", ["", *under("oslo")]),
        (
            "city IN ('lima', 'oslo') AND n < 100 AND day <= 'd2'",
            ["", *under("lima", "d1", "d2"), *under("oslo", "d1", "d2")],
        ),
        ("city = 'rome'", [""]),
        ("city IS NULL", [""]),
    ],
)
def test_a_plan_lists_what_matches(cities, where, folders):
    def rows(options):
        return sorted(HudiTable.open(cities).scan(row_filter=where, options=options).to_arrow()["id"].to_pylist())

    table = HudiTable.open(cities)
    plan = table.scan(row_filter=where, options=OFF).plan()
    assert plain(listed(table.client.storage)) == folders
    assert plan.partitions_planned == sum("/" in folder for folder in folders)
    everything = HudiTable.open(cities).scan(options=OFF).to_arrow()
    mask = parse_filter(where, everything.schema).evaluate(everything)
    assert rows(OFF) == sorted(everything.filter(mask)["id"].to_pylist())


def test_a_second_filter_lists_the_rest_alone(cities):
    table = HudiTable.open(cities)
    for where in ("city = 'lima'", "city = 'oslo'", "city = 'lima'"):
        assert table.scan(row_filter=where, options=OFF).plan().partitions_planned == 4
    assert plain(listed(table.client.storage)) == ["", *under("lima"), *under("oslo")]
    assert set(table.client.counters.listed.values()) == {1}


def test_batches_of_partitions_list_what_matches(cities):
    client = MetaClient.load(cities)
    planner = PartitionPlanner(client, Query(options=ReadOptions(metadata_enable=False)), "city = 'lima'")
    batches = [planner.plan(batch) for batch in planner.batches()]
    assert sum(plan.slices.num_rows for plan in batches) == 4
    assert len(list(planner.batches())) == len(batches)
    assert plain(listed(client.storage)) == ["", *under("lima")]
    assert {count for path, count in client.counters.listed.items() if ".hoodie" not in path} == {1}
    planner = PartitionPlanner(
        MetaClient.load(cities), Query(options=ReadOptions(metadata_enable=False)), "city='lima'"
    )
    assert [planner.plan(planner.partitions()).slices.num_rows] == [4]


def test_time_travel_lists_what_matches(cities):
    table = HudiTable.open(cities)
    as_of = table.timeline.write_instants()[-1].requested
    assert table.scan(as_of=as_of, row_filter="city = 'lima'", options=OFF).plan().partitions_planned == 4
    assert plain(listed(table.client.storage)) == ["", *under("lima")]


# -- waves -------------------------------------------------------------------------------------------------------------


class Waves:
    """A store of which each listing of a level waits until all others of the level have begun."""

    def __init__(self, store, root, widths):
        self._store, self._root, self._widths = store, root, widths
        self._begun, self._changed = [0] * len(widths), Condition()
        self.late = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def list_folder(self, path, **how):
        inside = path.rstrip("/").partition(self._root)[2].strip("/")
        if not inside.startswith(".hoodie"):
            level = len(inside.split("/")) if inside else 0
            with self._changed:
                self._begun[level] += 1
                self._changed.notify_all()
                in_time = self._changed.wait_for(lambda: self._begun[level] == self._widths[level], 5)
                self.late += not in_time
        return self._store.list_folder(path, **how)


@pytest.mark.parametrize(
    ("where", "widths"), [("city IN ('lima', 'oslo')", [1, 2, 8]), ("city = 'lima'", [1, 1, 4]), (None, [1, 3, 12])]
)
@pytest.mark.parametrize("by_batches", [False, True])
def test_folders_of_a_level_are_listed_side_by_side(tmp_path, cities, where, widths, by_batches):
    root = f"waves-{tmp_path.name}"
    files = fsspec.filesystem("memory")
    for file in Path(cities).rglob("*"):
        if file.is_file():
            files.pipe_file(f"/{root}/{file.relative_to(cities)}", file.read_bytes())
    storage = Storage(f"memory://{root}")
    assert storage.has_folders and not storage.is_local
    waves = storage._store = Waves(storage._store, root, widths)
    client = MetaClient.load(storage.uri(), storage=storage)
    planner = PartitionPlanner(client, Query(options=ReadOptions(metadata_enable=False)), where)
    planned = list(planner.batches()) if by_batches else [planner.partitions()]
    slices = sum(planner.plan(paths).slices.num_rows for paths in planned)
    assert waves.late == 0
    assert (slices, waves._begun) == (widths[-1], widths)
