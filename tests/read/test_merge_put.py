"""Values of log records in base columns of any type; columns that need no new ones are not copied."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_hive.read.merge.merge import merge_slice
from hudi_hive.table.logs import LogData, LogRecords
from hudi_hive.table.merge import MergeSpec, Order

C = Order.COMMIT_TIME

CHANGES = {
    "int64": (pa.int64(), [1, 2, 3, 4], [1, 9]),
    "int8": (pa.int8(), [1, 2, 3, 4], [2, 4]),
    "null becomes a number": (pa.int32(), [None, 2, 3, 4], [1, None]),
    "double zeros": (pa.float64(), [0.0, 1.0, 2.0, 0.0], [-0.0, -0.0]),
    "float": (pa.float32(), [0.5, 1.0, 2.0, math.inf], [0.5, -math.inf]),
    "zeros in structs": (pa.struct([("x", pa.float64())]), [{"x": 0.0}] * 4, [{"x": -0.0}] * 2),
    "boolean": (pa.bool_(), [True, False, True, False], [True, True]),
    "date": (pa.date32(), [date(2026, 1, day) for day in (1, 2, 3, 4)], [date(2026, 1, 1), date(1969, 1, 1)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [datetime(2026, 1, 1, tzinfo=UTC)] * 4,
        [None, datetime(1900, 1, 1, tzinfo=UTC)],
    ),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.00")] * 4, [Decimal("1.00"), Decimal("-9999999.99")]),
    "fixed": (pa.binary(2), [b"ab", b"cd", b"ef", b"gh"], [b"ab", b"zz"]),
    "text": (pa.string(), ["a", "b", "", None], ["a longer text", ""]),
    "text of one width": (pa.string(), ["été", "b", "", "abcde"], ["12345", "x\u20acy"]),
    "text of other widths": (pa.string(), ["a", "", "c", "de"], ["de", "f"]),
    "null becomes text": (pa.string(), [None, "", None, "de"], ["x", None]),
    "text becomes null": (pa.string(), ["a", "b", "c", "de"], [None, None]),
    "text becomes empty": (pa.string(), ["a", "", "", "de"], ["", ""]),
    "empty becomes text": (pa.string(), ["", "", "", ""], ["", "x"]),
    "bytes": (pa.binary(), [b"\xff\x00", b"", None, b"\x01"], [b"\x00\x00", b"\x01\x02"]),
    "same text": (pa.string(), ["a", "b", None, "d"], ["a", "d"]),
    "list": (pa.list_(pa.int32()), [[1], [], None, [2, 3]], [[1], [7, 8, 9]]),
}


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize("name", CHANGES)
def test_replaced_values_are_those_of_the_log_in_columns_of_any_type(name, offset, part):
    """Rows 0 and 3 are updated; the batch and the block may be parts of longer ones."""
    kind, base, update = CHANGES[name]
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("v", kind)])
    keys = [f"x{row}" for row in range(offset)] + ["a", "b", "c", "d"]
    batch = pa.RecordBatch.from_arrays([pa.array(keys), pa.array(base[:1] * offset + base, kind)], schema=schema)
    batch = batch.slice(offset)
    before = batch.to_pylist()
    block = pa.RecordBatch.from_arrays([pa.array(["d", "a"]), pa.array(update[::-1], kind)], schema=schema)
    if part:
        first = pa.RecordBatch.from_arrays([pa.array(["none"]), pa.array(update[:1], kind)], schema=schema)
        block = pa.concat_batches([first, block]).slice(1)
    avro = {"fields": [{"name": field, "default": None} for field in schema.names]}
    got = list(merge_slice([batch], LogRecords((LogData("1", block, avro),)), MergeSpec(8, C, C), schema))
    for piece in got:
        piece.validate(full=True)
    values = [row["v"] for piece in got for row in piece.to_pylist()]
    wanted = pa.array([update[0], base[1], base[2], update[1]], kind).to_pylist()
    assert repr(values) == repr(wanted)  # 0.0 equals -0.0, but not as text
    assert batch.to_pylist() == before


def test_columns_that_updates_leave_as_they_are_are_not_copied():
    rows = 1_000
    text = pa.array([f"value {row}" for row in range(rows)])
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("same", pa.string()), ("other", pa.string())])
    batch = pa.RecordBatch.from_arrays([text, text, text], schema=schema)
    some = text.take(pa.array(range(0, rows, 7)))
    # Other values behind the first ones count as well.
    other = pa.array([*some.to_pylist()[:-1], "new"])
    block = pa.RecordBatch.from_arrays([some, some, other], schema=schema)
    avro = {"fields": [{"name": field, "default": None} for field in schema.names]}
    logs = LogRecords((LogData("1", block, avro),))
    (got,) = merge_slice([batch], logs, MergeSpec(8, C, C), schema)
    data = [column.buffers()[2].address for column in got.columns]
    assert data[:2] == [text.buffers()[2].address] * 2
    assert data[2] != data[0]
    assert got.column("other")[len(some) * 7 - 7].as_py() == "new"
