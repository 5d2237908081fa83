"""``regexp_extract`` and ``regexp_replace`` come to what Spark's come to, pattern by pattern and text by text."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from hudi_hive.predicate import column_function
from tests.support.java_patterns import EXTRACTED, REPLACED, REPLACEMENTS, TEXTS, random_pattern, random_text
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

_PATTERNS = 400
_TEXTS = 40


def _compare(spark, call, functions, texts):
    """Spark's values beside ours: of each function, by its arguments, over all texts."""
    arguments = [(number, *key, texts) for number, key in enumerate(functions)]
    second = "int" if isinstance(arguments[0][2], int) else "string"
    frame = spark.createDataFrame(arguments, f"n int, a0 string, a1 {second}, texts array<string>")
    rows = frame.selectExpr("n", f"transform(texts, t -> {call}) AS v").collect()
    theirs, column, different = {row.n: row.v for row in rows}, pa.array(texts, pa.string()), []
    for number, (key, function) in enumerate(functions.items()):
        ours = function.of(column, column.type).to_pylist()
        wrong = [each for each in zip(texts, theirs[number], ours, strict=True) if each[1] != each[2]]
        different += [(key, *wrong[0])] if wrong else []
    assert different == [], "arguments, text, Spark's value and ours"


@pytest.mark.parametrize("seed", with_long_cases((1,), tuple(range(2, 12))))
def test_groups_of_random_patterns_are_spark_s(spark, seed):
    random = Random(seed)
    texts = [*{random_text(random) for _ in range(_TEXTS)}, "", None]
    functions = {}
    while len(functions) < _PATTERNS:
        pattern, group = random_pattern(random), random.choice((0, 0, 1, 2))
        function = column_function("regexp_extract", {"pattern": pattern, "idx": str(group)})
        if function is not None:
            functions[pattern, group] = function
    _compare(spark, "regexp_extract(t, a0, a1)", functions, texts)


@pytest.mark.parametrize("seed", with_long_cases((1,), tuple(range(2, 12))))
def test_replacements_by_random_patterns_are_spark_s(spark, seed):
    random = Random(seed)
    texts = [*{random_text(random) for _ in range(_TEXTS)}, "", None]
    functions = {}
    while len(functions) < _PATTERNS:
        pattern, replacement = random_pattern(random), random.choice(REPLACEMENTS)
        function = column_function("regexp_replace", {"pattern": pattern, "replacement": replacement})
        if function is not None:
            functions[pattern, replacement] = function
    _compare(spark, "regexp_replace(t, a0, a1)", functions, texts)


@pytest.mark.parametrize(("name", "expected"), [("regexp_extract", EXTRACTED), ("regexp_replace", REPLACED)])
def test_values_of_other_tests_are_spark_s(spark, name, expected):
    arguments = [(*key, list(TEXTS)) for key in expected]
    frame = spark.createDataFrame(arguments, "a0 string, a1 string, texts array<string>")
    second = "int(a1)" if name == "regexp_extract" else "a1"
    rows = frame.selectExpr("a0", "a1", f"transform(texts, t -> {name}(t, a0, {second})) AS v").collect()
    assert {(row.a0, row.a1): row.v for row in rows} == expected
