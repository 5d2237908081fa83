"""Filters that Hive wrote, decoded: no row that Hive's own evaluator found true is lost, and few others are left."""

import base64
import random

import pyarrow as pa
import pytest

from hudi_hive.errors import PredicateError
from hudi_hive.input_format.filters import FILTER_EXPRESSION, FILTER_TEXT, SARG, JobFilter
from hudi_hive.input_format.filters.expressions import Other, read_expression, read_search_argument
from hudi_hive.input_format.filters.text import read_text
from tests.support.hive_filters import ROWS, SCHEMA, recorded, rows_left, wrong_rows

FORMS = ("serialized", "text", "sarg")
ALL = set(range(len(ROWS)))


CUT = {"i < 5.5", "s = 5", "s > 4", "s in (5, 7)", "l = 9007199254740992D", "d = 0.1", "d in (0.1, 2.5)"}
"""Hive's own search arguments say something else: they cut literals to the column's type, or compare texts as such."""


@pytest.mark.parametrize("form", FORMS)
def test_no_row_that_hive_finds_true_is_lost(form):
    samples = [judged for judged in recorded() if form != "sarg" or judged.condition not in CUT]
    lost = [(judged.version, judged.condition, wrong_rows(judged, form)[0]) for judged in samples]
    assert [one for one in lost if one[2]] == []
    assert {version for version, *_ in lost} == {"2.3.10", "3.1.3", "4.0.1"}


def test_all_serialised_expressions_are_decoded():
    for judged in recorded():
        if "year(" in judged.condition:  # a function with a calendar in it
            continue
        assert not isinstance(read_expression(judged.serialized).condition, Other), judged.condition
        if judged.sarg:
            assert read_search_argument(judged.sarg) is not None


def test_most_filters_leave_what_hive_finds_true_and_no_more():
    left = needed = 0
    exact = 0
    for judged in recorded():
        _, rows = wrong_rows(judged, "serialized")
        left, needed, exact = left + rows, needed + len(judged.rows), exact + (rows == len(judged.rows))
    assert exact > 0.5 * len(recorded())
    assert left - needed < 0.5 * (len(ROWS) * len(recorded()) - needed)


# -- hostile bytes -----------------------------------------------------------------------------------------------------


def changed(data, source):
    """Bytes with some of them changed, left out, doubled or replaced by lengths that go beyond them."""
    data = bytearray(data)
    for _ in range(source.randint(1, 4)):
        place = source.randrange(len(data))
        match source.randrange(5):
            case 0:
                data[place] = source.randrange(256)
            case 1:
                del data[place:]
            case 2:
                del data[place : place + source.randint(1, 40)]
            case 3:
                data[place:place] = data[place : place + source.randint(1, 60)]
            case _:
                data[place : place + 5] = b"\xff\xff\xff\xff\x07"
        if not data:
            return b"\x01"
    return bytes(data)


def test_bytes_that_are_damaged_are_refused_or_read_as_a_filter(thorough):
    source = random.Random(20)
    samples = recorded() if thorough else recorded()[::7]
    for judged in samples:
        for text, read in ((judged.serialized, read_expression), (judged.sarg, read_search_argument)):
            if not text:
                continue
            for _ in range(20 if thorough else 4):
                hostile = base64.b64encode(changed(base64.b64decode(text), source)).decode()
                try:
                    tree = read(hostile)
                except PredicateError:
                    continue
                assert rows_left({FILTER_EXPRESSION if read is read_expression else SARG: hostile}) <= ALL, tree


@pytest.mark.parametrize("key", [FILTER_EXPRESSION, SARG])
@pytest.mark.parametrize(
    "text", ["?", "AAAA", "AQ==", "AQEB", "/////w8=", base64.b64encode(b"\x01" * 100_000).decode(), "A" * 40_000, "é"]
)
def test_what_is_no_filter_leaves_everything(key, text):
    assert rows_left({key: text}) == ALL


def test_a_truncated_expression_leaves_everything():
    text = next(one.serialized for one in recorded() if one.condition == "i < 40 and s = 'abc'")
    data = base64.b64decode(text)
    for length in range(0, len(data), 11):
        assert rows_left({FILTER_EXPRESSION: base64.b64encode(data[:length]).decode()}) == ALL
    assert rows_left({FILTER_EXPRESSION: base64.b64encode(data + b"\x00").decode()}) == ALL


def test_a_tree_that_refers_to_itself_is_refused():
    """Parts may be shared; what they come to when written out is bounded, and a part is not in itself."""
    data = base64.b64decode(next(one.serialized for one in recorded() if one.condition == "not (not (i < 40))"))
    for place in range(len(data)):
        for reference in (2, 3, 4):
            hostile = data[:place] + bytes([reference]) + data[place + 1 :]
            rows_left({FILTER_EXPRESSION: base64.b64encode(hostile).decode()})


# -- texts -------------------------------------------------------------------------------------------------------------

TEXTS = pa.schema([field for field in SCHEMA if field.name != "x"])


def text_rows(text):
    return rows_left({FILTER_TEXT: text}, TEXTS)


def test_texts_without_quotes_are_read_whole():
    assert text_rows("(i < 4)") == {0, 3, 4}
    assert text_rows("((i < 4) and (l = 4))") == {0}
    assert text_rows("((i < 4) or (l = 5))") == {0, 3, 4, 5}
    assert text_rows("i BETWEEN 3 AND 5") == {0, 5}
    assert text_rows("(i) IN (3, 5)") == {0, 5}
    assert text_rows("(s = 'abc')") == {0}
    assert text_rows("((s = 'abc') and (i < 4))") == {0}


def test_of_a_text_conditions_that_are_not_understood_leave_everything():
    assert text_rows("((i < 4) and (UDFToDouble(s) = 5.0))") == {0, 3, 4}
    assert text_rows("((i < 4) or (UDFToDouble(s) = 5.0))") == ALL
    assert text_rows("upper(s) is null") == ALL


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("x') and (i < 3", "y"),
        ("x') or (i < 3) or (s = 'y", "z"),
        ("') and (i = 3) and (s = '", "a"),
        ("'", "'"),
        ("a", "b"),
    ],
)
def test_values_with_quotes_cannot_pass_for_conditions(value, other):
    for text in (f"((s = '{value}') or (v = '{other}'))", f"((s = '{value}') and ((v = '{other}') or (i < 9)))"):
        assert text_rows(text) == ALL
    assert text_rows(f"((i < 40) and (s = '{value}') and (v = '{other}'))") == text_rows("(i < 40)")
    assert text_rows(f"((s = '{value}') and (v = '{other}') and (i < 40))") == text_rows("(i < 40)")
    assert text_rows(f"(((s = '{value}') and (l < 2)) or ((v = '{other}') and (i < 5)) or (i > 39))") == ALL
    assert text_rows(f"(((s = '{value}') and (l < 2)) or ((v = '{other}') and (i < 5)))") == ALL


def test_texts_are_not_read_beside_columns_that_could_be_taken_for_conditions():
    odd = TEXTS.append(pa.field("i < 3 or i", pa.int32()))
    assert rows_left({FILTER_TEXT: "(i < 3)"}, odd) == ALL
    assert rows_left({FILTER_TEXT: "(i < 3)"}, SCHEMA) == ALL  # a column of bytes, whose constants have no quotes


def test_the_serialised_expression_counts_before_the_text():
    text = next(one.serialized for one in recorded() if one.condition == "i < 40")
    assert rows_left({FILTER_EXPRESSION: text, FILTER_TEXT: "(i > 40)"}) == rows_left({FILTER_EXPRESSION: text}) != ALL
    assert rows_left({FILTER_EXPRESSION: "?", FILTER_TEXT: "(i < 4)"}, TEXTS) == text_rows("(i < 4)")


def test_no_filter():
    assert JobFilter.of({}).is_empty
    assert isinstance(read_text(""), Other)
    assert JobFilter.of({FILTER_TEXT: " "}).on_files(SCHEMA) is None
