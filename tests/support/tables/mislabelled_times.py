"""Tables whose files label timestamps wrongly, written by real Hudi, and what real Hudi 1.1.1 answers of them.

``tests/data/mislabelled_times`` holds the tables, ``answers.json`` the answers; its README says how both were made.
"""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tests.support.fixture_tables import DATA

FOLDER = DATA / "mislabelled_times"
TIMES = ("ts_millis", "ts_micros", "local_ts_millis", "local_ts_micros")

RecordedAnswer = dict[str, Any]


@functools.cache
def answers() -> dict[str, dict[str, list[RecordedAnswer]]]:
    """Name of a table -> ``queries`` and ``filters``, as real Hudi 1.1.1 answers them."""
    found: dict[str, dict[str, list[RecordedAnswer]]] = json.loads((FOLDER / "answers.json").read_text())
    return found


def names(part: str = "") -> tuple[str, ...]:
    """Names of the tables that have ``part`` in them."""
    return tuple(name for name in sorted(answers()) if part in name)


@functools.cache
def shared(name: str) -> Path:
    """Base path of an unpacked table, which must not be changed."""
    folder = Path(tempfile.mkdtemp(prefix="hudi_hive_times_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return copy_of(name, folder)


def copy_of(name: str, folder: Path) -> Path:
    """Base path of a table unpacked into a folder."""
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        archive.extractall(folder)
    return folder / name


DELETED_LATE = {"v6_mor_to_v6": ("k05", "k07"), "v6_mor_parquet_logs_to_v6": ("k05", "k07")}
"""Rows that a delete with an older ordering value takes away in table version 6: so it is for Hudi 0.15.0, whose
answers count there, and not for 1.1.1."""

ARRAYS_LEFT_WRONG = ("v6_mor_to_v9", "v8_mor_parquet_logs_to_v9")
"""Tables with base files whose arrays have another Parquet structure than Hudi 1.1.1 expects: it shows their elements
as the files label them, a thousandth of the time. Its own readers of Avro records show what we do."""


def expected_rows(name: str, query: RecordedAnswer) -> list[list[Any]]:
    """Real Hudi's rows, but for :data:`DELETED_LATE` and :data:`ARRAYS_LEFT_WRONG`."""
    gone = DELETED_LATE.get(name, ()) if query["label"] in ("snapshot", "incremental") else ()
    rows = [list(row) for row in query["rows"] if row[1] not in gone]
    for row in rows if name in ARRAYS_LEFT_WRONG else ():
        if row[_ARRAY] is not None and row[_ARRAY][0] * 1000 == row[_OF_ROW]:
            row[_ARRAY] = [value * 1000 for value in row[_ARRAY]]
    return rows


_ARRAY, _OF_ROW = 9, 3


def expected_ids(name: str, answer: RecordedAnswer) -> list[str]:
    """The ids of the rows that pass a filter, but for :data:`DELETED_LATE`."""
    return [key for key in answer["ids"] if key not in DELETED_LATE.get(name, ())]


def encoded(rows: pa.Table) -> list[list[Any]]:
    """Rows as the answers have them, sorted by id: timestamps in microseconds."""
    inner = rows["s"].combine_chunks()
    columns = [
        rows["_hoodie_commit_time"],
        rows["id"],
        rows["n"],
        *(_numbers(rows[name]) for name in TIMES),
        *(_numbers(pc.struct_field(inner, name)) for name in ("at", "near")),
    ]
    lists = [None if value is None else [_micros(item) for item in value] for value in rows["a"].to_pylist()]
    maps = [None if value is None else _micros(dict(value)["one"]) for value in rows["m"].to_pylist()]
    found = [list(row) for row in zip(*(column.to_pylist() for column in columns), lists, maps, strict=True)]
    return sorted(found, key=lambda row: row[1])


def _numbers(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    if not pa.types.is_timestamp(column.type):
        return column
    return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())


def _micros(value: Any) -> Any:
    kind = pa.timestamp("us", "UTC" if value is not None and value.tzinfo else None)
    return None if value is None else pa.scalar(value, kind).cast(pa.int64()).as_py()
