"""Opens base files of a table: skeletons together with the source file that holds their other columns."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from hudi_hive.errors import FileVanishedError, PathNotFoundError, UnsupportedTableError
from hudi_hive.formats.base import BaseFile, open_base_file
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap.names import RESTORE_SOURCE, is_skeleton
from hudi_hive.table.bootstrap.stitched import StitchedFile
from hudi_hive.table.properties import TableConfig
from hudi_hive.timeline.instants import METADATA_BOOTSTRAP_INSTANT

if TYPE_CHECKING:
    from hudi_hive.table.bootstrap.index import BootstrapIndex, SourceFile


def open_table_file(storage: Storage, path: str, *, size: int | None = None) -> BaseFile:
    """Open a base file of a table with all its columns: a skeleton is read side by side with its source file.

    Args:
        storage: rooted at the table's base path.
        path: relative to it.
        size: bytes of the file, from a listing or the commit that wrote it; None if unknown.

    Raises:
        FileVanishedError, CorruptFileError, UnsupportedFormatError: as :func:`~hudi_hive.formats.base.open_base_file`.
        PathNotFoundError: a skeleton's source file, or the bootstrap index, is not there.
        CorruptFileError: the source file has another size than when the table was bootstrapped, or other rows than the
            skeleton.
        UnsupportedTableError: nothing tells the source of a skeleton.
    """
    if not is_skeleton(path) or (sources := _sources_of(storage)) is None:
        return open_base_file(storage, path, size=size)
    skeleton = open_base_file(storage, path, size=size)
    try:
        return StitchedFile(skeleton, sources.open(path))
    except BaseException:
        skeleton.close()
        raise


def source_file(storage: Storage, path: str) -> str | None:
    """The URI of the source file of a skeleton; None for another base file.

    Arguments and errors are those of :func:`open_table_file`.
    """
    if not is_skeleton(path) or (sources := _sources_of(storage)) is None:
        return None
    return sources.storage.uri(sources.of(path).path)


@dataclass
class _Sources:
    """The source of a bootstrapped table.

    Attributes:
        table: storage of the table.
        storage: of the source, rooted at its base path.
        index: tells the source's files.
    """

    table: Storage
    storage: Storage
    index: BootstrapIndex

    def of(self, path: str) -> SourceFile:
        """The source of a skeleton."""
        partition, _, name = path.rpartition("/")
        file_id = name.partition("_")[0]
        source = self.index.source_of(partition, file_id)
        if source is None:  # the table may have been made anew since
            self.index = _read_index(self.table)
            source = self.index.source_of(partition, file_id)
        if source is None:
            raise _no_source(self.table, path, "the bootstrap index has no entry of its file group")
        return source

    def open(self, path: str) -> BaseFile:
        """Open the source file of a skeleton."""
        source = self.of(path)
        try:
            return open_base_file(self.storage, source.path, size=source.size)
        except FileVanishedError as error:
            raise PathNotFoundError(
                f"the source file of the skeleton {self.table.uri(path)} is not there",
                path=self.storage.uri(source.path),
                instant=METADATA_BOOTSTRAP_INSTANT,
                remedy=RESTORE_SOURCE,
            ) from error


_SOURCES: WeakKeyDictionary[Storage, _Sources] = WeakKeyDictionary()
_LOCK: Final = threading.Lock()


def _sources_of(storage: Storage) -> _Sources | None:
    """The source of a table, looked up once for each storage; None if the table was not bootstrapped."""
    with _LOCK:
        known = _SOURCES.get(storage)
    if known is not None:
        return known
    config = TableConfig.load(storage)
    base_path = config.bootstrap_base_path
    if base_path is None:
        return None
    if not config.bootstrap_index_enabled:
        raise UnsupportedTableError(
            "skeletons of a table whose bootstrap index is off (hoodie.bootstrap.index.enable, .class or .type)",
            path=storage.uri(),
            instant=METADATA_BOOTSTRAP_INSTANT,
            remedy="turn the index on, without which nothing tells the other columns of these files",
        )
    source = Storage(base_path, storage.storage_options, counters=storage.counters)
    sources = _Sources(storage, source, _read_index(storage))
    with _LOCK:
        return _SOURCES.setdefault(storage, sources)


def _no_source(storage: Storage, path: str, why: str) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"a skeleton without a source file: {why}",
        path=storage.uri(path),
        instant=METADATA_BOOTSTRAP_INSTANT,
        remedy="restore the bootstrap index, or bootstrap the table again",
    )


def _read_index(table: Storage) -> BootstrapIndex:
    from hudi_hive.table.bootstrap.index import BootstrapIndex  # few tables are bootstrapped

    return BootstrapIndex(table)
