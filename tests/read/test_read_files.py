"""Planned base files to rows: order, projection, filters, incremental selection, partition values, limits, threads."""

from __future__ import annotations

import itertools
import threading
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import orc

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptFileError, FileVanishedError, PredicateError, SchemaError, UnknownColumnError
from hudi_hive.predicate import parse_filter
from hudi_hive.read import BaseScan, ColumnMapping, read_base_files
from hudi_hive.read.scan.ordered import in_order
from hudi_hive.schema import META_FIELDS, avro_to_arrow, with_meta_fields
from hudi_hive.storage import Storage
from tests.support.fixture_tables import encode_rows, expected, fixture_names, unzip_fixture
from tests.support.running.long import with_long_cases
from tests.support.running.waiting import wait_until

SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in META_FIELDS),
        ("id", pa.int64()),
        ("v", pa.float64()),
        ("p", pa.string()),
    ]
)


def rows(start: int, count: int, commit: str, p: str) -> pa.Table:
    ids = range(start, start + count)
    meta = [[commit] * count, [f"{commit}_0_{i}" for i in ids], [str(i) for i in ids], [p] * count, ["f"] * count]
    return pa.table([*meta, list(ids), [i / 4 for i in ids], [p] * count], schema=SCHEMA)


@pytest.fixture
def table(tmp_path):
    """Five files in two partitions; 50,000 rows in ten row groups each, or 300 rows in one."""
    files, parts = [], []
    for index, count in enumerate([50_000, 300, 300, 50_000, 300]):
        partition, name = f"p={index % 2}", f"f{index}.parquet"
        part = rows(index * 100_000, count, f"2024010{index + 1}000000000", str(index % 2))
        (tmp_path / partition).mkdir(exist_ok=True)
        pq.write_table(part, tmp_path / partition / name, row_group_size=5000)
        files.append({"partition": partition, "name": name, "size": (tmp_path / partition / name).stat().st_size})
        parts.append(part)
    return Storage(tmp_path), pa.Table.from_pylist(files), pa.concat_tables(parts)


def scan(columns=None, **more) -> BaseScan:
    return BaseScan(target_schema=SCHEMA, columns=columns, **more)


def read(storage, files, schema=SCHEMA, columns=None, row_filter=None, **more) -> pa.Table:
    output = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    bound = parse_filter(row_filter, schema) if row_filter is not None else None
    how = {name: more.pop(name) for name in ("threads", "batch_size") if name in more}
    chosen = BaseScan(target_schema=schema, columns=columns, row_filter=bound, **more)
    batches = list(read_base_files(storage, files, chosen, **how))
    assert all(batch.num_rows for batch in batches)
    return pa.Table.from_batches(batches, output)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_all_rows_in_the_order_of_the_files(table, threads):
    storage, files, everything = table
    assert read(storage, files, threads=threads).equals(everything)
    assert read(storage, files.drop_columns("size"), threads=threads).equals(everything)
    turned = files.take(pa.array([4, 3, 2, 1, 0]))
    assert read(storage, turned, columns=["id"], threads=threads).column("id")[0].as_py() == 400_000
    assert storage.counters["opens"] == 15


FILTERS = (
    "id < 100",
    "v > 10 AND id < 200100",
    "id = 300123",
    "p = '1' AND v < 25100",
    "id IN (5, 100005, 400299)",
    "v IS NULL",
    "_hoodie_commit_time >= '20240104'",
    "NOT (id > 10 OR p = '1')",
)
COLUMNS = (None, ["v"], ["p", "id"], [])


@pytest.mark.parametrize(
    ("text", "columns"),
    with_long_cases(
        [(text, COLUMNS[(at + more) % 4]) for at, text in enumerate(FILTERS) for more in (0, 1)],
        itertools.product(FILTERS, COLUMNS),
    ),
)
def test_filters_agree_with_filtering_everything(table, text, columns):
    storage, files, everything = table
    wanted = everything.filter(parse_filter(text, SCHEMA).to_arrow())
    result = list(read_base_files(storage, files, scan(columns, row_filter=parse_filter(text, SCHEMA))))
    assert sum(batch.num_rows for batch in result) == wanted.num_rows
    if columns != []:
        chosen = wanted if columns is None else wanted.select(columns)
        assert pa.Table.from_batches(result, chosen.schema).equals(chosen)


def test_row_groups_are_skipped_and_nothing_else_is_read(table):
    storage, files, _ = table
    assert read(storage, files, columns=["id"], row_filter="id = 300123").num_rows == 1
    assert storage.counters["row_groups_read"] == 1 + 3  # the small files are decoded at once
    assert storage.counters["row_groups_skipped"] == 19
    assert storage.counters["opens"] == 5


def test_counting_needs_no_column(table):
    storage, files, everything = table
    batches = list(read_base_files(storage, files, scan([])))
    assert sum(batch.num_rows for batch in batches) == everything.num_rows
    assert all(batch.num_columns == 0 for batch in batches)
    times = pa.array(["20240102000000000"])
    assert sum(b.num_rows for b in read_base_files(storage, files, scan([], commit_times=times))) == 300
    assert sum(b.num_rows for b in read_base_files(storage, files, scan([], limit=123))) == 123


@pytest.mark.parametrize("limit", [0, 1, 299, 300, 50_000, 50_299, 50_301, 10**9])
def test_limit_gives_the_first_rows(table, limit):
    storage, files, everything = table
    assert read(storage, files, limit=limit).equals(everything.slice(0, limit))
    wanted = everything.filter(pc.field("v") >= 0.5).slice(0, limit)
    assert read(storage, files, row_filter="v >= 0.5", limit=limit).equals(wanted)


def test_limit_stops_reading(table):
    storage, files, _ = table
    assert read(storage, files, limit=10, threads=1).num_rows == 10
    assert storage.counters["opens"] == 1


def test_rows_of_selected_commits_are_read(table):
    storage, files, everything = table
    times = pa.array(["20240104000000000", "20240102000000000", "20230101000000000"])
    wanted = everything.filter(pc.is_in(everything.column("_hoodie_commit_time"), value_set=times))
    assert read(storage, files, commit_times=times).equals(wanted)
    assert read(storage, files, columns=["id"], commit_times=times).equals(wanted.select(["id"]))
    few = read(storage, files, columns=["v"], row_filter="id >= 300010", commit_times=times)
    assert few.equals(wanted.filter(pc.field("id") >= 300_010).select(["v"]))
    assert read(storage, files, commit_times=times[:0]).num_rows == 0


def test_incremental_read_opens_nothing_without_commits(table):
    storage, files, _ = table
    read(storage, files, commit_times=pa.array([], pa.string()))
    assert storage.counters["opens"] == 0


def test_incremental_read_without_meta_columns_is_refused(tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    files = pa.table({"partition": [""], "name": ["a.parquet"]})
    schema = pa.schema([("id", pa.int64())])
    with pytest.raises(SchemaError, match="_hoodie_commit_time"):
        read(Storage(tmp_path), files, schema, commit_times=pa.array(["1"]))


# -- partition columns
# ----------------------------------------------------------------------------------------------------


def test_partition_values_stand_in_for_columns_that_files_lack(table):
    storage, files, everything = table
    schema = SCHEMA.append(pa.field("q", pa.int32()))
    values = pa.table({"q": pa.array([7, 8, None, 9, 7], pa.int32()), "p": ["x"] * 5})
    result = read(storage, files, schema, ["id", "p", "q"], partition_columns=values)
    assert pc.unique(result.column("q")).to_pylist() == [7, 8, None, 9]
    assert result.column("p").equals(everything.column("p"))  # the file's own value wins
    forced = read(
        storage, files, schema, ["p"], "q = 8 AND p = 'x'", partition_columns=values, partition_values_from_path=True
    )
    assert forced.column("p").to_pylist() == ["x"] * 300
    assert read(storage, files, schema, ["q"], "q IS NULL", partition_columns=values).num_rows == 300


def test_forced_partition_values_are_not_judged_by_the_files_statistics(table):
    """Statistics speak of the column in the file, which the value from the path replaces."""
    storage, files, everything = table
    values = pa.table({"id": [-1, -2, -3, -4, -5]})
    result = read(
        storage, files, columns=["id"], row_filter="id < 0", partition_columns=values, partition_values_from_path=True
    )
    assert result.num_rows == everything.num_rows


# -- schemas that changed
# -------------------------------------------------------------------------------------------------


def test_filters_on_promoted_missing_and_renamed_columns(tmp_path):
    """A filter means the table's column, whatever type or name the file has; statistics must not mislead."""
    count = 10_000
    old = pa.table({"a": pa.array(range(count), pa.int32()), "b": pa.array(range(count), pa.int32())})
    pq.write_table(old, tmp_path / "old.parquet", row_group_size=1000)
    schema = pa.schema([("a", pa.string()), ("b", pa.int64()), ("c", pa.int64())])
    files = pa.table({"partition": [""], "name": ["old.parquet"]})
    storage = Storage(tmp_path)
    # as texts "10" lies between "1" and "2", as numbers it does not
    result = read(storage, files, schema, ["a"], "a > '1' AND a < '11'")
    assert result.column("a").to_pylist() == [str(n) for n in range(count) if "1" < str(n) < "11"]
    assert read(storage, files, schema, ["b"], "b = 9999").column("b").to_pylist() == [9999]
    assert read(storage, files, schema, ["b"], "c IS NULL AND b < 5").num_rows == 5
    assert read(storage, files, schema, ["b"], "c = 1").num_rows == 0
    renamed = pa.schema([("b", pa.int32()), ("a", pa.int32())])

    def swap(path):
        assert path == "old.parquet"
        return ColumnMapping({"b": "a", "a": None})

    assert read(storage, files, renamed, None, "b >= 9998", mapping_of=swap).to_pylist() == [
        {"b": 9998, "a": None},
        {"b": 9999, "a": None},
    ]
    assert read(storage, files, renamed, ["b"], "a IS NULL AND b = 3", mapping_of=swap).num_rows == 1


def test_columns_and_filters_that_do_not_exist(table):
    storage, files, _ = table
    with pytest.raises(UnknownColumnError, match="'nope'"):
        list(read_base_files(storage, files, scan(["nope"])))
    assert next(read_base_files(storage, files, scan(["ID"]))).schema.names == ["id"]
    other = parse_filter("zz = 1", pa.schema([("zz", pa.int32())]))
    with pytest.raises(PredicateError, match="'zz'"):
        list(read_base_files(storage, files, scan(["id"], row_filter=other)))


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_of_orc_files_that_nanoseconds_do_not_hold(tmp_path, zone):
    micros = [-8_000_000_000_000_000, None, 0, 253_402_300_799_999_999]
    times = pa.array(micros, pa.timestamp("us"))
    orc.write_table(pa.table({"id": pa.array(range(4)), "t": times}), tmp_path / "a.orc")
    schema = pa.schema([("id", pa.int64()), ("t", pa.timestamp("us", zone))])
    files = pa.table({"partition": [""], "name": ["a.orc"]})
    assert read(Storage(tmp_path), files, schema).column("t").cast(pa.int64()).to_pylist() == micros
    assert read(Storage(tmp_path), files, schema, ["id"], "t > '9999-01-01'").column("id").to_pylist() == [3]


# -- errors and threads
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
def test_vanished_file_is_named(table, threads):
    storage, files, _ = table
    storage.delete("p=1/f3.parquet")
    seen = 0
    with pytest.raises(FileVanishedError) as info:
        for batch in read_base_files(storage, files.drop_columns("size"), scan(["id"]), threads=threads):
            seen += batch.num_rows
    assert info.value.path == storage.uri("p=1/f3.parquet")
    assert seen in (0, 50_600)  # rows of the files before it, unless they were still being joined


def test_corrupt_file_is_named(table):
    storage, files, _ = table
    storage.write_bytes("p=0/f2.parquet", storage.read_bytes("p=0/f2.parquet")[:-9])
    with pytest.raises(CorruptFileError, match=r"f2\.parquet"):
        read(storage, files)


def test_leaving_early_stops_the_threads(table):
    storage, files, _ = table
    before = threading.active_count()
    batches = read_base_files(storage, files.drop_columns("size"), scan(), batch_size=500)
    next(batches)
    batches.close()
    assert threading.active_count() == before


def test_items_of_concurrent_producers_come_in_order():
    def producer(number):
        def produce():
            for part in range(12):
                time.sleep(0.0005 * ((number * 7 + part) % 3))
                yield number, part

        return produce

    result = list(in_order([producer(n) for n in range(20)], 4))
    assert result == [(n, part) for n in range(20) for part in range(12)]


def test_producers_wait_for_the_consumer():
    made = []

    def produce():
        for part in range(1000):
            made.append(part)
            yield part

    running = in_order([produce, produce, produce], 3)
    next(running)
    most = 3 * 5 + 1  # four wait to be taken, the next has no room; one was taken
    wait_until(lambda: len(made) >= most, "all producers have no room")
    running.close()
    assert len(made) == most


def test_an_error_of_a_producer_comes_after_the_items_before_it():
    def good():
        yield 1

    def bad():
        yield 2
        raise SchemaError("broken")

    running = in_order([good, bad, good], 2)
    assert [next(running), next(running)] == [1, 2]
    with pytest.raises(SchemaError, match="broken"):
        next(running)


# -- against pyarrow and real Hudi
# ----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 30), max_size=60),
    st.integers(1, 20),
    st.sampled_from(["id < {}", "id >= {}", "id = {}", "NOT id = {}", "id IN ({}, 3)", "id IS NULL OR id > {}"]),
    st.integers(-1, 31),
)
def test_push_down_drops_no_row(tmp_path_factory, values, group_rows, template, literal):
    """Row groups smaller than any threshold: the files are padded with rows that the filter must drop or keep too."""
    folder = tmp_path_factory.mktemp("push")
    padded = [*values, None, *range(100, 5100)]
    data = pa.table({"id": pa.array(padded, pa.int64())})
    pq.write_table(data, folder / "a.parquet", row_group_size=group_rows * 200)
    text = template.format(literal)
    files = pa.table({"partition": [""], "name": ["a.parquet"]})
    expression = parse_filter(text, data.schema).to_arrow()
    assert read(Storage(folder), files, data.schema, None, text).equals(data.filter(expression))


@pytest.mark.parametrize("name", [n for n in fixture_names("cow") if n.split("_", 1)[1] in (
    "cow_types", "cow_orc", "cow_ts_millis", "cow_nonpart", "cow_ymd_hive", "cow_cdc")])  # fmt: skip
def test_rows_of_real_tables(name):
    """The newest files of a table against real Hudi's snapshot, row by row."""
    answers = expected(name)
    schema = with_meta_fields(avro_to_arrow(answers["avro_schema"]))
    slices = [s for s in answers["file_slices"] if s["base_file"]]
    files = pa.table({"partition": [s["partition"] for s in slices], "name": [s["base_file"] for s in slices]})
    query = next(q for q in answers["queries"] if q["kind"] == "snapshot" and "rows" in q and not q.get("historical"))
    result = read(Storage(unzip_fixture(name)), files, schema)
    result.validate(full=True)
    names = [column["name"] for column in query["columns"]]
    assert sorted(map(repr, encode_rows(result, names))) == sorted(map(repr, query["rows"]))


def test_a_partition_column_without_a_value_is_refused(tmp_path):
    base = unzip_fixture("v8_cow_ymd_hive", tmp_path)
    for file in base.rglob("year=*/**/*.parquet"):
        pq.write_table(pq.ParquetFile(file).read().drop_columns(["year"]), file)
    rows = HudiTable.open(base).scan(selected_fields=("year",)).to_arrow()
    assert set(rows.column(0).to_pylist()) == {int(folder.name[5:]) for folder in base.glob("year=*")}
    (base / "year=2023").rename(base / "year=soon")
    with pytest.raises(SchemaError, match="'year' is not in the file") as caught:
        HudiTable.open(base).scan(selected_fields=("year",)).to_arrow()
    assert caught.value.path.endswith(".parquet")
