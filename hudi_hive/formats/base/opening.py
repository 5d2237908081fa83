"""Opens base files by the format that their names say.

Source: docs/format.md#base-files, docs/format.md#file-names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, FileVanishedError, PathNotFoundError, UnsupportedFormatError
from hudi_hive.formats.base.base_file import BaseFile
from hudi_hive.formats.base.parquet_base_file import ParquetBaseFile
from hudi_hive.metrics import IoCounters
from hudi_hive.storage import Storage


def open_base_file(storage: Storage, path: str, *, extension: str | None = None, size: int | None = None) -> BaseFile:
    """Open a base file by the extension of its name.

    Args:
        storage: where it is.
        path: relative to its root.
        extension: ``parquet``, ``orc``, ``hfile`` or ``lance`` for a file whose name has none, as Hive's own files.
        size: its size in bytes, from a listing or the commit that wrote it; None if unknown.

    Raises:
        FileVanishedError: it is not there any more.
        CorruptFileError: it is no file of its format, or of another size.
        MissingDependencyError: a Lance file, without the package that reads them.
        UnsupportedFormatError: another extension.
    """
    extension = extension or path.rpartition(".")[2].lower()
    if (opener := _FORMATS.get(extension)) is None:
        raise UnsupportedFormatError(f"base files of format {extension!r} are not supported", path=storage.uri(path))
    try:
        stream = storage.open_input(path, size or None)  # early releases recorded 0
    except PathNotFoundError as error:
        raise FileVanishedError(
            "planned file is not there any more", path=storage.uri(path), remedy="it was cleaned: plan the query again"
        ) from error
    try:
        if size and stream.size() != size:
            raise CorruptFileError(
                f"file has {stream.size()} bytes, and its commit recorded {size}",
                path=storage.uri(path),
                remedy="restore the file or roll its commit back",
            )
        return opener(stream, storage.uri(path), storage.counters, not storage.is_local)
    except BaseException:
        stream.close()
        raise


def _orc(stream: pa.NativeFile, path: str, counters: IoCounters, remote: bool) -> BaseFile:
    from hudi_hive.formats.base.orc_base_file import OrcBaseFile  # few tables have ORC files

    return OrcBaseFile(stream, path, counters, remote)


def _hfile(stream: pa.NativeFile, path: str, counters: IoCounters, remote: bool) -> BaseFile:
    from hudi_hive.formats.base.hfile_base_file import HFileBaseFile  # few tables have HFiles

    return HFileBaseFile(stream, path, counters, remote)


def _lance(stream: pa.NativeFile, path: str, counters: IoCounters, remote: bool) -> BaseFile:
    from hudi_hive.formats.base.lance_base_file import LanceBaseFile  # few tables have Lance files

    return LanceBaseFile(stream, path, counters, remote)


_FORMATS: Final[dict[str, Callable[[pa.NativeFile, str, IoCounters, bool], BaseFile]]] = {
    "parquet": ParquetBaseFile,
    "orc": _orc,
    "hfile": _hfile,
    "lance": _lance,
}
