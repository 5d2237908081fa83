"""Values that Hive stores in another way than it reads them: padded texts, and days of the Julian calendar."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import UnsupportedAcidValueError
from hudi_hive.formats.orc import JULIAN, as_hive_reads, parse_hive_type, parse_tail
from hudi_hive.mutation.acid_table.reader import AcidReader
from tests.support.mutation.acid_rows import insert, snapshot, table_at

OLD, MIDDLE, NEW = date(1500, 1, 1), date(1582, 10, 15), date(2024, 2, 29)
EPOCH = date(1970, 1, 1)


def _julian_days(day: date) -> int:
    """Days since 1970-01-01 of a date that is read in the Julian calendar: the textbook's sum of years and months."""
    before = (14 - day.month) // 12
    year, month = day.year + 4800 - before, day.month + 12 * before - 3
    return day.day + (153 * month + 2) // 5 + 365 * year + year // 4 - 32083 - 2440588


def _written(folder: Path, kind: str, values: list[Any], calendar: int | None) -> AcidReader:
    table = table_at(folder, columns=f"id:int v:{kind}")
    arrow = parse_hive_type(kind).arrow
    rows = pa.table([pa.array(range(len(values)), pa.int32()), pa.array(values, arrow)], names=["id", "v"])
    path = Path(insert(table, 1, 0, rows))
    if calendar is not None:
        data = path.read_bytes()
        tail = parse_tail(data, str(path))
        path.write_bytes(data[: len(data) - tail.length] + tail.patched({}, calendar))
    return AcidReader(table, snapshot(9))


def test_old_days_of_hive_4_are_julian(tmp_path: Path) -> None:
    assert _julian_days(date(1582, 10, 4)) + 1 == (MIDDLE - EPOCH).days
    stored = [_julian_days(OLD), _julian_days(date(1, 1, 1)), None, (MIDDLE - EPOCH).days, (NEW - EPOCH).days]
    reader = _written(tmp_path, "date", stored, JULIAN)
    assert reader.read()["v"].to_pylist() == [OLD, date(1, 1, 1), None, MIDDLE, NEW]
    assert reader.read(["id"], "v = '1500-01-01'")["id"].to_pylist() == [0]


@given(st.dates(date(1, 3, 1), date(1582, 10, 4)))
def test_each_julian_day_keeps_its_name(day: date) -> None:
    kind = parse_hive_type("date")
    stored = pa.array([_julian_days(day)], pa.int32()).cast(pa.date32())
    assert as_hive_reads(stored, kind, JULIAN, "f").to_pylist() == [day]


def test_the_day_that_gregorian_years_lack_is_the_next(tmp_path: Path) -> None:
    stored = [_julian_days(date(1500, 3, 1)) - 1]  # 1500-02-29
    assert _written(tmp_path, "date", stored, JULIAN).read()["v"].to_pylist() == [date(1500, 3, 1)]


def test_days_of_our_own_files_stay(tmp_path: Path) -> None:
    assert _written(tmp_path, "date", [OLD, NEW], None).read()["v"].to_pylist() == [OLD, NEW]


def test_old_days_without_calendar_are_refused(tmp_path: Path) -> None:
    assert _written(tmp_path / "new", "date", [MIDDLE, NEW], 0).read()["v"].to_pylist() == [MIDDLE, NEW]
    reader = _written(tmp_path / "old", "date", [MIDDLE - timedelta(1), NEW], 0)
    assert reader.read(["id"]).num_rows == 2
    with pytest.raises(UnsupportedAcidValueError, match=r"does not say its calendar.*bucket_00000"):
        reader.read()


def test_values_inside_of_others(tmp_path: Path) -> None:
    day = _julian_days(OLD)
    kind = "struct<a:array<date>,m:map<char(3),struct<d:date,c:char(2)>>>"
    values = [
        {"a": [day, None], "m": [("x  ", {"d": day, "c": "y "}), ("z", None)]},
        None,
        {"a": None, "m": None},
        {"a": [], "m": []},
    ]
    expected = [
        {"a": [OLD, None], "m": [("x", {"d": OLD, "c": "y"}), ("z", None)]},
        None,
        {"a": None, "m": None},
        {"a": [], "m": []},
    ]
    found = _written(tmp_path, kind, values, JULIAN).read()["v"]
    assert found.type == parse_hive_type(kind).arrow
    assert found.to_pylist() == expected
    sliced = as_hive_reads(
        pa.array([None, *values], parse_hive_type(kind).arrow)[1:3], parse_hive_type(kind), JULIAN, ""
    )
    sliced.validate(full=True)
    assert sliced.to_pylist() == expected[:2]


def test_padding_of_char_is_no_part_of_the_value(tmp_path: Path) -> None:
    reader = _written(tmp_path, "char(5)", ["ab   ", "ab", " c", "", None, "     "], None)
    assert reader.read()["v"].to_pylist() == ["ab", "ab", " c", "", None, ""]
    assert reader.read(["id"], "v = 'ab'")["id"].to_pylist() == [0, 1]
    assert _written(tmp_path / "s", "varchar(5)", ["ab   "], None).read()["v"].to_pylist() == ["ab   "]
