"""Tables whose columns have ids: which version a file has, what is parsed once, what is left out, change data."""

from __future__ import annotations

import itertools
import json
import pickle
import shutil
from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import SchemaError
from hudi_hive.metadata.reader import STATS_SCHEMA, typed_ranges
from hudi_hive.plan.model import PLAN_SCHEMA, with_commit_versions
from hudi_hive.plan.pruning import MovedColumns, by_column_stats, stays
from hudi_hive.predicate import parse_filter
from hudi_hive.read.scan.sources import mapping_at
from hudi_hive.schema import EvolvedSchema, parse_internal_schema
from tests.support.fixture_tables import VERSIONS, unzip_fixture
from tests.support.running.long import with_long_cases
from tests.support.tables.mor_table import MorTable

OPTIONS = {
    "hoodie.metadata.enable": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.clean.automatic": "false",
    "hoodie.compact.inline": "false",
}


def create(folder, version=8, **settings):
    return HudiTable.create(
        folder / "t", name="t", record_keys=["id"], ordering_fields=["ts"], version=version, **settings
    )


def rows(ids, **columns):
    ids = list(ids)
    return pa.table({"id": pa.array(ids, pa.int64()), "ts": pa.array(ids, pa.int64()), **columns})


def values(scan, *columns):
    """Rows by key, as tuples of some columns."""
    table = scan.to_arrow().sort_by("id")
    return list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


@pytest.fixture(scope="module")
def swapped(tmp_path_factory):
    """A and b change names, s is dropped and added anew, n gets wider; a file for each of four versions."""
    table = create(tmp_path_factory.mktemp("swapped"))
    struct = pa.struct([("k", pa.int32()), ("l", pa.string())])

    def nested(number, kind=struct):
        return pa.array([{kind[0].name: number, kind[1].name: f"l{number}"}], kind)

    old = {"s": ["old"], "n": pa.array([1], pa.int32()), "st": nested(1)}
    table.bulk_insert(rows([1], a=["a1"], b=["b1"], **old), OPTIONS)
    update = table.update_schema(OPTIONS)
    update.rename("a", "c").rename("b", "a").rename("c", "b").commit()
    old = {"s": ["old"], "n": pa.array([2], pa.int32()), "st": nested(2)}
    table.bulk_insert(rows([2], b=["a2"], a=["b2"], **old), OPTIONS)
    table.update_schema(OPTIONS).drop("s").rename("st.k", "key").change_type("n", "bigint").commit()
    table.update_schema(OPTIONS).add("s", "string").add("st.new", "string").commit()
    kind = pa.struct([("key", pa.int32()), ("l", pa.string()), ("new", pa.string())])
    st = pa.array([{"key": 3, "l": "l3", "new": "new"}], kind)
    table.bulk_insert(rows([3], b=["a3"], a=["b3"], s=["new"], n=pa.array([3], pa.int64()), st=st), OPTIONS)
    return table


def test_names_that_changed_places(swapped):
    assert values(swapped.scan(), "a", "b", "s", "n") == [
        ("b1", "a1", None, 1),
        ("b2", "a2", None, 2),
        ("b3", "a3", "new", 3),
    ]
    nested = [row["st"] for row in swapped.scan().to_arrow().sort_by("id").to_pylist()]
    assert nested[0] == {"key": 1, "l": "l1", "new": None}
    assert nested[2] == {"key": 3, "l": "l3", "new": "new"}


@pytest.mark.parametrize(
    ("text", "ids", "files"),
    [
        ("s = 'new'", [3], 1),  # two files have no such column: they are not opened
        ("s = 'old'", [], 1),
        ("s IS NULL", [1, 2], 3),
        ("s IS NOT NULL", [3], 1),
        ("st.new = 'new' AND n > 0", [3], 1),
        ("st.new = 'x' OR n = 1", [1], 3),
        ("a = 'b1'", [1], 3),
        ("b = 'a2' AND n = 2", [2], 3),
        ("st.key >= 2", [2, 3], 3),
    ],
)
def test_filters_of_swapped_columns_skip_files_of_old_schemas(swapped, text, ids, files):
    scan = swapped.scan(row_filter=text)
    assert [number for (number,) in values(scan, "id")] == ids
    plan = swapped.scan(row_filter=text).plan()
    assert plan.files.num_rows == files
    named = [step for step in plan.steps if step.name.startswith("versions of the schema")]
    assert [(step.before, step.after) for step in named] == ([(3, files)] if files < 3 else [])


def test_time_travel_and_ranges_show_the_requested_schema(swapped):
    first, renamed = swapped.timeline.write_instants()[:2]
    before = swapped.scan(as_of=first.requested)
    assert "c" not in before.schema.names and values(before, "a", "b", "s", "n") == [("a1", "b1", "old", 1)]
    then = swapped.scan(as_of=renamed.requested)
    assert values(then, "a", "b", "s") == [("b1", "a1", "old")]
    assert [number for (number,) in values(swapped.scan(row_filter="a = 'b1'", as_of=renamed.requested), "id")] == [1]
    newest = swapped.scan(begin="earliest", end=renamed.completed)
    assert newest.schema == swapped.schema() and values(newest, "a", "b", "s") == [("b1", "a1", None)]
    options = {"hoodie.datasource.read.schema.use.end.instanttime": "true"}
    of_range = swapped.scan(begin="earliest", end=renamed.completed, options=options)
    assert values(of_range, "a", "b", "s") == [("b1", "a1", "old")]
    by_name = swapped.scan(options={"hoodie.schema.on.read.enable": "false"})
    assert values(by_name, "a", "b", "s")[0] == ("a1", "b1", "old")


def test_history_is_parsed_once_and_mappings_are_made_once_a_version(tmp_path, monkeypatch):
    table = create(tmp_path, partition_fields=["p"])
    files = 12
    parts = [f"p{i}" for i in range(files)]
    for commit in range(3):
        names = {f"v{commit}": pa.array(range(files), pa.int64())}
        ids = range(commit * files, (commit + 1) * files)
        table.bulk_insert(rows(ids, p=parts, **names), OPTIONS)
        if commit < 2:
            table.update_schema(OPTIONS).rename(f"v{commit}", f"v{commit + 1}").commit()
    calls: Counter[str] = Counter()

    def counted(module, name):
        real = getattr(module, name)

        def call(*args):
            calls[name] += 1
            return real(*args)

        monkeypatch.setattr(module, name, call)

    from hudi_hive.read.scan import sources

    counted(sources, "field_sources")
    again = HudiTable.open(table.path)
    before = again.client.counters.snapshot()
    for _ in range(3):
        scan = again.scan(row_filter="v2 >= 0")
        assert scan.plan().files.num_rows == 3 * files
        assert scan.to_arrow().num_rows == 3 * files
    assert calls["field_sources"] == 3 * 3  # for each plan once a version, not once a file
    opened = again.client.counters.snapshot()["opens"] - before.get("opens", 0)
    # Each plan's base files, and once: the history, the commit that tells the schema, the other that wrote files.
    assert opened == 3 * (3 * files) + 1 + 2
    plan = pickle.loads(pickle.dumps(scan.plan()))
    assert plan.evolved_schema == scan.plan().evolved_schema


# -- which version a file has ----------------------------------------------------------------------------------------


def version(number, *fields):
    made = [{"id": i, "name": n, "optional": True, "type": t} for i, n, t in fields]
    return parse_internal_schema({"version_id": number, "max_column_id": 99, "type": "record", "fields": made})


OLD = version(0, (1, "a", "int"), (2, "b", "string"), (3, "x", "float"), (5, "same", "int"))
NEW = version(
    2,
    (1, "c", "long"),
    (4, "b", "string"),
    (2, "a", "string"),
    (3, "x", "double"),
    (5, "same", "int"),
    (6, "t", "string"),
)


def test_the_schema_in_a_commit_precedes_the_history():
    evolved = EvolvedSchema(NEW, (OLD, NEW), {"3": OLD})
    assert evolved.written("1") is OLD and evolved.written("2") is NEW and evolved.written("4") is NEW
    assert evolved.written("3") is OLD  # it began before the change
    assert evolved.with_commits({"3": OLD}) is evolved
    assert evolved.with_commits({"4": OLD}).written("4") is OLD
    assert EvolvedSchema(NEW, (NEW,)).written("1") is NEW  # older files are bound to the first version there is
    assert EvolvedSchema(NEW, ()).written("1") is None and EvolvedSchema(NEW, ()).written("2") is NEW


def test_a_history_without_its_newest_versions():
    newest = version(5, (1, "d", "long"))
    evolved = EvolvedSchema(newest, (OLD, NEW), {"4": NEW})
    assert evolved.written("5") is newest and evolved.written("2") is NEW
    assert [instant for instant in "12345" if evolved.is_lost(instant)] == ["3"]  # there may have been another version
    assert not any(EvolvedSchema(NEW, (OLD, NEW, newest)).is_lost(instant) for instant in "12345")
    with pytest.raises(SchemaError, match="history"):
        mapping_at(evolved, "3")
    client_of_8 = SimpleNamespace(config=SimpleNamespace(version=8), commit_schemas=lambda _: {}, base_path="t")
    assert with_commit_versions(client_of_8, evolved, slices(("2", "f2", []), ("5", "f5", []))) is evolved
    with pytest.raises(SchemaError, match="history") as caught:
        with_commit_versions(client_of_8, evolved, slices(("3", "f3", []), ("5", "f5", [])))
    assert caught.value.instant == "3"


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("number", VERSIONS)
def test_schemas_in_commits_of_real_hudi_agree_with_the_history(tmp_path, number, kind):
    """A commit that says that it wrote the version before is believed, whatever the history has."""
    path = unzip_fixture(f"v{number}_{kind}_schema_evo", tmp_path)
    client = HudiTable.open(path).client
    plan = HudiTable.open(path).scan().plan()
    assert plan.evolved_schema is not None
    told = client.commit_schemas([i.requested for i in client.timeline.write_instants()])
    assert len(told) > 5 and set(plan.evolved_schema.commits) <= set(told)
    for instant, schema in told.items():
        written = EvolvedSchema(plan.evolved_schema.query, client.schema_history()).written(instant)
        assert written is not None and written.fields == schema.fields


def test_a_lost_schema_history_is_an_error(tmp_path):
    path = unzip_fixture("v8_cow_schema_evo", tmp_path)
    newest = HudiTable.open(path).scan().to_arrow()
    shutil.rmtree(path / ".hoodie" / ".schema")
    table = HudiTable.open(path)
    assert table.scan().to_arrow().equals(newest)  # commits that are active tell the version of their files
    first = table.timeline.write_instants()[0]
    with pytest.raises(SchemaError, match="history") as caught:
        table.scan(begin="earliest", end=first.completed).plan()
    assert caught.value.instant == first.requested and "hoodie.schema.on.read.enable" in caught.value.remedy
    by_name = table.scan(options={"hoodie.schema.on.read.enable": "false"})
    assert by_name.to_arrow().num_rows == newest.num_rows


# -- statistics ------------------------------------------------------------------------------------------------------

EVOLVED = EvolvedSchema(NEW, (OLD, NEW))
SHOWN = pa.schema(
    [
        ("c", pa.int64()),
        ("b", pa.string()),
        ("a", pa.string()),
        ("x", pa.float64()),
        ("same", pa.int32()),
        ("t", pa.string()),
    ]
)


class Statistics:
    """Statistics by file and by the name that the file gives a column."""

    def __init__(self, ranges):
        self.ranges = ranges
        self.requested = []

    def column_ranges(self, columns, file_names=None, partitions=None):
        kinds = columns if isinstance(columns, dict) else {name: SHOWN.field(name).type for name in columns}
        self.requested.append(sorted(kinds))
        found = {}
        for name, kind in kinds.items():
            table = typed_ranges(STATS_SCHEMA.empty_table(), kind, "file_name")
            lines = []
            for (file, column), (low, high, nulls) in self.ranges.items():
                if column == name and file in file_names:
                    fits = isinstance(low, str) == pa.types.is_string(kind)
                    bounds = {"min": low, "max": high} if fits else {}
                    counts = {"null_count": nulls, "value_count": 10, "total_size": 1, "total_uncompressed_size": 1}
                    lines.append({**dict.fromkeys(table.schema.names), "file_name": file, **bounds, **counts})
            found[name] = pa.Table.from_pylist(lines, table.schema)
        return found


def slices(*members):
    made = []
    for number, (instant, base, logs) in enumerate(members):
        row = {"partition": "", "file_id": f"g{number}", "base_instant": instant, "base_file": base, "log_files": logs}
        made.append({**dict.fromkeys(PLAN_SCHEMA.names), **row, "log_sizes": [0] * len(logs)})
    return pa.Table.from_pylist(made, PLAN_SCHEMA)


def client(table_version):
    return SimpleNamespace(config=SimpleNamespace(version=table_version, is_partitioned=False))


@pytest.mark.parametrize(
    ("text", "expected_mask"),
    [
        ("c = 5", [True, False]),  # called a in the old file, and narrower
        ("c = 500", [False, True]),
        ("a = 'k'", [True, False]),
        ("a = 'zz'", [True, True]),  # each of its names is another column's, too
        ("b = 'k'", [False, False]),  # the old file's b is another column: nulls alone
        ("b = 'n'", [False, True]),
        ("b IS NULL", [True, False]),
        ("b IS NOT NULL", [False, True]),
        ("x = 0.5", [True, True]),  # a float's bounds are not those of the doubles that are shown
        ("x IS NULL", [False, False]),
        ("same = 3", [True, False]),
        ("t = 'x' OR c = 5", [True, True]),  # no statistics of t in the new file
        ("t = 'x' AND c > 0", [False, True]),
    ],
)
def test_statistics_go_by_the_names_of_files(text, expected_mask):
    ranges = {
        ("old", "a"): (1, 9, 0),
        ("old", "b"): ("j", "l", 0),
        ("old", "x"): (3.0, 4.0, 0),
        ("old", "same"): (1, 4, 0),
        ("new", "c"): (100, 900, 0),
        ("new", "b"): ("m", "o", 0),
        ("new", "a"): ("y", "zzz", 0),
        ("new", "x"): (0.25, 1.0, 0),
        ("new", "same"): (5, 6, 0),
    }
    # As the reader has it: a file's floats give no bounds of doubles.
    statistics = Statistics({**ranges, ("old", "x"): (None, None, 0)})
    row_filter = parse_filter(text, SHOWN)
    columns = {name: SHOWN.field(name).type for name in row_filter.columns}
    moved = {name: kind for name, kind in columns.items() if not stays(EVOLVED, name)}
    assert ("same" in moved) is False
    mask = by_column_stats(
        client(8),
        statistics,
        slices(("1", "old", []), ("2", "new", [])),
        row_filter,
        [name for name in columns if name not in moved],
        MovedColumns(EVOLVED, moved),
    )
    assert mask.tolist() == expected_mask


@pytest.mark.parametrize("number", [6, 8])
def test_statistics_of_log_files(number):
    """In version 6 a log file may hold blocks of several commits, so that no version is its own."""
    log = ".g_3.log.1_0-1-2"
    statistics = Statistics({("old", "a"): (1, 9, 0), (log, "c"): (100, 900, 0), (log, "a"): (1, 9, 0)})

    def mask_of(text, table):
        moved = MovedColumns(EVOLVED, {"c": pa.int64()})
        return by_column_stats(client(number), statistics, table, parse_filter(text, SHOWN), [], moved).tolist()

    assert mask_of("c = 500", slices(("1", "old", []))) == [False]
    assert mask_of("c = 500", slices(("1", "old", [log]))) == [True]
    assert mask_of("c = 5000", slices(("1", "old", [log]))) == [number == 6]


MODES = ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")

# -- change data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "mode"), with_long_cases(zip(VERSIONS, MODES, strict=True), itertools.product(VERSIONS, MODES))
)
def test_images_have_the_columns_that_are_shown(tmp_path, number, mode):
    table = create(tmp_path, number, cdc=mode)
    table.upsert(rows([1, 2, 3], a=["a1", "a2", "a3"], n=pa.array([1, 2, 3], pa.int32())), OPTIONS)
    table.upsert(rows([1], a=["A1"], n=pa.array([10], pa.int32())), OPTIONS)
    table.update_schema(OPTIONS).rename("a", "b").change_type("n", "bigint").add("a", "string").commit()
    table.upsert(rows([2], b=["B2"], n=pa.array([20], pa.int64()), a=["new"]), OPTIONS)
    table.delete(pa.table({"id": pa.array([3], pa.int64())}), OPTIONS)
    found = table.scan(query_type="cdc", begin="earliest").to_arrow().to_pylist()
    changes = []
    for change in found:
        images = [json.loads(change[side] or "null") for side in ("before", "after")]
        changes.append((change["op"], *(image and (image["b"], image["n"], image.get("a")) for image in images)))
    assert sorted(changes[:3]) == [("i", None, (f"a{i}", i, None)) for i in (1, 2, 3)]
    assert changes[3:] == [
        ("u", ("a1", 1, None), ("A1", 10, None)),
        ("u", ("a2", 2, None), ("B2", 20, "new")),
        ("d", ("a3", 3, None), None),
    ]


def test_pruning_by_schema_versions_lists_and_opens_nothing(swapped):
    """What versions leave out is told by base files alone: nothing is listed or opened for it."""
    plan = swapped.scan().plan()
    before = swapped.client.counters.snapshot()
    narrowed = swapped.scan(row_filter="s = 'nothing'").plan()
    after = swapped.client.counters.snapshot()
    assert narrowed.files.num_rows == 1 < plan.files.num_rows
    assert after.get("opens", 0) == before.get("opens", 0)


# -- log blocks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [8, 9])
def test_updates_of_some_columns_reach_them_under_their_new_names(tmp_path, number):
    made = MorTable(tmp_path, number, hoodie__record__merge__mode="COMMIT_TIME_ORDERING")
    made.base(1, [{"id": "k1", "ts": 1, "a": "a1", "b": "b1"}, {"id": "k2", "ts": 1, "a": "a2", "b": "b2"}])
    made.log(2, [{"id": "k1", "b": "B1"}], IS_PARTIAL="true")
    table = HudiTable.open(tmp_path)
    table.update_schema(OPTIONS).rename("a", "x").rename("b", "a").rename("x", "b").commit()
    assert values(table.scan(), "a", "b", "ts") == [("B1", "a1", 1), ("b2", "a2", 1)]
    table.update_schema(OPTIONS).rename("a", "c").add("a", "string").commit()
    assert values(table.scan(), "c", "b", "a") == [("B1", "a1", None), ("b2", "a2", None)]
    assert values(table.scan("c = 'B1'"), "id") == [("k1",)]


def test_blocks_whose_version_is_lost_are_refused(tmp_path):
    table = create(tmp_path, 6, table_type="MERGE_ON_READ")
    table.upsert(rows([1], a=["a1"]), OPTIONS)
    table.update_schema(OPTIONS).rename("a", "b").commit()
    evolved = table.client.evolved_schema()
    assert mapping_at(evolved, "20200101000000000") is not None
    with pytest.raises(SchemaError, match="history") as caught:
        mapping_at(EvolvedSchema(evolved.query, ()), "20200101000000000", "a.log")
    assert caught.value.path == "a.log" and caught.value.instant == "20200101000000000"
