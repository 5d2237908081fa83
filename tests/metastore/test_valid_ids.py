"""Lists of valid transactions and write ids: Hive's text forms, the metastore's bits, one id, ranges and columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import TransactionError
from hudi_hive.metastore import RangeState, ValidTransactions, ValidWriteIds
from hudi_hive.metastore.transactions.valid_ids import NONE_OPEN, split_aborted

IDS = st.sets(st.integers(1, 40), max_size=12)


@st.composite
def lists(draw):
    opened = draw(IDS)
    aborted = draw(IDS) - opened
    ids = tuple(sorted(opened)), tuple(sorted(aborted))
    return ValidWriteIds(draw(st.integers(0, 45)), *ids, min(opened, default=NONE_OPEN), "db.t")


def test_hives_text_forms():
    found = ValidWriteIds.parse("default.t:9:4:4,7:2,3")
    assert found == ValidWriteIds(9, (4, 7), (2, 3), 4, "default.t")
    assert [number for number in range(12) if found.is_valid(number)] == [0, 1, 5, 6, 8, 9]
    assert ValidWriteIds.parse(f"default.t:2:{NONE_OPEN}::") == ValidWriteIds(2, table="default.t")
    assert ValidWriteIds.parse("null:5") == ValidWriteIds(5)
    assert ValidWriteIds(5).format() == f"null:5:{NONE_OPEN}::"
    assert ValidTransactions.parse(f"6:{NONE_OPEN}::3") == ValidTransactions(6, (), (3,))
    assert ValidTransactions.parse("6:2:2,5:3").format() == "6:2:2,5:3"


@pytest.mark.parametrize("text", ["", "t", "t:x", "t:1:2:3:4:5", "t:1:2:3,,4:", "t:1:2:a:"])
def test_no_list_of_write_ids(text):
    with pytest.raises(TransactionError, match="no list"):
        ValidWriteIds.parse(text)


def test_exceptions_must_ascend_and_be_open_or_aborted():
    with pytest.raises(TransactionError, match="ascend"):
        ValidTransactions(9, (3, 2))
    with pytest.raises(TransactionError, match="open and aborted"):
        ValidTransactions(9, (3,), (3,))


@given(lists())
def test_text_and_back(ids):
    assert ValidWriteIds.parse(ids.format()) == ids


@given(lists(), st.integers(1, 45), st.integers(0, 10))
def test_a_range_is_what_its_ids_are(ids, first, length):
    numbers = range(first, first + length + 1)
    each = [ids.is_valid(number) for number in numbers]
    expected = RangeState.ALL if all(each) else RangeState.SOME if any(each) else RangeState.NONE
    assert ids.range_state(first, first + length) is expected
    assert ids.valid_mask(np.array(numbers)).tolist() == each


@given(lists(), st.integers(0, 45))
def test_a_base_holds_no_open_id(ids, number):
    complete = number <= ids.high_water and not any(opened <= number for opened in ids.open)
    assert ids.is_valid_base(number) == complete


@given(lists(), lists())
def test_what_became_visible(earlier, later):
    """Aborted ids stay invisible for ever."""
    new = [n for n in range(1, 50) if later.is_valid(n) and not earlier.is_valid(n) and n not in earlier.aborted]
    beyond = [n for n in earlier.aborted if n > earlier.high_water and later.is_valid(n)]
    assert later.has_more_than(earlier) == bool(new or beyond)


@given(st.lists(st.tuples(st.integers(1, 1000), st.booleans()), max_size=30, unique_by=lambda entry: entry[0]))
def test_bits_mark_the_aborted(entries):
    bits = bytearray((len(entries) + 7) // 8)
    for position, (_, aborted) in enumerate(entries):
        bits[position // 8] |= aborted << (position % 8)
    expected = tuple(tuple(sorted(number for number, aborted in entries if aborted is kind)) for kind in (False, True))
    ids = [number for number, _ in entries]
    assert split_aborted(ids, bytes(bits)) == expected
    assert split_aborted(ids, bytes(bits).rstrip(b"\0")) == expected  # Java's BitSet leaves trailing zeros out


def test_inside_a_transaction():
    everybody = ValidTransactions(9, (3, 6, 8), (2, 7), 3)
    assert everybody.seen_by(6) == ValidTransactions(6, (3,), (2,), 3)
    assert everybody.seen_by(3) == ValidTransactions(3, (), (2,), NONE_OPEN)
    assert everybody.seen_by(6).is_valid(6)
    assert not everybody.is_valid(6)
