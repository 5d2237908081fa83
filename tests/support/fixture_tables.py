"""What every test needs of the fixture tables: names, files, real Hudi's answers, how to compare with them.

The fixtures lie in ``tests/data/fixtures``; their README says what each file holds. ``unzip_fixture(name)`` gives a
copy for reading only, shared by the whole test process; ``unzip_fixture(name, tmp_path)`` a fresh one to change.
"""

from __future__ import annotations

import atexit
import base64
import datetime as dt
import decimal
import functools
import hashlib
import json
import math
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"

FIXTURES = DATA / "fixtures"
LANCE = DATA / "lance"
"""Fixtures with Lance base files, which the functions below take by name, and none lists but :func:`lance_names`."""

GOLDEN = DATA / "hive-sync-golden"

VERSIONS = (6, 8, 9)

# -- names and files -----------------------------------------------------------------------------------------------


@functools.cache
def expected(name: str) -> dict[str, Any]:
    """Real Hudi's answers for a fixture (``NAME.expected.json``); do not change what comes back."""
    with open(_folder(name) / f"{name}.expected.json", encoding="utf-8") as stream:
        return json.load(stream)


def _folder(name: str) -> Path:
    return LANCE if "_lance" in name else FIXTURES


def lance_names() -> tuple[str, ...]:
    """Names of the fixtures with Lance base files, sorted."""
    return tuple(sorted(path.name.removesuffix(".expected.json") for path in LANCE.glob("*.expected.json")))


@functools.cache
def fixture_names(kind: str | None = None, version: int | None = None) -> tuple[str, ...]:
    """Names of the fixtures, sorted.

    Args:
        kind: ``"cow"``, ``"mor"``, a whole case name (``"cow_wide_250"``), or None for all.
        version: table version 6, 8 or 9, or None for all.
    """
    names = sorted(path.name.removesuffix(".expected.json") for path in FIXTURES.glob("*.expected.json"))
    if version is not None:
        names = [name for name in names if name.startswith(f"v{version}_")]
    if kind in ("cow", "mor"):
        wanted = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind]
        names = [name for name in names if expected(name)["table_type"] == wanted]
    elif kind is not None:
        names = [name for name in names if name.split("_", 1)[1] == kind]
    return tuple(names)


def one_version_of_each(names: Iterable[str]) -> tuple[str, ...]:
    """Of fixtures that differ in the table version alone one, by turns the oldest, a middle and the newest version.

    Args:
        names: of fixtures, sorted: ``v6_cow_types``, ``v8_cow_types`` …
    """
    versions: dict[str, list[str]] = {}
    for name in names:
        versions.setdefault(name.split("_", 1)[1], []).append(name)
    return tuple(same[number % len(same)] for number, same in enumerate(versions.values()))


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder)


@functools.cache
def _session_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="hudi_hive_fixtures_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _unzip_once(name: str) -> Path:
    _unzip(_folder(name) / f"{name}.zip", _session_folder())
    return _session_folder() / name


def unzip_fixture(name: str, tmp: str | os.PathLike[str] | None = None) -> Path:
    """Base path of an unpacked fixture table.

    Args:
        name: fixture name, as ``v8_cow_nonpart``.
        tmp: folder for a fresh copy that the test may change; without it the copy is shared and must not be changed.
    """
    if tmp is None:
        return _unzip_once(name)
    _unzip(_folder(name) / f"{name}.zip", Path(tmp))
    return Path(tmp) / name


# -- rows as the expected files hold them --------------------------------------------------------------------------


def encode_value(value: Any, kind: pa.DataType) -> Any:
    """One Arrow value (``scalar.as_py()``) as JSON-safe data, after the rules in ``encoding`` of the expected files."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: encode_value(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [encode_value(item, kind.value_type) for item in value]
    if pa.types.is_map(kind):
        pairs = [[encode_value(k, kind.key_type), encode_value(v, kind.item_type)] for k, v in value]
        return sorted(pairs, key=lambda pair: json.dumps(pair[0]))
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).strftime("%Y-%m-%dT%H:%M:%S.%f").zfill(26)
        return text + "Z" if getattr(kind, "tz", None) else text
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
    return value


def encode_rows(table: pa.Table, columns: Sequence[str] | None = None) -> list[list[Any]]:
    """Rows of a table, encoded, with their values in the order of ``columns`` (by default the table's own)."""
    names = list(columns) if columns is not None else table.column_names
    encoded = []
    for name in names:
        column = table.column(name)
        encoded.append([encode_value(value, column.type) for value in column.to_pylist()])
    return [list(row) for row in zip(*encoded, strict=True)] if encoded else [[] for _ in range(table.num_rows)]


def canonical(row: Any) -> str:
    """One row (or any value) as the text that the checksum is made of."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def rows_sha256(rows: Iterable[Any]) -> str:
    """Checksum of rows in any order (``checksum_recipe`` of the expected files)."""
    return hashlib.sha256("\n".join(sorted(canonical(row) for row in rows)).encode()).hexdigest()


# -- queries -------------------------------------------------------------------------------------------------------


def queries(name: str, *kinds: str) -> list[dict[str, Any]]:
    """Queries of a fixture that the finished table can answer, of the given kinds (all without any)."""
    found = [query for query in expected(name)["queries"] if not query.get("historical")]
    return [query for query in found if not kinds or query["kind"] in kinds]


def query_id(query: dict[str, Any]) -> str:
    """A name for pytest that is unique within its fixture."""
    options = {k: v for k, v in query["options"].items() if k not in ("hoodie.datasource.query.type",)}
    short = ",".join(f"{k.rsplit('.', 1)[-1]}={v}" for k, v in sorted(options.items()))
    return f"{query['kind']}:{query['label']}[{short}]"


def case_id(value: str | dict[str, Any]) -> str:
    """A part of the name of a case of pytest's: of a fixture, or of a query."""
    return value if isinstance(value, str) else query_id(value)


@functools.cache
def named_gaps() -> dict[tuple[str, str], str]:  # noqa: C901
    """(fixture, query id) -> reason: the queries where a rule of ours makes our rows differ from the release's.

    A reason begins with a heading of docs/format/rules.md as an anchor, or with the release whose quirk it is.
    """
    gaps: dict[tuple[str, str], str] = {}

    def gap(name: str, reason: str, *kinds: str, **entries: Any) -> None:
        """Every query of a fixture and kinds with these entries (and which Hudi did not refuse)."""
        for query in queries(name, *kinds):
            if all(query.get(key) == value for key, value in entries.items()):
                gaps[name, query_id(query)] = reason

    for name in fixture_names(version=8):
        gap(name, "incremental-bounds: release 1.0.2 alone takes begin as inclusive", rows_of_begin_commit_seen=True)
    gap("v6_cow_archived", "incremental-from-the-archive: release 0.15.0 leaves archived commits out", begin="000")
    for case in ("cow_tskey_hive", "cow_custom_keygen"):
        gap(f"v6_{case}", "partition-column-values: the value as written, not the path's", "snapshot", label="snapshot")
    for name in ("v8_cow_tskey_hive", "v9_cow_tskey_hive"):
        gap(
            name,
            "partition-column-values: the value as written with its own type, not as text",
            "snapshot",
            label="snapshot",
        )
        gap(
            name,
            "partition-column-values: the value as written with its own type, not as text",
            "incremental",
            error=None,
        )
        path = "snapshot, partition values from the path"
        gap(name, "partition-column-values: the value from the path without the column's name", "snapshot", label=path)
    for name in (*fixture_names("cow_types"), *fixture_names("mor_types")):
        if not name.startswith("v6"):
            gap(name, "encoded-partition-values: url-encoded partition values are shown decoded", "incremental")
    for name in ("v6_cow_schema_evo", "v6_mor_schema_evo"):
        first = expected(name)["commits"][0]["requested"]
        gap(name, "time-travel-bounds: the first commit's schema is shown, not refused", as_of=first)
    vectorised = [q["as_of"] for q in queries("v6_mor_schema_evo", "time_travel") if "vectorized" in q.get("error", "")]
    for as_of in vectorised:
        gap("v6_mor_schema_evo", "release 0.15.0: its vectorised reader refuses a changed nested type", as_of=as_of)
    for name in (n for n in (*fixture_names("cow_cdc"), *fixture_names("cow_cdc_key_only")) if not n.startswith("v9")):
        last = expected(name)["commits"][-1]["requested"]
        for query in queries(name, "cdc"):
            if any(row[0] == "d" and row[1] == last for row in _answer(name, query)["rows"]):
                reason = "release 1.0.2 and before: one row stands for every row that an overwritten file group had"
                gaps[name, query_id(query)] = reason
    gap("v8_cow_orc", "fixtures/README.md: release 1.0.2 takes ORC files for Parquet", "snapshot", label="snapshot")
    return {key: reason for key, reason in gaps.items() if not _empty(*key)}


def _empty(name: str, its_id: str) -> bool:
    """Whether Hudi's answer has no row: a gap cannot show there."""
    return any(query_id(query) == its_id and query.get("row_count") == 0 for query in queries(name))


def named_gap(name: str, query: dict[str, Any]) -> str | None:
    """Why a rule of ours makes our rows differ from the release's, as in :func:`named_gaps`; None where none does."""
    return named_gaps().get((name, query_id(query)))


def columns_of(name: str, query: dict[str, Any]) -> list[str]:
    """Column names of a query's answer, in its order (``same_rows_as`` followed)."""
    return [column["name"] for column in _answer(name, query)["columns"]]


def _answer(name: str, query: dict[str, Any]) -> dict[str, Any]:
    if "columns" in query:
        return query
    same = [q for q in expected(name)["queries"] if q.get("rows_sha256") == query["rows_sha256"] and "columns" in q]
    assert same, f"{name}: no query holds the columns of {query['label']!r}"
    return same[0]


def same_images(table: pa.Table, name: str, query: dict[str, Any]) -> pa.Table:
    """Change data with each image in the words of Hudi's answer where they say the same.

    Releases before 1.1.1 write the keys of an image in the order of a hash table; version 9 is compared as text.
    """
    if expected(name)["table_version"] == 9:
        return table
    texts = [text for row in _answer(name, query)["rows"] for text in row[2:] if text is not None]
    known = {canonical(json.loads(text)): text for text in texts if text.startswith('{"_hoodie_record_key')}
    for column in ("before", "after"):
        values = table.column(column).to_pylist()
        compact = [text is not None and text.startswith('{"_hoodie_commit_time":"') for text in values]
        told = [known.get(canonical(json.loads(t)), t) if c else t for t, c in zip(values, compact, strict=True)]
        table = table.set_column(table.column_names.index(column), column, pa.array(told, pa.string()))
    return table


def assert_same_rows(table: pa.Table, name: str, query: dict[str, Any]) -> None:
    """Fail, with the first differing rows, unless the table holds the same rows as real Hudi's answer, in any order.

    Columns are compared by name: the set must be the same, the order is not looked at.
    """
    answer = _answer(name, query)
    names = [column["name"] for column in answer["columns"]]
    if query["kind"] == "cdc":
        table = same_images(table, name, query)
    assert sorted(table.column_names) == sorted(names), f"columns {table.column_names}, expected {names}"
    rows = encode_rows(table, names)
    if rows_sha256(rows) == query["rows_sha256"]:
        assert len(rows) == query["row_count"]
        return
    want = answer.get("rows") or answer.get("sample_rows") or []
    got_text, want_text = {canonical(row) for row in rows}, {canonical(row) for row in want}
    missing = sorted(want_text - got_text)[:3]
    extra = sorted(got_text - want_text)[:3] if "rows" in answer else []
    raise AssertionError(
        f"{name} {query['label']!r}: {len(rows)} rows, expected {query['row_count']}\n columns {names}"
        f"\n missing {missing}\n extra {extra}"
    )
