"""``regexp_extract`` and ``regexp_replace``: values that Spark gave, and patterns whose meaning is not certain."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from hudi_hive.predicate import column_function, parse_filter
from tests.support.java_patterns import EXTRACTED, REPLACED, TEXTS

UNCERTAIN = (
    r"\bx", r"a*+", r"(a*)*", r"(a|b*)+", "(?=a)", "(?i)a", "(?<n>a)", r"(a)\1", r"\p{L}", r"\Qa\E", r"\R", r"\012",
    "a**", "a{2}{3}", "{2}", "*a", "a|", "(|a)", "()", "(", "a)", "[a", "[]a]", "[[a]]", "[a&&b]", "[a^]", "[c-a]",
    r"[\w-z]", r"[a-\d]", "[a-b-c]", "a{1001}", "(a{50}){50}", "a{3,2}", "$a", "(a$)b", "(a$)*", "^*", "😀", "a\\",
    "\\é", "a{2", "a{,2}", "]", "}", r"\x4", r"\ud800", "(" * 60 + "a" + ")" * 60, "a" * 1001, "",
)  # fmt: skip


def _check(function, results):
    texts = pa.array(TEXTS, pa.string())
    assert function.of(texts, texts.type).to_pylist() == results
    assert function.of(pa.chunked_array([texts[:3], texts[3:]]), texts.type).to_pylist() == results
    assert function.of(texts[:0], texts.type).type == function.result_type(texts.type) == pa.string()
    table = ds.dataset(pa.table({"t": texts})).to_table(columns={"v": function.of(pc.field("t"), texts.type)})
    assert table["v"].to_pylist() == results
    assert function.is_lasting(texts)
    assert function.result_type(pa.int64()) is None


@pytest.mark.parametrize(("pattern", "group"), EXTRACTED)
def test_groups_of_patterns(pattern, group):
    _check(column_function("regexp_extract", {"pattern": pattern, "idx": group}), EXTRACTED[pattern, group])


@pytest.mark.parametrize(("pattern", "replacement"), REPLACED)
def test_replacements(pattern, replacement):
    function = column_function("regexp_replace", {"pattern": pattern, "replacement": replacement})
    _check(function, REPLACED[pattern, replacement])


@pytest.mark.parametrize("pattern", UNCERTAIN)
def test_patterns_that_are_not_certain_are_refused(pattern):
    assert column_function("regexp_extract", {"pattern": pattern, "idx": "0"}) is None
    assert column_function("regexp_replace", {"pattern": pattern, "replacement": ""}) is None


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("regexp_extract", {"pattern": "(a)", "idx": "2"}),
        ("regexp_extract", {"pattern": "(a)", "idx": "-1"}),
        ("regexp_extract", {"pattern": "(a)", "idx": "x"}),
        ("regexp_extract", {"pattern": "a"}),  # the first group, of none
        ("regexp_extract", {"pattern": "(?:(a)b)*", "idx": "1"}),
        ("regexp_extract", {"idx": "0"}),
        ("regexp_replace", {"pattern": "a"}),
        ("regexp_replace", {"pattern": "a*", "replacement": "-"}),
        ("regexp_replace", {"pattern": "a*$", "replacement": ""}),
        ("regexp_replace", {"pattern": "(a)", "replacement": "$2"}),
        ("regexp_replace", {"pattern": "(a)", "replacement": "$"}),
        ("regexp_replace", {"pattern": "(a)", "replacement": "\\"}),
        ("regexp_replace", {"pattern": "(a)", "replacement": "${n}"}),
        ("regexp_replace", {"pattern": "a", "replacement": "b", "pos": "2"}),
        ("split", {"pattern": ","}),
    ],
)
def test_arguments_that_are_refused(name, options):
    assert column_function(name, options) is None


def test_more_groups_than_digits_in_a_reference():
    pattern = "(a)" * 12
    function = column_function("regexp_replace", {"pattern": pattern, "replacement": "$12$13"})
    assert function.of(pa.array(["a" * 12 + "b"]), pa.string()).to_pylist() == ["aa3b"]
    ten = "".join(f"${number}" for number in range(1, 11))
    assert column_function("regexp_replace", {"pattern": pattern, "replacement": ten}) is None


@pytest.mark.parametrize("pattern", ["(?:a+)+$", "(?:a|aa)+$", "^(?:.*a){20}b", "(?:a?){30}a{30}", r"(?:\w+\s?)+!"])
def test_patterns_that_a_backtracking_engine_never_ends_with(pattern):
    function = column_function("regexp_extract", {"pattern": pattern, "idx": "0"})
    if function is not None:  # one repeats what may match nothing
        assert function.of(pa.array(["a" * 5_000 + "?"]), pa.string()).to_pylist() in ([""], ["a" * 60])


def test_filters_compare_them():
    rows = pa.table({"t": pa.array(TEXTS, pa.string())})
    for condition, wanted in {
        r"regexp_extract(t, '(\w)-(\d)') = 'k'": ["k-17"],
        r"regexp_extract(t, '(\w)-(\d)', 2) IN ('3')": ["\U0010ffffab-3\n"],
        r"regexp_replace(t, '[^a-z]+', '') = 'a'": ["a-1\r\n", "a\n-1\n\n"],
    }.items():
        assert rows.filter(parse_filter(condition, rows.schema).evaluate(rows))["t"].to_pylist() == wanted
