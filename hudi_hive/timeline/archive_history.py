"""The archive of timeline layout 2: sorted Parquet files that a manifest names (table format, section 2.6)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.errors import CorruptFileError, FileVanishedError, HudiHiveError, PathNotFoundError
from hudi_hive.formats.avro_container import describe
from hudi_hive.storage import Storage
from hudi_hive.timeline.instant import ACTIONS, Instant, State
from hudi_hive.timeline.payload import decode_payload

_DATA_NAME = re.compile(r"[0-9]+_[0-9]+_[0-9]+\.parquet")
_MANIFEST_NAME = re.compile(r"manifest_([0-9]+)")
_TIMES: Final = ["instantTime", "completionTime", "action"]
_PAYLOADS: Final = ["instantTime", "action", "metadata", "plan"]
_ATTEMPTS = 3
_T = TypeVar("_T")


class HistoryArchive:
    """The data files below one folder that the current manifest names.

    Args:
        storage: rooted at the table's base path.
        folder: the archive's folder relative to it.
    """

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._folder = folder
        # The row group read last: payloads are asked for in order of time, and so lie beside each other.
        self._last_group: tuple[tuple[str, int], pa.Table] | None = None

    def entries(self) -> Iterator[Instant]:
        """All archived instants, all of them completed.

        Raises:
            CorruptFileError: manifest or data files are damaged.
            FileVanishedError: a data file that the current manifest names does not exist.
        """
        yield from self._instants("")

    def entries_since(self, time: str) -> Iterator[Instant]:
        """The archived instants from a requested time on; files whose names say that they end before are not read.

        Raises:
            As :meth:`entries`.
        """
        yield from (instant for instant in self._instants(time) if instant.requested >= time)

    def _instants(self, since: str) -> Iterator[Instant]:
        def read() -> list[tuple[str, pa.Table]]:
            paths = (path for path in self._data_files() if path.rsplit("/", 1)[-1].split("_")[1] >= since)
            return [(path, self._read_times(path)) for path in paths]

        for path, table in self._retried(read):
            columns = [table[name].to_pylist() for name in _TIMES]
            for requested, completed, action in zip(*columns, strict=True):
                if requested is None or action is None:
                    raise CorruptFileError("archived instant without time or action", path=self._storage.uri(path))
                if action in ACTIONS:
                    yield Instant(requested, action, State.COMPLETED, completed, path.rsplit("/", 1)[-1], path)

    def payload(self, instant: Instant) -> dict[str, Any] | None:
        """Record of a known instant's completed file; null where it is empty.

        Raises:
            CorruptInstantError: it cannot be decoded.
            FileVanishedError: the archive was rewritten since it was loaded.
        """
        return self._column(instant, "metadata")

    def plan(self, instant: Instant) -> dict[str, Any] | None:
        """Record of a known instant's plan; null where the archive keeps none. Raises as :meth:`payload`."""
        return self._column(instant, "plan")

    def _column(self, instant: Instant, column: str) -> dict[str, Any] | None:
        uri = self._storage.uri(instant.path)
        try:
            table = self._row_group(instant)
        except PathNotFoundError as error:
            raise self._vanished(error) from error
        if table is None:
            raise CorruptFileError("archived instant is no longer in its file", path=uri, instant=instant.requested)
        same = pc.and_(pc.equal(table["instantTime"], instant.requested), pc.equal(table["action"], instant.action))
        values = table.filter(same)[column]
        data = values[0].as_py() if len(values) else None
        return decode_payload(data or b"", uri, instant.requested)

    def _row_group(self, instant: Instant) -> pa.Table | None:
        """The row group that holds an instant; files are sorted, so its bounds tell."""
        last = self._last_group
        if last is not None and last[0][0] == instant.path and _holds(last[1], instant):
            return last[1]
        with self._open(instant.path, _PAYLOADS) as file:
            column = _column_index(file, "instantTime")
            for number in range(file.metadata.num_row_groups):
                bounds = file.metadata.row_group(number).column(column).statistics
                if bounds is not None and bounds.has_min_max and not bounds.min <= instant.requested <= bounds.max:
                    continue
                table = file.read_row_group(number, columns=_PAYLOADS)
                if _holds(table, instant):
                    self._last_group = ((instant.path, number), table)
                    return table
        return None

    def _read_times(self, path: str) -> pa.Table:
        with self._open(path, _TIMES) as file:
            return _strings(file.read(columns=_TIMES))

    @contextmanager
    def _open(self, path: str, columns: Sequence[str]) -> Iterator[pq.ParquetFile]:
        """An archive file that has the columns: Arrow leaves out those that a file lacks without a word."""
        uri = self._storage.uri(path)
        with self._storage.open_input(path) as stream:
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

    def _data_files(self) -> list[str]:
        """Data files of the current manifest; none if nothing was archived yet."""
        version = self._version()
        if version is None:
            return []
        path = f"{self._folder}/manifest_{version}"
        uri = self._storage.uri(path)
        try:
            manifest = json.loads(self._storage.read_bytes(path))
            names = [entry["fileName"] for entry in manifest["files"]]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise CorruptFileError(f"archive manifest: {describe(error)}", path=uri) from error
        for name in names:
            if not isinstance(name, str) or not _DATA_NAME.fullmatch(name):
                raise CorruptFileError(f"archive manifest names {name!r}, which is no file of an archive", path=uri)
        return [f"{self._folder}/{name}" for name in names]

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
        found = (_MANIFEST_NAME.fullmatch(name.rsplit("/", 1)[-1]) for name in listing)
        return max((int(match[1]) for match in found if match), default=None)

    def _retried(self, read: Callable[[], _T]) -> _T:
        """Read again when a file vanished: the archive is merged into new files while others read it."""
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


def _holds(table: pa.Table, instant: Instant) -> bool:
    return bool(pc.any(pc.equal(table["instantTime"], instant.requested)).as_py())


def _column_index(file: pq.ParquetFile, name: str) -> int:
    return next(i for i in range(file.metadata.num_columns) if file.metadata.schema.column(i).path == name)


def _strings(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
