"""Object stores (S3, GCS, Azure) by ``obstore``: conditional puts, range reads side by side, no markers of folders.

Names are those of Amazon's API. Requests are tried again by :class:`RetryPolicy`, not inside ``obstore``: a conditional
put whose answer was lost is then known as our own by a token among the object's attributes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

import obstore
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.storage.stores.base import LISTING_SCHEMA, MISSING, FileVersion, PathKind, PathStatus
from hudi_hive.storage.stores.object_faults import error_code, http_status, store_error
from hudi_hive.storage.stores.remote_streams import RangeFile, RangeStream, UploadFile
from hudi_hive.storage.stores.retry import RetryPolicy

if TYPE_CHECKING:
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

_NOT_PARTIAL: Final = "non-partial response"


class ObjectStore:
    """One bucket or container.

    Args:
        client: the bucket's ``obstore`` client, which does not try again by itself.
        upload_client: one that does, for uploads in parts.
        bucket: the first part of full paths.
        prefix: what URIs of full paths begin with, such as ``s3a://``, for errors.
        retry: how long requests are tried again.
    """

    creates_atomically = True
    has_folders = False

    def __init__(self, client: Client, upload_client: Client, bucket: str, prefix: str, retry: RetryPolicy) -> None:
        self._client = client
        self._upload_client = upload_client
        self._bucket = bucket
        self._prefix = prefix
        self._retry = retry

    def _key(self, path: str) -> str:
        return path[len(self._bucket) + 1 :]

    def _run(self, path: str, attempt: Callable[[int], _T]) -> _T:
        """Run requests for a path; errors of ``obstore`` become those of :mod:`hudi_hive.errors`."""

        def mapped(number: int) -> _T:
            try:
                return attempt(number)
            except FileNotFoundError as error:
                if error_code(error) in ("", "NoSuchKey", "BlobNotFound", "NotFound"):
                    raise FileNotFoundError(path) from None
                raise store_error(error, f"{self._prefix}{path}") from None
            except (obstore.exceptions.BaseError, PermissionError, TimeoutError, ConnectionError) as error:
                raise store_error(error, f"{self._prefix}{path}") from None

        return self._retry.run(mapped)

    # -- listing -------------------------------------------------------------------------------------------------

    def list_folder(self, path: str, *, recursive: bool, without: str = "") -> pa.Table:
        """List a folder: one request for each 1,000 names, and one more to pass over a folder."""
        key = self._key(path)
        if recursive:
            return self._run(path, lambda _: self._list_all(path, key, without))
        return self._run(path, lambda _: self._list_level(path, key))

    def _list_all(self, path: str, key: str, without: str) -> pa.Table:
        if without:
            folder = f"{key}/{without}" if key else without
            with ThreadPoolExecutor(1, thread_name_prefix="list") as thread:
                before = thread.submit(self._pages, key, None, f"{folder}/")
                behind = self._pages(key, f"{folder}{_BEHIND_SLASH}", None)
            batches = [*before.result(), *behind]
        else:
            batches = self._pages(key, None, None)
        if not batches:
            raise FileNotFoundError(path)
        objects = pa.Table.from_batches(batches)
        if not objects.num_rows:
            raise FileNotFoundError(path)
        return _without_markers(_entries(objects, key))

    def _pages(self, key: str, after: str | None, before: str | None) -> list[pa.RecordBatch]:
        """Pages of the objects whose names begin with a key and lie between two others, without these."""
        batches: list[pa.RecordBatch] = []
        for page in obstore.list(self._client, key or None, offset=after, chunk_size=_PAGE, return_arrow=True):
            batch = pa.record_batch(page)
            if before is not None:
                ahead = batch.filter(pc.less(batch.column("path").cast(pa.string()), before))
                if ahead.num_rows < batch.num_rows:
                    return [*batches, ahead]
                batch = ahead
            batches.append(batch)
        return batches

    def _list_level(self, path: str, key: str) -> pa.Table:
        result = obstore.list_with_delimiter(self._client, key or None, return_arrow=True)
        objects = pa.table(result["objects"])
        files = _entries(objects, key)
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
                return PathStatus(PathKind.FILE, result["size"], _milliseconds(result))
        try:
            self.list_folder(path, recursive=False)
        except FileNotFoundError:
            return MISSING
        return PathStatus(PathKind.FOLDER)

    def _first_byte(self, key: str) -> Any:  # noqa: ANN401 - obstore's ObjectMeta
        # Unlike HEAD's, the answer to a refused GET says why it was refused.
        try:
            return obstore.get(self._client, key, options={"range": (0, 1)}).meta
        except obstore.exceptions.BaseError as error:
            if _is_empty(error):
                return obstore.head(self._client, key)
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
        return self._run(path, lambda _: self._range(key, byte_range)[0])

    def _range(self, key: str, byte_range: Any) -> tuple[bytes, int, int]:  # noqa: ANN401 - obstore's range
        """Bytes of a range, where they begin, and the size of the file."""
        try:
            result = obstore.get(self._client, key, options={"range": byte_range})
            return bytes(result.bytes()), result.range[0], result.meta["size"]
        except obstore.exceptions.BaseError as error:
            if _is_empty(error):
                return b"", 0, 0  # of a suffix, or from the start: the file is empty
            raise

    def _ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        key = self._key(path)
        starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
        return self._run(
            path,
            lambda _: [
                bytes(part) for part in obstore.get_ranges(self._client, key, starts=starts, ends=ends, coalesce=0)
            ],
        )

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file: whole with one request if it is small, else with its end in memory."""
        key = self._key(path)
        if size is not None and size <= _WHOLE_BYTES:
            return pa.BufferReader(self.read(path))
        byte_range: Any = (0, _WHOLE_BYTES) if size is None else {"suffix": _FOOTER_BYTES}
        data, start, total = self._run(path, lambda _: self._range(key, byte_range))
        if len(data) == total:
            return pa.BufferReader(data)
        file = RangeFile(total, lambda ranges: self._ranges(path, ranges))
        file.add(start, data)
        if size is None:
            file.prefetch([(total - min(_FOOTER_BYTES, total), total)])
        return RangeStream(file, "r")

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file in one request."""
        key = self._key(path)
        self._run(path, lambda _: obstore.put(self._client, key, data, use_multipart=False))

    def create(self, path: str, data: bytes) -> None:
        """Create a file by a conditional put."""
        key, token = self._key(path), uuid.uuid4().hex

        def attempt(number: int) -> None:
            try:
                obstore.put(self._client, key, data, mode="create", attributes={_TOKEN: token}, use_multipart=False)
            except obstore.exceptions.AlreadyExistsError:
                # The first try may have been done, and only its answer lost.
                if number == 1 or obstore.get(self._client, key).attributes.get(_TOKEN) != token:
                    raise FileExistsError(path) from None

        self._run(path, attempt)

    def read_version(self, path: str) -> FileVersion:
        """Read a whole file with its ETag."""
        key = self._key(path)

        def attempt(_: int) -> FileVersion:
            result = obstore.get(self._client, key)
            return _version(bytes(result.bytes()), result.meta)

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
                return _version(data, result)
            except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
                # The first try may have been done, and only its answer lost.
                there = None if number == 1 else obstore.get(self._client, key)
                if there is None or there.attributes.get(_TOKEN) != token:
                    raise FileExistsError(path) from None
                return _version(data, there.meta)

        try:
            return self._run(path, attempt)
        except FileNotFoundError:
            raise FileExistsError(path) from None

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream: one request for a file of up to 16 MiB, parts for a larger one."""
        key = self._key(path)
        file = UploadFile(
            lambda data: self.write(path, data),
            lambda: obstore.open_writer(self._upload_client, key, buffer_size=_PART_BYTES),
            _PART_BYTES,
        )
        return pa.PythonFile(file, mode="w")

    def create_folder(self, path: str) -> None:
        """Nothing: folders are beginnings of names."""

    def delete_file(self, path: str) -> None:
        """Delete a file; that there is none is not said."""
        key = self._key(path)
        self._run(path, lambda _: obstore.delete(self._client, key))

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files: one request for each 1,000."""
        keys = [self._key(path) for path in paths]
        self._run(paths[0], lambda _: obstore.delete(self._client, keys))

    def delete_tree(self, path: str) -> None:
        """Delete all files whose names begin with a folder."""
        names = self.list_folder(path, recursive=True).column("path").to_pylist()
        self.delete_files([f"{path}/{name}" for name in names])

    def move(self, source: str, target: str) -> None:
        """Copy a file inside the bucket and delete the source."""
        old, new = self._key(source), self._key(target)
        self._run(source, lambda _: obstore.copy(self._client, old, new))
        self.delete_file(source)


def _entries(objects: pa.Table, key: str) -> pa.Table:
    """Objects that a store listed, with paths relative to the listed folder."""
    paths = objects.column("path").cast(pa.string())
    if key:
        paths = pc.utf8_slice_codeunits(paths, len(key) + 1)
    times = objects.column("last_modified").cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
    folders = pa.repeat(pa.scalar(False), objects.num_rows)
    table = pa.table([paths, objects.column("size").cast(pa.int64()), times, folders], schema=LISTING_SCHEMA)
    return table.filter(pc.not_equal(paths, ""))  # without the object that marks the folder itself


def _without_markers(table: pa.Table) -> pa.Table:
    """A listing without objects that mark folders: empty ones whose name, with a slash, begins another's."""
    empty = table.filter(pc.equal(table.column("size"), 0)).column("path")
    if not len(empty):
        return table
    below = table.column("path").filter(pc.match_substring(table.column("path"), "/"))
    parents = pc.replace_substring_regex(below, "/[^/]*$", "")
    return table.filter(pc.invert(pc.and_(pc.equal(table.column("size"), 0), pc.is_in(table.column("path"), parents))))


def _is_empty(error: BaseException) -> bool:
    """Whether a range was refused since it begins at or behind the end of the file."""
    return http_status(error) == 416 or _NOT_PARTIAL in str(error)


def _condition(current: FileVersion) -> dict[str, str]:
    named = (("e_tag", current.e_tag), ("version", current.version))
    return {name: value for name, value in named if value is not None}


def _version(data: bytes, meta: Any) -> FileVersion:  # noqa: ANN401 - obstore's ObjectMeta or PutResult
    return FileVersion(data, meta.get("e_tag"), meta.get("version"))


def _milliseconds(meta: Any) -> int:  # noqa: ANN401 - obstore's ObjectMeta
    return int(meta["last_modified"].timestamp() * 1_000)
