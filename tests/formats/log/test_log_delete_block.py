"""Delete blocks: keys, partition paths and ordering values of every type; versions and damage."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, FormatError, UnsupportedFormatError
from hudi_hive.formats.log.block import BlockType, HeaderKey, LogBlock, encode_block, iter_blocks
from hudi_hive.formats.log.deletes import decode_deletes
from tests.support.running.long import examples
from tests.support.tables.log_files import delete_block, delete_content

T = "20250101000000000"


def only(data: bytes) -> LogBlock:
    (block,) = iter_blocks(data, "f.log")
    return block


def deletes(*records):
    return decode_deletes(only(delete_block(T, records)))


def of_content(content: bytes) -> LogBlock:
    return only(encode_block(BlockType.DELETE, {HeaderKey.INSTANT_TIME: T}, content))


def test_worked_example_has_no_ordering_value():
    # docs/format.md#delete-blocks: one record, key "2", partition "part=p0", int 0.
    payload = bytes.fromhex("0202023202 0e706172743d7030 0400 00".replace(" ", ""))
    table = decode_deletes(of_content(struct.pack(">ii", 3, len(payload)) + payload))
    assert table.to_pylist() == [
        {"record_key": "2", "partition_path": "part=p0", "ordering": None, "has_ordering": False}
    ]
    assert delete_content([("2", "part=p0", ("Int", 0))])[8:] == payload


def test_a_block_without_deletes_gives_an_empty_table():
    table = deletes()
    assert table.num_rows == 0
    assert table.schema.names == ["record_key", "partition_path", "ordering", "has_ordering"]


def test_null_keys_and_long_keys():
    long_key = "ключ" * 100
    table = deletes((None, None, None), (long_key, "", None), ("", "a" * 63, None), ("x" * 64, "y" * 20000, None))
    assert table["record_key"].to_pylist() == [None, long_key, "", "x" * 64]
    assert table["partition_path"].to_pylist() == [None, "", "a" * 63, "y" * 20000]
    assert table["ordering"].type == pa.null()
    assert not any(table["has_ordering"].to_pylist())


@pytest.mark.parametrize(
    ("kind", "value", "arrow", "expected"),
    [
        ("Boolean", True, pa.bool_(), True),
        ("Int", -5, pa.int32(), -5),
        ("Long", 0, pa.int64(), 0),
        ("Long", 2**63 - 1, pa.int64(), 2**63 - 1),
        ("Float", 1.5, pa.float32(), 1.5),
        ("Double", -0.25, pa.float64(), -0.25),
        ("Bytes", b"\x00\xff", pa.binary(), b"\x00\xff"),
        ("String", "日本", pa.string(), "日本"),
        ("String", "", pa.string(), ""),
        ("Date", 19723, pa.date32(), dt.date(2024, 1, 1)),
        ("Decimal", Decimal("12.5"), pa.decimal128(30, 15), Decimal("12.500000000000000")),
        ("TimeMicros", dt.time(1, 2, 3, 4), pa.time64("us"), dt.time(1, 2, 3, 4)),
        ("TimestampMicros", 1, pa.timestamp("us", "UTC"), dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC)),
    ],
)
def test_ordering_values_of_every_type(kind, value, arrow, expected):
    table = deletes(("a", "p", (kind, value)), ("b", "p", ("Int", 0)), ("c", "p", None), ("d", "p", (kind, value)))
    assert table["ordering"].type == arrow
    assert table["ordering"].to_pylist() == [expected, None, None, expected]
    assert table["has_ordering"].to_pylist() == [True, False, False, True]


def test_numbers_of_two_widths():
    table = deletes(("a", "p", ("Int", 7)), ("b", "p", ("Long", 2**40)), ("c", "p", ("Int", 0)))
    assert table["ordering"].to_pylist() == [7, 2**40, None]
    assert table["ordering"].type == pa.int64()


@pytest.mark.parametrize("other", [("String", "x"), ("Double", 0.5)])
def test_types_that_do_not_go_together_are_refused(other):
    with pytest.raises(UnsupportedFormatError, match=r"different types.*f\.log.*20250101"):
        deletes(("a", "p", ("Int", 7)), ("b", "p", other))


def test_several_ordering_fields():
    table = deletes(
        ("a", "p", [("Long", 5), ("String", "x")]),
        ("b", "p", ("Int", 0)),
        ("c", "p", [("Int", 0), None]),
        ("d", "p", None),
    )
    assert table["ordering"].type == pa.struct([("f0", pa.int64()), ("f1", pa.string())])
    assert table["ordering"].to_pylist() == [{"f0": 5, "f1": "x"}, None, {"f0": 0, "f1": None}, None]
    assert table["has_ordering"].to_pylist() == [True, False, True, False]


def test_a_date_among_several_ordering_fields():
    table = deletes(("a", "p", [("LocalDate", 19723), ("Int", 1)]))
    assert table["ordering"].to_pylist() == [{"f0": dt.date(2024, 1, 1), "f1": 1}]


def test_an_empty_list_of_ordering_values_is_none():
    assert deletes(("a", "p", []))["has_ordering"].to_pylist() == [False]


@pytest.mark.parametrize("second", [[("Int", 1)], ("Long", 9)])
def test_ordering_values_different_in_number(second):
    with pytest.raises(CorruptFileError, match="different in number"):
        deletes(("a", "p", [("Int", 1), ("Int", 2)]), ("b", "p", second))


def test_array_in_blocks_with_their_sizes():
    one = bytes.fromhex("02026102027000")
    payload = b"\x01" + bytes([len(one) * 2]) + one + b"\x02" + one + b"\x00"
    table = decode_deletes(of_content(struct.pack(">ii", 3, len(payload)) + payload))
    assert table["record_key"].to_pylist() == ["a", "a"]


@pytest.mark.parametrize("version", [1, 2])
def test_old_versions_are_refused_by_name(version):
    with pytest.raises(
        UnsupportedFormatError, match=rf"delete block version {version}.*instant {T}.*compact the table"
    ):
        decode_deletes(only(delete_block(T, [("a", "p", None)], version)))


def test_unknown_version_and_other_block():
    with pytest.raises(UnsupportedFormatError, match="version 4"):
        decode_deletes(only(delete_block(T, [("a", "p", None)], 4)))
    with pytest.raises(UnsupportedFormatError, match="COMMAND"):
        decode_deletes(only(encode_block(BlockType.COMMAND, {}, b"")))


@pytest.mark.parametrize(
    "payload",
    [
        "",  # no array
        "02",  # a record that is not there
        "02026102027000",  # no end of the array
        "0202610202700000ff",  # more than the array
        "0404610202700000",  # a key that is neither null nor text
        "020201020270 00 00",  # a key of negative length
        "0202fe01610202700000",  # a key longer than the block
        "02026102027020 00 00",  # an ordering value of kind 16
        "020261020270 01 00 00",  # of kind -1
        "fffffffffffffffffffffe01",  # a number without end
        "feffffffffffffffff01",  # as many records as can be
        "0202ff010000",
        "0202026102027018 04 00 00",  # a list of ordering values of kind 2
        "020202ff020270 00 00",  # no UTF-8
    ],
)
def test_a_damaged_payload_is_an_error(payload):
    data = bytes.fromhex(payload.replace(" ", ""))
    with pytest.raises(CorruptFileError, match=r"delete block at offset 0 is damaged.*f\.log"):
        decode_deletes(of_content(struct.pack(">ii", 3, len(data)) + data))


@pytest.mark.parametrize("content", [b"", b"\0\0\0\3", struct.pack(">ii", 3, 9) + b"\0", struct.pack(">ii", 3, -1)])
def test_a_damaged_length_is_an_error(content):
    with pytest.raises(CorruptFileError):
        decode_deletes(of_content(content))


ORDERINGS = st.one_of(
    st.none(),
    st.just(("Int", 0)),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: ("Long", value)),
)


@given(st.lists(st.tuples(st.none() | st.text(max_size=80), st.none() | st.text(max_size=5), ORDERINGS), max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_encoded_delete_records_are_decoded(records):
    table = deletes(*records)
    assert table["record_key"].to_pylist() == [key for key, _, _ in records]
    assert table["partition_path"].to_pylist() == [path for _, path, _ in records]
    expected = [None if value in (None, ("Int", 0)) else value[1] for _, _, value in records]
    assert table["ordering"].to_pylist() == expected
    assert table["has_ordering"].to_pylist() == [value is not None for value in expected]


@given(st.data())
@settings(max_examples=examples(400), deadline=None)
def test_flipped_bytes_give_deletes_or_our_error(data):
    records = [("a", "p", ("Long", 5)), ("b" * 70, "p", None), ("c", None, ("String", "x")), ("d", "", [("Int", 1)])]
    content = bytearray(delete_content(records[: data.draw(st.integers(1, 4))]))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(8, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        table = decode_deletes(of_content(bytes(content)))
    except FormatError:
        return
    table.validate(full=True)
