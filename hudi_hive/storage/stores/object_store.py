"""Object stores (S3, GCS, Azure) by ``obstore``: conditional puts, range reads side by side, no markers of folders.

Names are those of Amazon's API. Requests are tried again by :class:`RetryPolicy`, not inside ``obstore``: a conditional
put whose answer was lost is then known as our own by a token among the object's attributes.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import obstore
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import StorageError, StoreUnreachableError
from hudi_hive.storage.stores.base import (
    LISTING_SCHEMA,
    MISSING,
    FileRanges,
    FileVersion,
    PathKind,
    PathStatus,
    forked,
)
from hudi_hive.storage.stores.conditions import minds_absence, minds_version
from hudi_hive.storage.stores.object_faults import PASSING, error_code, http_status, store_error
from hudi_hive.storage.stores.object_listing import OBJECTS, file_entries, named_objects, without_markers
from hudi_hive.storage.stores.object_parts import PartsWriter
from hudi_hive.storage.stores.remote_streams import RangeFile, RangeStream, UploadFile
from hudi_hive.storage.stores.retry import RetryPolicy, TransientFault

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult
    from obstore.store import ObjectStore as Client

_T = TypeVar("_T")

_WHOLE_BYTES: Final = 4 << 20
"""Files of up to these bytes are read in one request."""

_FOOTER_BYTES: Final = 64 << 10
"""Bytes at the end of a larger file that are read when it is opened."""

_PART_BYTES: Final = 16 << 20
"""Bytes from which on a file is written in parts."""

_PAGE: Final = 1_000
_BEHIND_SLASH: Final = "0"
_TOKEN: Final = "hudihivewriter"
"""Attribute of created objects whose value only their creator knows."""

_NOT_PARTIAL: Final = ("non-partial response", "bytes 0--1/0")
"""What the client says of answers that are no part of a file; the second of azurite's for one that is empty."""

_BAD_NAME: Final = "Could not parse path"
_AZURE_FOLDER: Final = "hdi_isfolder"
"""Attribute of the empty objects that are folders of Azure accounts with a hierarchical namespace."""

_DELETIONS: Final = 16
"""Files that are deleted one by one at the same time."""

_RANGES: Final = 32
"""Ranges of one file that are asked for at the same time."""


class _Range(NamedTuple):
    """Bytes of a file: which, where they begin, the size of the file, and the store's name of this content of it."""

    data: bytes
    start: int
    size: int
    e_tag: str | None


class ObjectStore:
    """One bucket or container.

    Args:
        client: the bucket's ``obstore`` client, which does not try again by itself.
        patient_client: one that does, for calls of many requests: uploads in parts, long listings.
        bucket: the first part of full paths.
        uri: the bucket's, such as ``s3a://lake``, for errors.
        retry: how long requests are tried again.
        identity: the bucket, by what tells it from all others: its kind of store, endpoint, account and name.
        is_tested: the store is known to refuse a conditional put of a file that is there. Another one is put to the
            test by the first file that is created: some servers ignore or refuse conditions.
    """

    has_folders = False

    def __init__(
        self,
        client: Client,
        patient_client: Client,
        bucket: str,
        uri: str,
        retry: RetryPolicy,
        *,
        identity: str,
        is_tested: bool = True,
    ) -> None:
        self.creates_atomically = self.replaces_atomically = True
        self.identity = identity
        self._is_tested = self._is_tested_for_versions = is_tested
        self._process = os.getpid()
        self._client = client
        self._patient_client = patient_client
        self._bucket = bucket
        self._bucket_uri = uri
        self._retry = retry

    def _key(self, path: str) -> str:
        return path[len(self._bucket) + 1 :]

    def _uri(self, path: str) -> str:
        return f"{self._bucket_uri}{path[len(self._bucket) :]}"

    def _run(self, path: str, attempt: Callable[[int], _T]) -> _T:
        """Run requests for a path; errors of ``obstore`` become those of :mod:`hudi_hive.errors`."""

        def mapped(number: int) -> _T:
            try:
                return attempt(number)
            except FileNotFoundError as error:
                if error_code(error) in ("", "NoSuchKey", "BlobNotFound", "NotFound"):
                    raise FileNotFoundError(path) from None
                raise store_error(error, self._uri(path)) from None
            except (obstore.exceptions.BaseError, PermissionError, TimeoutError, ConnectionError) as error:
                raise store_error(error, self._uri(path)) from None
            except ValueError as error:
                if _BAD_NAME not in str(error):
                    raise
                raise StorageError(
                    "no object can have such a name",
                    path=self._uri(path),
                    remedy="leave out control characters, empty parts, and parts that are . or ..",
                ) from None

        if self._process != os.getpid():
            raise forked(self._uri(path))
        return self._retry.run(mapped)

    # -- listing -------------------------------------------------------------------------------------------------

    def list_folder(self, path: str, *, recursive: bool, without: str = "") -> pa.Table:
        """List a folder: one request for each 1,000 names, and one more to pass over a folder."""
        key = self._key(path)
        if recursive:
            return self._list_all(path, key, without)
        return self._run(path, lambda number: self._list_level(path, key, number))

    def _list_all(self, path: str, key: str, without: str) -> pa.Table:
        if without:
            folder = f"{key}/{without}" if key else without
            with ThreadPoolExecutor(1, thread_name_prefix="list") as thread:
                ahead = thread.submit(self._objects, path, key, None, f"{folder}/")
                behind = self._objects(path, key, f"{folder}{_BEHIND_SLASH}", None)
            objects = pa.concat_tables([ahead.result(), behind])
        else:
            objects = self._objects(path, key, None, None)
        if not objects.num_rows:
            raise FileNotFoundError(path)
        return without_markers(file_entries(objects, key))

    def _objects(self, path: str, key: str, after: str | None, before: str | None) -> pa.Table:
        """The objects whose names begin with a key and lie between two others, without these.

        A page that fails is asked for again behind the last one that came, each within a deadline of its own.
        """
        tables: list[pa.Table] = []
        pages: Iterator[Any] | None = None
        is_resumed = False

        def next_page(_: int) -> Any:  # noqa: ANN401 - obstore's RecordBatch
            nonlocal pages, is_resumed
            if pages is None:
                last = tables[-1].column("path")[-1].as_py() if tables else after
                is_resumed = bool(tables)
                pages = iter(obstore.list(self._client, key or None, offset=last, chunk_size=_PAGE, return_arrow=True))
            try:
                return next(pages, None)
            except BaseException:
                pages = None
                raise

        while (page := self._run(path, next_page)) is not None:
            table = named_objects(page)
            ahead = table if before is None else table.filter(pc.less(table.column("path"), before))
            if ahead.num_rows:
                tables.append(ahead)
            if ahead.num_rows < table.num_rows:
                break
        objects = pa.concat_tables([OBJECTS.empty_table(), *tables])
        # Objects that mark folders lose their slash, so that others were perhaps listed twice behind them.
        return objects.group_by(OBJECTS.names).aggregate([]).cast(OBJECTS) if is_resumed else objects

    def _list_level(self, path: str, key: str, number: int) -> pa.Table:
        # Of many pages some may fail each time: the client that tries again by itself does so for a single page.
        client = self._client if number == 1 else self._patient_client
        result = obstore.list_with_delimiter(client, key or None, return_arrow=True)
        objects = named_objects(result["objects"])
        files = file_entries(objects, key)
        cut = len(key) + 1 if key else 0
        names = [prefix.rstrip("/")[cut:] for prefix in result["common_prefixes"]]
        if not names and not objects.num_rows:
            raise FileNotFoundError(path)
        zeros = pa.array([0] * len(names), pa.int64())
        folders = pa.table(
            [pa.array(names, pa.string()), zeros, zeros, pa.array([True] * len(names), pa.bool_())],
            schema=LISTING_SCHEMA,
        )
        return pa.concat_tables([files, folders])

    def status(self, path: str) -> PathStatus:
        """What a path names: a range of one byte, and only where there is no such object a listing."""
        key = self._key(path)
        if key:
            try:
                result = self._run(path, lambda _: self._first_byte(key))
            except FileNotFoundError:
                pass
            else:
                if result.attributes.get(_AZURE_FOLDER) == "true":
                    return PathStatus(PathKind.FOLDER)
                return PathStatus(PathKind.FILE, result.meta["size"], _milliseconds(result.meta))
        try:
            self.list_folder(path, recursive=False)
        except FileNotFoundError:
            return MISSING
        return PathStatus(PathKind.FOLDER)

    def _first_byte(self, key: str) -> GetResult:
        # Unlike HEAD's, the answer to a refused GET says why it was refused.
        try:
            return obstore.get(self._client, key, options={"range": (0, 1)})
        except obstore.exceptions.BaseError as error:
            if http_status(error) == 416 or _is_whole(error):
                return obstore.get(self._client, key)
            raise

    # -- reading -------------------------------------------------------------------------------------------------

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read a file or a part of it in one request."""
        key = self._key(path)
        if not offset and length is None:
            return self._run(path, lambda _: bytes(obstore.get(self._client, key).bytes()))
        if length == 0:
            return b""
        byte_range: Any = {"offset": offset} if length is None else (offset, offset + length)
        return self._run(path, lambda _: self._range(path, byte_range).data)

    def _range(self, path: str, byte_range: Any, e_tag: str | None = None) -> _Range:  # noqa: ANN401 - obstore's range
        """Bytes of a range of a file.

        Args:
            path: the file.
            byte_range: first byte and the one behind the last, or ``{"offset": first}``.
            e_tag: that of the file as it was opened, if the store has such.
        """
        key = self._key(path)
        condition: GetOptions = {} if e_tag is None or e_tag.startswith("W/") else {"if_match": e_tag}
        start = byte_range["offset"] if isinstance(byte_range, dict) else byte_range[0]
        try:
            ranged: GetOptions = {"range": byte_range, **condition}
            result = obstore.get(self._client, key, options=ranged)
            data, size = bytes(result.bytes()), result.meta["size"]
        except obstore.exceptions.PreconditionError:
            raise self._overwritten(path) from None
        except obstore.exceptions.BaseError as error:
            if http_status(error) == 416:  # it begins at the end, or behind it
                size = obstore.head(self._client, key)["size"] if start else 0
                return _Range(b"", start, size, None)
            if not _is_whole(error):
                raise
            # Of an empty file, or from a server that knows no ranges.
            result = obstore.get(self._client, key, options=condition)
            data, size = bytes(result.bytes()), result.meta["size"]
            data = data[start:] if isinstance(byte_range, dict) else data[start : byte_range[1]]
        end = size if isinstance(byte_range, dict) else min(byte_range[1], size)
        if len(data) != max(end - start, 0):
            said = f"the store answered a request for {end - start} bytes with {len(data)}"
            raise TransientFault(StoreUnreachableError(said, path=self._uri(path), remedy="try again later"))
        return _Range(data, start, size, result.meta.get("e_tag"))

    def _ranges(self, path: str, ranges: Sequence[tuple[int, int]], e_tag: str | None) -> list[_Range]:
        """Ranges of a file, side by side."""

        def one(byte_range: tuple[int, int]) -> _Range:
            return self._run(path, lambda _: self._range(path, byte_range, e_tag))

        if len(ranges) == 1:
            return [one(ranges[0])]
        with ThreadPoolExecutor(min(_RANGES, len(ranges)), thread_name_prefix="ranges") as threads:
            return list(threads.map(one, ranges))

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]], e_tag: str | None = None) -> FileRanges:
        """Read ranges of a file side by side."""
        answers = self._ranges(path, ranges, e_tag)
        e_tags = {answer.e_tag for answer in answers} | ({e_tag} if e_tag is not None else set())
        if len(e_tags) > 1:
            raise self._overwritten(path)
        return FileRanges([answer.data for answer in answers], answers[0].size, answers[0].e_tag)

    def _overwritten(self, path: str) -> StorageError:
        said = "the file was overwritten while it was read"
        return StorageError(said, path=self._uri(path), remedy="read it again")

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file: whole with one request if it is small, else with its end in memory."""
        if size is not None and size <= _WHOLE_BYTES:
            return pa.BufferReader(self.read(path))
        byte_range = (0, _WHOLE_BYTES) if size is None else (size - _FOOTER_BYTES, size)  # Azure knows no suffixes
        first = self._run(path, lambda _: self._range(path, byte_range))
        if len(first.data) == first.size:
            return pa.BufferReader(first.data)
        file = RangeFile(first.size, lambda ranges: [one.data for one in self._ranges(path, ranges, first.e_tag)])
        file.add(first.start, first.data)
        if size is None:
            file.prefetch([(first.size - min(_FOOTER_BYTES, first.size), first.size)])
        return RangeStream(file, "r")

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file in one request."""
        key = self._key(path)
        self._run(path, lambda _: obstore.put(self._client, key, data, use_multipart=False))

    def create(self, path: str, data: bytes) -> None:
        """Create a file by a conditional put."""
        key, token = self._key(path), uuid.uuid4().hex

        def put() -> None:
            obstore.put(self._client, key, data, mode="create", attributes={_TOKEN: token}, use_multipart=False)

        def attempt(number: int) -> None:
            try:
                put()
            except obstore.exceptions.AlreadyExistsError as error:
                if error_code(error) in PASSING:  # others were at it at the same time; it may be absent
                    raise
                # The first try may have been done, and only its answer lost.
                if number == 1 or obstore.get(self._client, key).attributes.get(_TOKEN) != token:
                    raise FileExistsError(path) from None

        if not self.creates_atomically and self.status(path).kind is not PathKind.MISSING:
            raise FileExistsError(path)
        self._run(path, attempt)
        if not self._is_tested:
            # A second look, for the file may have been deleted by then.
            self.creates_atomically = any(self._run(path, lambda _: minds_absence(put)) for _ in range(2))
            self._is_tested = True
            self._test_versions(path, data, token)

    def _test_versions(self, path: str, data: bytes, token: str) -> None:
        """Look once whether the store replaces files only if they are unchanged, by a file with these bytes."""
        if self._is_tested_for_versions:
            return
        attributes = {_TOKEN: token} if token else {}
        try:
            minds = self._run(path, lambda _: minds_version(self._client, self._key(path), data, attributes))
        except StorageError as error:
            if type(error) is not StorageError:
                raise
            minds = False  # it refuses such a condition as such
        self.replaces_atomically, self._is_tested_for_versions = minds, True

    def read_version(self, path: str) -> FileVersion:
        """Read a whole file with its ETag."""
        key = self._key(path)

        def attempt(_: int) -> FileVersion:
            result = obstore.get(self._client, key)
            return _version(bytes(result.bytes()), result.meta, marked=_TOKEN in result.attributes)

        return self._run(path, attempt)

    def write_version(self, path: str, data: bytes, current: FileVersion | None) -> FileVersion:
        """Replace or create a file by a conditional put."""
        key, token = self._key(path), uuid.uuid4().hex
        mode: Any = "create" if current is None else _condition(current)

        def attempt(number: int) -> FileVersion:
            try:
                result = obstore.put(
                    self._client, key, data, mode=mode, attributes={_TOKEN: token}, use_multipart=False
                )
                return _version(data, result, marked=True)
            except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError) as error:
                if error_code(error) in PASSING:
                    raise
                # The first try may have been done, and only its answer lost.
                there = None if number == 1 else obstore.get(self._client, key)
                if there is None or there.attributes.get(_TOKEN) != token:
                    raise FileExistsError(path) from None
                return _version(data, there.meta, marked=True)

        if current is not None:
            self._require_versions(path, current.data, token if current.marked else "")
        try:
            version = self._run(path, attempt)
        except FileNotFoundError:
            raise FileExistsError(path) from None
        self._require_versions(path, data, token)
        return version

    def _require_versions(self, path: str, data: bytes, token: str) -> None:
        self._test_versions(path, data, token)
        if not self.replaces_atomically:
            raise StorageError("the store ignores or refuses conditions of puts (If-Match)", path=self._uri(path))

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream: one request for a file of up to 16 MiB, parts for a larger one."""
        key, uri = self._key(path), self._uri(path)
        file = UploadFile(
            lambda data: self.write(path, data),
            lambda: PartsWriter(obstore.open_writer(self._patient_client, key, buffer_size=_PART_BYTES), uri),
            _PART_BYTES,
        )
        return pa.PythonFile(file, mode="w")

    def create_folder(self, path: str) -> None:
        """Nothing: folders are beginnings of names."""

    def delete_file(self, path: str) -> None:
        """Delete a file; that there is none is not said."""
        key = self._key(path)
        with suppress(FileNotFoundError):  # S3 does not tell
            self._run(path, lambda _: obstore.delete(self._client, key))

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        """Delete a file, and look at it before each further try: another one may be there by then."""
        key = self._key(path)

        def attempt(number: int) -> None:
            if number == 1 or is_own(bytes(obstore.get(self._client, key).bytes())):
                obstore.delete(self._client, key)

        with suppress(FileNotFoundError):
            self._run(path, attempt)

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files: one request for each 1,000 on S3, for each 256 on Azure, for each one on GCS."""
        if not paths:
            return
        keys = [self._key(path) for path in paths]
        try:
            self._run(paths[0], lambda _: obstore.delete(self._client, keys))
        except FileNotFoundError:  # GCS and Azure stop at one that is not there
            with ThreadPoolExecutor(min(_DELETIONS, len(paths)), thread_name_prefix="delete") as threads:
                list(threads.map(self.delete_file, paths))

    def delete_tree(self, path: str) -> None:
        """Delete all files whose names begin with a folder."""
        names = self.list_folder(path, recursive=True).column("path").to_pylist()
        self.delete_files([f"{path}/{name}" for name in names])

    def copy(self, path: str, target: str) -> None:
        """Copy a file inside the bucket: the server has both names."""
        old, new = self._key(path), self._key(target)
        self._run(path, lambda _: obstore.copy(self._client, old, new))

    def move(self, source: str, target: str) -> None:
        """Copy a file inside the bucket and delete the source."""
        self.copy(source, target)
        self.delete_file(source)


def _is_whole(error: BaseException) -> bool:
    """Whether a request for a range was answered by the whole file."""
    return any(text in str(error) for text in _NOT_PARTIAL)


def _condition(current: FileVersion) -> dict[str, str]:
    named = (("e_tag", current.e_tag), ("version", current.version))
    return {name: value for name, value in named if value is not None}


def _version(data: bytes, meta: Any, *, marked: bool) -> FileVersion:  # noqa: ANN401 - ObjectMeta or PutResult
    return FileVersion(data, meta.get("e_tag"), meta.get("version"), marked)


def _milliseconds(meta: Any) -> int:  # noqa: ANN401 - obstore's ObjectMeta
    return int(meta["last_modified"].timestamp() * 1_000)
