"""Filters as Hive 2.3, 3.1 and 4.0 write them into jobs, against what the input format makes of them.

``--record`` writes the layouts of Hive's classes and the filters, with the rows that Hive's own evaluator finds true,
for the tests that run without Hive. Without it, Hive writes random conditions over columns of all types, and each row
that Hive finds true must survive pruning.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from hudi_hive import HudiTable
from integration.support.hive_filters import VERSIONS, HiveFilters
from tests.support.fixture_tables import fixture_names, unzip_fixture
from tests.support.hive_filters import (
    COLUMNS,
    CONDITIONS,
    DATA,
    ROWS,
    Judged,
    fixture_conditions,
    random_condition,
    wrong_rows,
)

_ROOT: Final = Path(__file__).parents[2]
_LAYOUTS: Final = _ROOT / "hudi_hive/input_format/filters/hive_classes.json"

_PLAN = "org.apache.hadoop.hive.ql.plan."
_TYPES = "org.apache.hadoop.hive.serde2.typeinfo."
_VALUES = "org.apache.hadoop.hive.common.type."
_SARG = "org.apache.hadoop.hive.ql.io.sarg."
_SEEDS: Final = (
    *(_PLAN + name for name in ("ExprNodeGenericFuncDesc", "ExprNodeColumnDesc", "ExprNodeConstantDesc")),
    *(_PLAN + name for name in ("ExprNodeFieldDesc", "ExprNodeDynamicValueDesc", "DynamicValue")),
    *(_TYPES + f"{name}TypeInfo" for name in ("Primitive", "Char", "Varchar", "Decimal", "TimestampLocalTZ")),
    *(_TYPES + f"{name}TypeInfo" for name in ("List", "Map", "Struct", "Union")),
    *(_VALUES + name for name in ("HiveDecimal", "HiveChar", "HiveVarchar", "Date", "Timestamp", "TimestampTZ")),
    *(_VALUES + name for name in ("HiveIntervalDayTime", "HiveIntervalYearMonth")),
    *(_SARG + name for name in ("SearchArgumentImpl", "SearchArgumentImpl$PredicateLeafImpl", "ExpressionTree")),
    *("java.sql.Date", "java.sql.Timestamp", "java.time.LocalDate", "java.time.LocalDateTime", "java.time.LocalTime"),
    *("java.lang.String", "java.math.BigDecimal", "java.math.BigInteger", "[B", "[J"),
    *(f"java.util.{name}" for name in ("ArrayList", "LinkedList", "HashSet", "LinkedHashSet", "Arrays$ArrayList")),
    *("java.util.Collections$EmptyList", "java.util.Collections$SingletonList"),
    "[Lorg.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;",
    "[Lorg.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorConverters$Converter;",
    "org.apache.hive.com.google.common.collect.AbstractMapBasedMultimap$RandomAccessWrappedList",
    "com.google.common.collect.AbstractMapBasedMultimap$RandomAccessWrappedList",
    *("org.apache.hadoop.hive.serde2.io.HiveDecimalWritable", "org.apache.hadoop.io.BooleanWritable"),
)
_PACKAGES: Final = (
    "org.apache.hadoop.hive.ql.udf",
    "org.apache.hadoop.hive.ql.udf.generic",
    "org.apache.hadoop.hive.serde2.objectinspector",
    "org.apache.hadoop.hive.serde2.objectinspector.primitive",
)
_SKIPPED: Final = re.compile(r"UDAF|UDTF|(?<!Converter)(?<!Converters)\$[A-Z0-9]|Test")
_RETAINED: Final = re.compile(
    r"\[|java\.(lang|util|math|sql|time\.Local)|org\.apache\.hadoop\.(hive|io)\.|.*Multimap\$"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The number of conditions of which a row was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the data of the tests")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conditions", type=int, default=300, help="random ones, of each release")
    parser.add_argument("--version", action="append", choices=VERSIONS)
    chosen = parser.parse_args(arguments)
    versions = chosen.version or VERSIONS
    if chosen.record:
        record(versions)
        return 0
    wrong = 0
    for version in versions:
        with HiveFilters(version) as hive:
            wrong += _judged(hive, chosen.seed, chosen.conditions)
    return wrong


def _judged(hive: HiveFilters, seed: int, number: int) -> int:
    hive.rows(COLUMNS, ROWS)
    source = random.Random(seed)
    lost = refused = 0
    kept = needed = 0
    for condition in _conditions(source, number):
        try:
            written = hive.write(COLUMNS, condition)
        except RuntimeError:
            refused += 1
            continue
        judged = Judged(hive.version, condition, *written)
        for form in ("serialized", "text", "sarg"):
            missing, left = wrong_rows(judged, form)
            lost += bool(missing)
            if missing:
                print(f"Hive {hive.version}, {form}: {condition!r} lost rows {missing}")
            if form == "serialized":
                kept, needed = kept + left, needed + len(written.rows)
    print(f"Hive {hive.version}: {number - refused} conditions, {refused} that Hive refused, {lost} lost rows,")
    print(f"  {kept} rows left where Hive needs {needed}, of {(number - refused) * len(ROWS)}")
    return lost


def _conditions(source: random.Random, number: int) -> Iterator[str]:
    for _ in range(number):
        yield random_condition(source)


# -- recording ---------------------------------------------------------------------------------------------------------


def record(versions: Sequence[str]) -> None:
    """Write layouts and filters."""
    layouts: dict[str, Any] = {}
    filters: dict[str, Any] = {"columns": COLUMNS, "rows": ROWS, "filters": [], "fixtures": []}
    fixtures = [("options", "id:bigint;p:string", "p = 'a'", "p = 'a'"), *_fixtures()]
    for version in sorted(versions, reverse=True):
        with HiveFilters(version) as hive:
            layouts[version] = _layouts(hive)
            hive.rows(COLUMNS, ROWS)
            filters["filters"] += list(_written(hive, CONDITIONS))
            hive.rows(COLUMNS, ())
            for case, columns, condition, sql in fixtures:
                for one in _written(hive, [condition], columns):
                    filters["fixtures"].append([case, version, columns, sql, *one[2:5]])
    for timezone in ("America/Los_Angeles", "Asia/Tokyo"):
        with HiveFilters("2.3.10", timezone) as hive:
            hive.rows(COLUMNS, ROWS)
            dates = [condition for condition in CONDITIONS if re.search(r"\b(dt|ts)\b", condition)]
            filters["filters"] += list(_written(hive, dates))
    _LAYOUTS.write_text(_lines(layouts), encoding="utf-8")
    DATA.parent.mkdir(parents=True, exist_ok=True)
    DATA.write_bytes(gzip.compress(json.dumps(filters).encode(), mtime=0))


def _fixtures() -> Iterator[tuple[str, str, str, str]]:
    """Case, columns, condition in HiveQL and in SQL, of one fixture of each case."""
    cases = {name.split("_", 1)[1]: name for name in fixture_names(version=8)}
    for case, name in cases.items():
        table = HudiTable.open(unzip_fixture(name))
        columns, conditions = fixture_conditions(table.scan().to_arrow(), table.client.config.partition_fields)
        for condition, sql in conditions:
            yield case, columns, condition, sql


def _written(hive: HiveFilters, conditions: Sequence[str], columns: str = COLUMNS) -> Iterator[list[Any]]:
    for condition in conditions:
        try:
            written = hive.write(columns, condition)
        except RuntimeError as error:
            print(str(error)[:300])
            continue
        yield [hive.version, condition, written.serialized, written.text, written.sarg, written.rows]


def _layouts(hive: HiveFilters) -> dict[str, Any]:
    names = [name for package in _PACKAGES for name in hive.classes(package) if not _SKIPPED.search(name)]
    registered: list[str] = []
    classes: dict[str, list[Any]] = {}
    for kind, name, *parts in hive.layouts([*_SEEDS, *names]):
        if kind == "id":
            registered.append(parts[0])
        elif _RETAINED.match(name):
            classes[name] = parts
    numbers: dict[str, int] = {}

    def number(name: str) -> int | None:
        return None if name == "-" else numbers.setdefault(name, len(numbers))

    written: dict[str, Any] = {}
    for name, (serializer, *parts) in sorted(classes.items()):
        content: list[Any] = [serializer]
        for part in parts:
            field, *kinds = part.split(" ")
            content.append([field, *map(number, kinds)] if serializer == "FieldSerializer" else field)
        written[str(number(name))] = content
    kryo = 5 if hive.version.startswith("4") else 3
    ids = [number(name) for name in registered]
    return {"kryo": kryo, "registered": ids, "names": list(numbers), "classes": written}


def _lines(layouts: dict[str, Any]) -> str:
    return json.dumps(layouts, separators=(",", ":")).replace('],"', '],\n"') + "\n"


if __name__ == "__main__":
    begin = time.monotonic()
    code = main()
    print(f"{time.monotonic() - begin:.0f} s")
    sys.exit(code)
