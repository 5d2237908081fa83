"""ACID files: what is written is read back, its tail says what Hive needs, and what Hive would misread is refused."""

from __future__ import annotations

import datetime
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import (
    BucketIdError,
    CorruptFileError,
    InvalidOptionError,
    MutationStateError,
    RecordIdentifierError,
    RecordSequenceError,
    SchemaError,
    UnsupportedAcidTableError,
    UnsupportedAcidValueError,
    UnsupportedFormatError,
)
from hudi_hive.formats.orc.acid import ACID_FIELDS, BucketProperty
from hudi_hive.formats.orc.acid_writer import CODECS, DeleteDeltaWriter, DeltaWriter
from hudi_hive.formats.orc.footer import message_fields
from hudi_hive.formats.orc.tail import parse_tail, read_tail

COLUMNS = [("id", "int"), ("msg", "varchar(10)")]
EVERY_TYPE = [
    ("a", "boolean"),
    ("b", "tinyint"),
    ("c", "smallint"),
    ("d", "bigint"),
    ("e", "float"),
    ("f", "double"),
    ("g", "string"),
    ("h", "binary"),
    ("i", "date"),
    ("j", "timestamp"),
    ("k", "decimal(38,10)"),
    ("l", "array<int>"),
    ("m", "map<string,char(2)>"),
    ("n", "struct<x:int,y:array<timestamp>>"),
]
MOMENT = datetime.datetime(2024, 2, 29, 1, 2, 3, 456789)
ONE_OF_EACH = [
    [
        True,
        -1,
        300,
        1 << 40,
        1.5,
        -2.5,
        "é",
        b"\xff",
        datetime.date(1500, 1, 1),
        MOMENT,
        decimal.Decimal("-1.5"),
        [1, None],
        [("k", "v")],
        {"x": 1, "y": [MOMENT]},
    ],
    [None] * 14,
]


def _rows(count: int, first: int = 0) -> pa.Table:
    ids = np.arange(first, first + count, dtype=np.int32)
    return pa.table({"id": ids, "msg": pa.array([f"m{i % 97}" for i in ids], pa.string())})


def _delta(rows, *, columns=COLUMNS, **options):
    sink = io.BytesIO()
    with DeltaWriter(sink, columns=columns, **{"write_id": 7, "bucket": 3, **options}) as writer:
        for part in rows if isinstance(rows, list) else [rows]:
            writer.write(part)
        written = writer.close()
    assert written.size == len(sink.getvalue())
    return sink.getvalue(), written


def _deletes(*parts, **options):
    sink = io.BytesIO()
    with DeleteDeltaWriter(sink, columns=COLUMNS, **{"write_id": 9, "bucket": 3, **options}) as writer:
        for part in parts:
            writer.write(*(np.array(column, np.int64) for column in part))
        written = writer.close()
    return sink.getvalue(), written


def _keys(data: bytes) -> list[tuple[int, int, int]]:
    table = orc.ORCFile(io.BytesIO(data)).read()
    return list(zip(*(table[name].to_pylist() for name in ("originalTransaction", "bucket", "rowId")), strict=True))


def _last_keys(data: bytes) -> list[tuple[int, ...]]:
    """The last key of each stripe, as the footer's index has them."""
    index = parse_tail(data, "f").user_metadata["hive.acid.key.index"].decode()
    return [tuple(int(part) for part in key.split(",")) for key in index.split(";") if key]


@pytest.mark.parametrize("codec", CODECS)
def test_a_delta_of_inserts_is_read_back_by_orc(codec):
    data, written = _delta([_rows(5), _rows(3, 5).to_batches()[0]], codec=codec, statement=2)
    file = orc.ORCFile(io.BytesIO(data))
    table = file.read()
    bucket = int(BucketProperty.encode(3, 2))
    assert bucket == 1 << 29 | 3 << 16 | 2
    assert table.schema == pa.schema(
        [*ACID_FIELDS, pa.field("row", pa.struct([("id", pa.int32()), ("msg", pa.string())]))]
    )
    assert table["row"].to_pylist() == _rows(8).to_pylist()
    assert _keys(data) == [(7, bucket, i) for i in range(8)]
    assert set(table["operation"].to_pylist()) == {0} and set(table["currentTransaction"].to_pylist()) == {7}
    assert file.compression == {"zlib": "ZLIB", "snappy": "SNAPPY", "uncompressed": "UNCOMPRESSED"}[codec]
    tail = parse_tail(data, "f")
    assert tail.user_metadata == {
        "hive.acid.key.index": f"7,{bucket},7;".encode(),
        "hive.acid.stats": b"8,0,0",
        "hive.acid.version": b"2",
    }
    assert (tail.rows, tail.stripe_rows, tail.calendar) == (8, (8,), 2)
    assert (written.rows, written.stripes, written.first, written.last) == (8, 1, (7, bucket, 0), (7, bucket, 7))
    # Arrow's reader knows the metadata, too: it is where the format has it.
    assert dict(file.metadata) == {name.encode(): value for name, value in tail.user_metadata.items()}


def test_a_delta_of_deletes_is_read_back_by_orc():
    property_0, property_1 = (int(BucketProperty.encode(3, statement)) for statement in (0, 1))
    keys = [(1, property_0, 5), (1, property_1, 0), (2, property_0, 0), (2, property_0, 4)]
    data, written = _deletes(list(zip(*keys[:2], strict=True)), list(zip(*keys[2:], strict=True)))
    table = orc.ORCFile(io.BytesIO(data)).read()
    assert _keys(data) == keys
    assert table["row"].null_count == 4 and table["row"].type == pa.struct([("id", pa.int32()), ("msg", pa.string())])
    assert set(table["operation"].to_pylist()) == {2} and set(table["currentTransaction"].to_pylist()) == {9}
    assert parse_tail(data, "f").user_metadata == {
        "hive.acid.key.index": "{},{},{};".format(*keys[-1]).encode(),
        "hive.acid.stats": b"0,0,4",
        "hive.acid.version": b"2",
    }
    assert (written.first, written.last) == (keys[0], keys[-1])


def test_an_index_entry_for_each_stripe():
    """Hive 3.1 refuses files whose index has another number of entries than the file has stripes."""
    rng = np.random.default_rng(5)
    count = 150_000
    rows = pa.table({"id": rng.integers(0, 1 << 31, count).astype(np.int32), "msg": pa.array(["x"] * count)})
    data, written = _delta(rows, stripe_bytes=1 << 16, codec="uncompressed")
    file, tail = orc.ORCFile(io.BytesIO(data)), parse_tail(data, "f")
    assert file.nstripes == written.stripes == len(tail.stripe_rows) > 1
    lasts = [file.read_stripe(i, columns=["rowId"])["rowId"][-1].as_py() for i in range(file.nstripes)]
    assert _last_keys(data) == [(7, 1 << 29 | 3 << 16, last) for last in lasts]
    assert file.read()["row"].combine_chunks().field("id").equals(rows["id"].combine_chunks())

    property_ = int(BucketProperty.encode(3))
    ids = np.cumsum(rng.integers(1, 9, count))
    data, written = _deletes((np.full(count, 4), np.full(count, property_), ids), stripe_bytes=1 << 14)
    file = orc.ORCFile(io.BytesIO(data))
    lasts = [file.read_stripe(i, columns=["rowId"])["rowId"][-1].as_py() for i in range(file.nstripes)]
    assert len(lasts) == written.stripes > 1 and _last_keys(data) == [(4, property_, last) for last in lasts]
    assert [key[2] for key in _keys(data)] == ids.tolist()


def test_a_tail_of_several_chunks():
    """A footer larger than the block of the compression is cut into chunks that each fit one."""
    columns = [(f"a_rather_long_name_of_a_column_{i:04d}", "int") for i in range(3000)]
    rows = pa.table({name: pa.array([1], pa.int32()) for name, _ in columns})
    data, _ = _delta(rows, columns=columns)
    tail = parse_tail(data, "f")
    block = dict(message_fields(tail.postscript))[3]
    assert len(tail.footer) > block
    assert orc.ORCFile(io.BytesIO(data)).read()["row"].to_pylist() == rows.to_pylist()
    assert read_tail(pa.BufferReader(data), "f") == tail


def test_every_type_is_written_and_read_back():
    schema = pa.schema([(name, kind) for (name, _), kind in zip(EVERY_TYPE, _arrow_types(), strict=True)])
    columns = [
        pa.array(column, field.type) for column, field in zip(zip(*ONE_OF_EACH, strict=True), schema, strict=True)
    ]
    rows = pa.table(columns, schema=schema)
    data, _ = _delta(rows, columns=EVERY_TYPE)
    back = orc.ORCFile(io.BytesIO(data)).read()["row"].combine_chunks()
    assert back.cast(pa.struct(list(schema))).to_pylist() == rows.to_pylist()


def _arrow_types():
    from hudi_hive.formats.orc.hive_type import parse_hive_type

    return [parse_hive_type(text).arrow for _, text in EVERY_TYPE]


def test_columns_in_any_order_and_of_other_types():
    rows = pa.table({"msg": pa.array(["a", None], pa.large_string()), "id": pa.array([1, 2], pa.int64())})
    data, _ = _delta(rows)
    assert orc.ORCFile(io.BytesIO(data)).read()["row"].to_pylist() == [{"id": 1, "msg": "a"}, {"id": 2, "msg": None}]
    names = pa.table({"id": [1], "msg": pa.array(["x"]).dictionary_encode()})
    assert orc.ORCFile(io.BytesIO(_delta(names)[0])).read()["row"].to_pylist() == [{"id": 1, "msg": "x"}]


@pytest.mark.parametrize(
    ("hive_type", "value"),
    [
        ("varchar(3)", pa.array(["abcd"])),
        ("char(3)", pa.array(["abcd  "])),
        ("array<varchar(3)>", pa.array([["abc", "abcd"]])),
        (
            "struct<x:map<string,varchar(2)>>",
            pa.array([{"x": [("k", "abc")]}], pa.struct([("x", pa.map_(pa.string(), pa.string()))])),
        ),
        ("timestamp", pa.array([-1], pa.timestamp("us"))),
        ("timestamp", pa.array([None, -(10**9) - 1, 5], pa.timestamp("ns"))),
        ("array<timestamp>", pa.array([[0, -1500]], pa.list_(pa.timestamp("ms")))),
        ("tinyint", pa.array([128])),
        ("int", pa.array([1.5])),
        ("decimal(5,2)", pa.array([decimal.Decimal("1.234")])),
    ],
)
def test_values_that_hive_would_misread(hive_type, value):
    with pytest.raises(UnsupportedAcidValueError, match="column v"):
        _delta(pa.table({"v": value}), columns=[("v", hive_type)])


def test_values_at_the_edge():
    for hive_type, value in [
        ("varchar(3)", pa.array(["漢字😀"])),
        ("char(3)", pa.array(["abc      "])),
        ("timestamp", pa.array([-(10**6), None, 1], pa.timestamp("us"))),
        ("timestamp", pa.array([datetime.datetime(1600, 1, 1), datetime.datetime(9999, 12, 31)], pa.timestamp("s"))),
        ("timestamp", pa.array([1], pa.timestamp("ns"))),
    ]:
        assert _delta(pa.table({"v": value}), columns=[("v", hive_type)])[1].rows == len(value)


def test_rows_that_do_not_fit_the_table():
    rows = _rows(2)
    for wrong in (rows.drop(["msg"]), rows.append_column("x", rows["id"]), rows.rename_columns(["id", "id"])):
        with pytest.raises(SchemaError):
            _delta(wrong)
    with pytest.raises(SchemaError, match="zone"):
        _delta(pa.table({"v": pa.array([0], pa.timestamp("us", "UTC"))}), columns=[("v", "timestamp")])


def test_deletes_out_of_order():
    first, second = (int(BucketProperty.encode(3, statement)) for statement in (0, 1))
    ordered_as_java_asks = ([1, 1, 1], [first, second, first], [0, 1, 2])
    for parts in (
        [ordered_as_java_asks],
        [([1, 1], [first, first], [3, 3])],
        [([2], [first], [0]), ([1], [first], [1])],
        [([2], [first], [0]), ([2], [first], [0])],
    ):
        with pytest.raises(RecordSequenceError, match="out of order"):
            _deletes(*parts)


def test_identifiers_that_cannot_be():
    own = int(BucketProperty.encode(3))
    with pytest.raises(BucketIdError, match="bucket 4"):
        _deletes(([1, 1], [own, int(BucketProperty.encode(4))], [0, 0]))
    for part in [([-1], [own], [0]), ([1], [own], [-1]), ([1], [-1], [0]), ([1, 2], [own], [0]), ([1], [1 << 30], [0])]:
        with pytest.raises(RecordIdentifierError):
            _deletes(part)


def test_options_that_a_delta_cannot_have_are_refused():
    options = {"columns": COLUMNS, "write_id": 1, "bucket": 0}
    for changed, error in [
        ({"codec": "zstd"}, InvalidOptionError),
        ({"columns": []}, SchemaError),
        ({"columns": [("a", "uniontype<int>")]}, SchemaError),
        ({"write_id": 0}, UnsupportedAcidTableError),
        ({"bucket": 4096}, UnsupportedAcidTableError),
        ({"statement": -1}, UnsupportedAcidTableError),
    ]:
        with pytest.raises(error):
            DeltaWriter(io.BytesIO(), **{**options, **changed})
    writer = DeltaWriter(io.BytesIO(), **options)
    with pytest.raises(MutationStateError, match="without events"):
        writer.close()
    for call in (writer.close, lambda: writer.write(_rows(1))):
        with pytest.raises(MutationStateError, match="closed"):
            call()


def test_an_aborted_delta_writer_leaves_no_orc_file():
    sink = io.BytesIO()
    with pytest.raises(ZeroDivisionError), DeltaWriter(sink, columns=COLUMNS, write_id=1, bucket=0) as writer:
        writer.write(_rows(3))
        raise ZeroDivisionError
    with pytest.raises(CorruptFileError):
        parse_tail(sink.getvalue() or b"ORC\0", "f")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4095), st.integers(0, 4095))))
def test_bucket_properties_are_decoded_and_ordered_as_encoded(pairs):
    buckets, statements = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    properties = BucketProperty.encode(buckets, statements)
    assert properties.dtype == np.int32
    again = BucketProperty.decode(properties)
    assert [part.tolist() for part in again] == [buckets.tolist(), statements.tolist()]
    assert sorted(pairs) == [pairs[i] for i in np.argsort(properties, kind="stable")]


def test_bucket_properties_of_hive():
    assert BucketProperty.encode([0, 1, 0], [0, 0, 1]).tolist() == [536870912, 536936448, 536870913]
    assert [part.tolist() for part in BucketProperty.decode([5, 536936448])] == [[5, 1], [0, 0]]
    for wrong in (-1, 2 << 29, 1 << 29 | 1 << 28, 1 << 29 | 1 << 12, 4096):
        with pytest.raises(RecordIdentifierError):
            BucketProperty.decode(wrong)


def test_tails_that_break_the_format():
    data, _ = _delta(_rows(3))
    tail = parse_tail(data, "f")
    with pytest.raises(UnsupportedFormatError, match="user metadata"):
        tail.patched({"hive.acid.stats": b"1,0,0"})
    for broken in (b"", b"\xff", data[:-1], data[-20:], data[: -tail.length]):
        with pytest.raises(CorruptFileError):
            parse_tail(broken, "f")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_tail_is_parsed_or_refused(changes):
    """Whatever the bytes are, an error says that they are no tail, or there is one."""
    data = bytearray(_DATA)
    for place, byte in changes:
        data[-place] = byte
    try:
        parse_tail(bytes(data), "f")
        read_tail(pa.BufferReader(bytes(data)), "f")
    except (CorruptFileError, UnsupportedFormatError):
        pass


_DATA = _delta(_rows(40))[0]
