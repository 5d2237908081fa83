"""What a reader of ACID tables does not read: stripes and files that its filter has no use for."""

from __future__ import annotations

import datetime
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from hudi_hive.errors import InvalidOptionError
from hudi_hive.formats.orc import DeltaWriter, stripe_ranges
from hudi_hive.metrics import IoCounters
from hudi_hive.mutation.acid_table.reader import AcidReader
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.predicate import parse_filter
from hudi_hive.storage import Storage
from tests.support.fixture_tables import unzip_fixture
from tests.support.mutation.acid_rows import delete, insert, key, names, snapshot, table_at

COLUMNS = "id:int name:string day:date short:varchar(9) padded:char(9) much:double"
ROWS = 100_000


def some_rows(count: int = ROWS) -> pa.Table:
    """Rows that ascend in every column, some of them null."""
    numbers = np.arange(count)
    texts = pa.array([f"n{number:06d}" for number in numbers])
    missing = numbers % 10 == 3
    return pa.table(
        {
            "id": pa.array(numbers - 1000, pa.int32(), mask=missing),
            "name": texts,
            "day": pa.array((numbers // 10 - 200_000 // 10).astype(np.int32)).cast(pa.date32()),
            "short": texts,
            "padded": texts,
            "much": pa.array(numbers / 2),
        }
    )


def write_stripes(table: AcidTable, rows: pa.Table, folder: str = "delta_0000001_0000001_0000") -> int:
    """A delta file of several stripes; their number."""
    path = Path(table.location) / folder / "bucket_00000"
    path.parent.mkdir(parents=True)
    columns = [(column.name, column.type) for column in table.columns]
    with path.open("xb") as sink, DeltaWriter(sink, columns=columns, write_id=1, bucket=0, stripe_bytes=1) as writer:
        writer.write(rows)
    return int(orc.ORCFile(path).nstripes)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> AcidTable:
    made = table_at(tmp_path_factory.mktemp("table"), COLUMNS)
    assert write_stripes(made, some_rows()) >= 4
    delete(made, 2, [key(1, 0, 7), key(1, 0, 99_000)])
    return made


def cost(table: AcidTable, row_filter: str, **how: int) -> tuple[int, int, int]:
    """Rows found, files opened and stripes read."""
    counters = IoCounters()
    reader = AcidReader(table, snapshot(9), storage=Storage(table.location, counters=counters), **how)
    return reader.read(["id"], row_filter).num_rows, counters["opens"], counters["stripes"]


def test_stripes_in_which_no_row_can_be_are_not_read(table: AcidTable) -> None:
    everything = orc.ORCFile(Path(table.location) / "delta_0000001_0000001_0000" / "bucket_00000").nstripes
    assert cost(table, "much >= 0") == (ROWS - 2, 2, everything + 1)
    assert cost(table, "id = 0") == (1, 2, 2)
    assert cost(table, "id = -993") == (0, 2, 2)  # deleted
    assert cost(table, "name = 'n050001'") == (1, 2, 2)
    assert cost(table, "short = 'n050001'") == (1, 2, 2)
    assert cost(table, "day = DATE '1942-05-20'")[1:] == (2, 2)
    assert cost(table, "padded = 'n050001'") == (1, 2, everything + 1)
    assert cost(table, "id IN (0, 97000)") == (2, 2, 3)


def test_deletes_are_not_read_if_no_row_passes(table: AcidTable) -> None:
    assert cost(table, "id > 1000000") == (0, 1, 0)
    assert cost(table, "id = 0 AND name = 'n090000'") == (0, 1, 0)
    assert cost(table, "id = 0 AND much = 7") == (0, 1, 1)


def test_small_files_are_read_without_their_statistics(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    insert(table, 1, 0, names((1, "a"), (2, "b")))
    assert cost(table, "id = 3") == (0, 1, 1)


WORDS = st.integers(0, 120_000).map(lambda number: f"'n{number:06d}'")
DAYS = st.integers(-22_000, 0).map(lambda day: f"DATE '{datetime.date(1970, 1, 1) + datetime.timedelta(day)}'")
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@st.composite
def conditions(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(["id", "name", "day", "short", "padded"]))
    values = {"id": st.integers(-5000, 110_000).map(str), "day": DAYS}.get(column, WORDS)
    kind = draw(st.sampled_from(["compare", "in", "null", "between"]))
    if kind == "compare":
        return f"{column} {draw(OPERATORS)} {draw(values)}"
    if kind == "in":
        return f"{column} IN ({', '.join(draw(st.lists(values, min_size=1, max_size=3)))})"
    if kind == "between":
        return f"{column} BETWEEN {draw(values)} AND {draw(values)}"
    return f"{column} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"


FILTERS = st.recursive(
    conditions(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda one: f"NOT ({one})"),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def everything(table: AcidTable) -> pa.Table:
    return AcidReader(table, snapshot(9)).read().combine_chunks()


@settings(max_examples=50, deadline=None)
@given(row_filter=FILTERS)
def test_no_row_is_missed(table: AcidTable, everything: pa.Table, row_filter: str) -> None:
    reader = AcidReader(table, snapshot(9))
    passes = parse_filter(row_filter, reader.schema).evaluate(everything).fill_null(False)
    assert reader.read(row_filter=row_filter).num_rows == passes.true_count


def test_statistics_that_say_nothing_or_lie_about_their_number() -> None:
    sink = io.BytesIO()
    with DeltaWriter(sink, columns=[("id", "int"), ("much", "double")], write_id=1, bucket=0) as writer:
        writer.write(some_rows(10).select(["id", "much"]))
    data = sink.getvalue()
    wanted = {("row", name): kind for name, kind in (("id", pa.int64()), ("much", pa.float64()), ("no", pa.int64()))}
    found = stripe_ranges(pa.BufferReader(data), wanted)
    assert list(found) == [("row", "id")]
    assert (found["row", "id"].minimum.to_pylist(), found["row", "id"].maximum.to_pylist()) == ([-1000], [-991])
    assert not stripe_ranges(pa.BufferReader(data), {("row", "id"): pa.string()})
    for end in range(1, 200):
        damaged = bytearray(data)
        damaged[-end] ^= 0x15
        stripe_ranges(pa.BufferReader(bytes(damaged)), wanted)  # whatever comes, no error


def test_bounds_of_files_that_java_wrote_hold() -> None:
    """Those of Hudi's ORC tables, by the library that Hive writes with, too."""
    checked = 0
    for path in unzip_fixture("v9_cow_orc").rglob("*.orc"):
        file = orc.ORCFile(path)
        kinds = {(field.name,): field.type for field in file.schema if not pa.types.is_nested(field.type)}
        with pa.memory_map(str(path)) as stream:
            for (name,), bounds in stripe_ranges(stream, kinds).items():
                for stripe in range(file.nstripes):
                    values = file.read_stripe(stripe, columns=[name]).column(0)
                    low, high = bounds.minimum[stripe], bounds.maximum[stripe]
                    assert not pc.any(pc.or_(pc.less(values, low), pc.greater(values, high))).as_py()
                    checked += low.is_valid
    assert checked > 10


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_change_nothing(tmp_path: Path, threads: int) -> None:
    table = table_at(tmp_path, keys="p:int")
    for write_id in range(1, 6):
        for place in range(3):
            insert(table, write_id, write_id % 2, names((write_id, "a"), (place, "b")), partition=f"p={place}")
            if write_id > 1:
                delete(table, write_id, [key(write_id - 1, (write_id - 1) % 2, 0)], partition=f"p={place}")
    counters = IoCounters()
    storage = Storage(table.location, counters=counters)
    found = AcidReader(table, snapshot(9), storage=storage, threads=threads).read()
    assert counters["opens"] == 3 * 9
    assert found.equals(AcidReader(table, snapshot(9), threads=1).read())
    assert found.num_rows == 3 * 6
    assert next(AcidReader(table, snapshot(9), threads=threads).read_batches()).num_rows
    with pytest.raises(InvalidOptionError):
        AcidReader(table, snapshot(9), threads=0)
