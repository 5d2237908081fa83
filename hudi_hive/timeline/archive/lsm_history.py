"""Reads the archive of timeline layout 2 (LSM timeline): sorted Parquet files that a manifest names.

Source: docs/format.md#lsm-timeline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.errors import CorruptFileError, FileVanishedError, HudiHiveError, PathNotFoundError
from hudi_hive.formats.avro import describe
from hudi_hive.storage import Storage
from hudi_hive.timeline.instants import ACTIONS, Instant, State, comparable_action
from hudi_hive.timeline.payloads import decode_payload

_DATA_NAME = re.compile(r"([0-9]+)_([0-9]+)_[0-9]+\.parquet")
_MANIFEST_NAME = re.compile(r"manifest_([0-9]+)")
_TIMES: Final = ["instantTime", "completionTime", "action"]
_PAYLOADS: Final = ["instantTime", "action", "metadata", "plan"]
_ATTEMPTS = 3
_T = TypeVar("_T")


class HistoryArchive:
    """The archive of layout 2 in a folder: the data files that the current manifest names.

    Args:
        storage: rooted at the table's base path.
        folder: the archive's folder relative to it.
        active: completed instants of the active timeline: requested time and comparable action.
    """

    def __init__(self, storage: Storage, folder: str, active: frozenset[tuple[str, str]] = frozenset()) -> None:
        self._storage = storage
        self._folder = folder
        self._active = active
        # The row group read last: payloads are read in order of time, so that the next one is often in the same group.
        self._last_group: _RowGroup | None = None

    def entries(self) -> Iterator[Instant]:
        """Yield all archived instants, which are completed.

        Raises:
            CorruptFileError: manifest or data files are damaged.
            FileVanishedError: a data file that the current manifest names does not exist.
        """
        yield from self._instants("")

    def entries_since(self, time: str) -> Iterator[Instant]:
        """Yield the archived instants from a requested time on; files that end before it are not read.

        Raises:
            As :meth:`entries`.
        """
        yield from (instant for instant in self._instants(time) if instant.requested >= time)

    def begin(self) -> str | None:
        """The least requested time in the names of the data files; None without any."""
        listing = self._storage.list(self._folder, missing_ok=True)["path"].to_pylist()
        files = (path for path in listing if _DATA_NAME.fullmatch(path.rsplit("/", 1)[-1]))
        return min((_range_of(path)[0] for path in files), default=None)

    def _instants(self, since: str) -> Iterator[Instant]:
        def read() -> list[tuple[str, pa.Table]]:
            sizes = self._data_files()
            if sizes:
                self._refuse_left_out(sizes, since)
            chosen = {path: size for path, size in sizes.items() if _range_of(path)[1] >= since}
            return [(path, self._read_times(path, size)) for path, size in chosen.items()]

        for path, table in self._retried(read):
            columns = [table[name].to_pylist() for name in _TIMES]
            for requested, completed, action in zip(*columns, strict=True):
                if requested is None or action is None:
                    raise CorruptFileError("archived instant without time or action", path=self._storage.uri(path))
                if action in ACTIONS:
                    yield Instant(requested, action, State.COMPLETED, completed, path.rsplit("/", 1)[-1], path)

    def payload(self, instant: Instant) -> dict[str, Any] | None:
        """Read the record of an archived instant's completed file; None where it is empty.

        Raises:
            CorruptInstantError: it cannot be decoded.
            FileVanishedError: the archive was rewritten since it was loaded.
        """
        return self._column(instant, "metadata")

    def completion_time(self, instant: Instant) -> str | None:
        """When an instant of :meth:`entries` was completed."""
        return instant.completed

    def plan(self, instant: Instant) -> dict[str, Any] | None:
        """Read the plan of an archived instant; None where the archive holds none. Raises as :meth:`payload`."""
        return self._column(instant, "plan")

    def _column(self, instant: Instant, column: str) -> dict[str, Any] | None:
        uri = self._storage.uri(instant.path)
        try:
            group = self._row_group(instant)
        except PathNotFoundError as error:
            raise self._vanished(error) from error
        if group is None:
            raise CorruptFileError("archived instant is no longer in its file", path=uri, instant=instant.requested)
        return decode_payload(group.value(instant, column) or b"", uri, instant.requested)

    def _row_group(self, instant: Instant) -> _RowGroup | None:
        """Find the row group that holds an instant by its bounds, since files are sorted."""
        last = self._last_group
        if last is not None and last.path == instant.path and last.holds(instant):
            return last
        with self._open(instant.path, _PAYLOADS) as file:
            column = _column_index(file, "instantTime")
            for number in range(file.metadata.num_row_groups):
                bounds = file.metadata.row_group(number).column(column).statistics
                if bounds is not None and bounds.has_min_max and not bounds.min <= instant.requested <= bounds.max:
                    continue
                group = _RowGroup(instant.path, file.read_row_group(number, columns=_PAYLOADS))
                if group.holds(instant):
                    self._last_group = group
                    return group
        return None

    def _read_times(self, path: str, size: int | None = None) -> pa.Table:
        """Read times and actions of a file; raises if its size or times differ from those in manifest and name."""
        with self._open(path, _TIMES, size) as file:
            table = _strings(file.read(columns=_TIMES))
        bounds = pc.min_max(table["instantTime"]).as_py()
        if (bounds["min"], bounds["max"]) != _range_of(path):
            raise CorruptFileError(
                f"archive file holds instants from {bounds['min']} to {bounds['max']}, not those of its name",
                path=self._storage.uri(path),
            )
        return table

    def _refuse_left_out(self, named: Mapping[str, int | None], since: str) -> None:
        """Refuse an archive with files that its manifest should name, which shows that an older manifest was read.

        Files beside the manifest are merged into those that it names, or from an archival that died: its instants are
        active still, or archived again.
        """
        listing = self._storage.list(self._folder, missing_ok=True)["path"].to_pylist()
        ranges = [_range_of(path) for path in named]
        for path in listing:
            if path in named or not _DATA_NAME.fullmatch(path.rsplit("/", 1)[-1]) or _range_of(path)[1] < since:
                continue
            ends = _range_of(path)
            if all(any(first <= end <= last for first, last in ranges) for end in ends):
                continue
            table = self._read_times(path)
            rows = zip(table["instantTime"].to_pylist(), table["action"].to_pylist(), strict=True)
            if not self._active.issuperset((time, comparable_action(action)) for time, action in rows):
                raise CorruptFileError(
                    "the archive's manifest does not name this file, and its instants are not active: the manifest, "
                    "or the number of it in _version_, is older or damaged",
                    path=self._storage.uri(path),
                )

    @contextmanager
    def _open(self, path: str, columns: Sequence[str], size: int | None = None) -> Iterator[pq.ParquetFile]:
        """Open an archive file and check its columns, since Arrow silently leaves out missing ones."""
        uri = self._storage.uri(path)
        with self._storage.open_input(path) as stream:
            if size is not None and stream.size() != size:
                raise CorruptFileError(
                    f"archive file has {stream.size()} bytes where the manifest names {size}", path=uri
                )
            try:
                file = pq.ParquetFile(stream)
                missing = sorted(set(columns).difference(file.schema_arrow.names))
                if missing:
                    raise CorruptFileError(f"archive file lacks the columns {', '.join(missing)}", path=uri)
                yield file
            except HudiHiveError:
                raise
            except Exception as error:  # damaged Parquet shows as Arrow, value, OS, key or Unicode errors
                raise CorruptFileError(f"archive file cannot be read: {describe(error)}", path=uri) from error

    # -- manifest ----------------------------------------------------------------------------------------------------

    def _data_files(self) -> dict[str, int | None]:
        """The data files of the current manifest with their sizes in bytes; none if nothing was archived yet."""
        version = self._version()
        if version is None:
            return {}
        path = f"{self._folder}/manifest_{version}"
        uri = self._storage.uri(path)
        try:
            manifest = json.loads(self._storage.read_bytes(path))
            files = [(entry["fileName"], entry.get("fileLen")) for entry in manifest["files"]]
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise CorruptFileError(f"archive manifest: {describe(error)}", path=uri) from error
        for name, size in files:
            if not isinstance(name, str) or not _DATA_NAME.fullmatch(name):
                raise CorruptFileError(f"archive manifest names {name!r}, which is no file of an archive", path=uri)
            if size is not None and not isinstance(size, int):
                raise CorruptFileError(f"archive manifest: {size!r} are no bytes of {name}", path=uri)
        return {f"{self._folder}/{name}": size for name, size in files}

    def _version(self) -> int | None:
        """Number of the current manifest."""
        path = f"{self._folder}/_version_"
        try:
            text = self._storage.read_bytes(path).decode("latin-1").strip()
        except PathNotFoundError:
            text = ""
        if text:
            if not (text.isascii() and text.isdecimal()):
                raise CorruptFileError("archive version is no number", path=self._storage.uri(path))
            return int(text)
        # The version file is deleted and written anew: for a moment it is missing or empty.
        listing = self._storage.list(self._folder, missing_ok=True)["path"].to_pylist()
        matches = (_MANIFEST_NAME.fullmatch(name.rsplit("/", 1)[-1]) for name in listing)
        return max((int(match[1]) for match in matches if match), default=None)

    def _retried(self, read: Callable[[], _T]) -> _T:
        """Retry a read when a file vanished, since archival merges files while others read them."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return read()
            except PathNotFoundError:
                continue
        try:
            return read()
        except PathNotFoundError as error:
            raise self._vanished(error) from error

    @staticmethod
    def _vanished(error: PathNotFoundError) -> FileVanishedError:
        return FileVanishedError("archive file is gone", path=error.path, remedy="load the table again")


def _range_of(path: str) -> tuple[str, str]:
    """The first and last requested time in the name of a data file."""
    match = _DATA_NAME.fullmatch(path.rsplit("/", 1)[-1])
    assert match is not None
    return match[1], match[2]


class _RowGroup:
    """A row group of an archive file, whose rows are found without going through all of them for each instant.

    Args:
        path: the file.
        table: the row group's columns :data:`_PAYLOADS`.
    """

    def __init__(self, path: str, table: pa.Table) -> None:
        self.path = path
        self._table = table
        self._rows: dict[tuple[str | None, str | None], int] = {}
        columns = (table[name].cast(pa.string()).to_pylist() for name in ("instantTime", "action"))
        for row, key in enumerate(zip(*columns, strict=True)):
            self._rows.setdefault(key, row)
        self._times = {time for time, _ in self._rows}

    def holds(self, instant: Instant) -> bool:
        """Whether an instant of the same requested time is here."""
        return instant.requested in self._times

    def value(self, instant: Instant, column: str) -> bytes | None:
        """The value of a column in the row of an instant; None without the row, too."""
        row = self._rows.get((instant.requested, instant.action))
        data: bytes | None = None if row is None else self._table[column][row].as_py()
        return data


def _column_index(file: pq.ParquetFile, name: str) -> int:
    return next(i for i in range(file.metadata.num_columns) if file.metadata.schema.column(i).path == name)


def _strings(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
