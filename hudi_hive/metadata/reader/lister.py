"""Listers that take partitions and files from the metadata table, from folders, or compare both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import pyarrow as pa

from hudi_hive.errors import HudiHiveError, MetadataTableError
from hudi_hive.metadata.reader.keys import paths_below
from hudi_hive.metadata.reader.table import MetadataTable
from hudi_hive.metadata.reader.validation import (
    ValidationReport,
    committed_files,
    compare_external_files,
    compare_listings,
)
from hudi_hive.metrics import METADATA_METRICS, MetadataMetrics
from hudi_hive.table import MetaClient
from hudi_hive.table.core import external_commit
from hudi_hive.table.keys import METAFOLDER
from hudi_hive.table.view import DirectoryLister, FilteredPartitions, FolderFilter, Lister, in_batches, walk

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

METADATA_SOURCE: Final = "metadata table"
""":attr:`MetadataLister.source` while the metadata table answers."""


@dataclass(frozen=True, slots=True)
class MetadataListing:
    """Makes the lister of a client: pass it to :class:`~hudi_hive.table.MetaClient` as ``listing``.

    Attributes:
        enable: ``hoodie.metadata.enable``: use the metadata table where the table has one.
        validate: ``hoodie.metadata.validate``: list folders as well, compare, log and count differences, and answer
            with the listing.
        required: a metadata table that cannot be used is an error; no folder is listed in its place.
    """

    enable: bool = True
    validate: bool = False
    required: bool = False

    def __call__(self, client: MetaClient) -> Lister:
        """The lister of a client."""
        if not self.enable:
            return _Listed(client, "hoodie.metadata.enable=false")
        if self.validate:
            return ValidatingLister(client)
        return MetadataLister(client, required=self.required)


class _Listed:
    """Directory listings, and why."""

    def __init__(self, client: MetaClient, reason: str) -> None:
        self._lister = client.directory_lister
        self._reason = reason

    @property
    def source(self) -> str:
        return f"{self._lister.source} ({self._reason})"

    @property
    def lists_at_once(self) -> bool:
        return self._lister.lists_at_once

    @property
    def is_authoritative(self) -> bool:
        return self._lister.is_authoritative

    def partitions(self) -> list[str]:
        return self._lister.partitions()

    def partitions_matching(self, may_match: FolderFilter) -> FilteredPartitions:
        return self._lister.partitions_matching(may_match)

    def partition_batches(self, may_match: FolderFilter | None = None) -> Iterator[list[str]]:
        return self._lister.partition_batches(may_match)

    def files(self, partitions: Sequence[str]) -> pa.Table:
        return self._lister.files(partitions)


class MetadataLister:
    """Lists from the metadata table, or from folders once the metadata table turns out to be unusable.

    A table without metadata table is listed as it ever was; one whose metadata table is damaged or behind is listed
    with a warning in the log. Either way :attr:`source` tells. With ``required`` there is no other way: all methods
    then raise what the metadata table does.
    """

    def __init__(
        self, client: MetaClient, metrics: MetadataMetrics = METADATA_METRICS, *, required: bool = False
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._required = required
        self._fallback: _Listed | None = None

    @property
    def source(self) -> str:
        """``metadata table``, or ``directory listing`` and the reason in brackets."""
        if self._fallback is None:
            self._ask(lambda table: table)
        return METADATA_SOURCE if self._fallback is None else self._fallback.source

    @property
    def lists_at_once(self) -> bool:
        """True for the metadata table; for folders when all were listed already."""
        if self._fallback is None:
            self._ask(lambda table: table)
        return self._fallback is None or self._fallback.lists_at_once

    @property
    def is_authoritative(self) -> bool:
        """True while the metadata table is used."""
        return self._fallback is None

    def listed_partitions(self) -> list[str] | None:
        """All partitions in the metadata table; None if it is unusable, without listing folders instead."""
        return self._ask(lambda table: table.partitions())

    def partitions(self) -> list[str]:
        """All partitions: one look-up."""
        answer = self._ask(lambda table: table.partitions())
        return answer if answer is not None else self._listed.partitions()

    def partitions_matching(self, may_match: FolderFilter) -> FilteredPartitions:
        """All partitions: one look-up. Where folders are listed, those that the filter leaves."""
        answer = self._ask(lambda table: table.partitions())
        return FilteredPartitions(answer, 0) if answer is not None else self._listed.partitions_matching(may_match)

    def partition_batches(self, may_match: FolderFilter | None = None) -> Iterator[list[str]]:
        """All partitions: one look-up. Where folders are listed, those that the filter leaves."""
        answer = self._ask(lambda table: table.partitions())
        return in_batches(answer) if answer is not None else self._listed.partition_batches(may_match)

    def files(self, partitions: Sequence[str]) -> pa.Table:
        """Files of partitions: one look-up for all of them."""
        answer = self._ask(lambda table: table.files_table(partitions))
        return answer if answer is not None else self._listed.files(partitions)

    @property
    def _listed(self) -> _Listed:
        assert self._fallback is not None
        return self._fallback

    def _ask(self, question: Callable[[MetadataTable], _T]) -> _T | None:
        if self._fallback is not None:
            return None
        try:
            return question(MetadataTable.open(self._client, metrics=self._metrics))
        except HudiHiveError as error:
            if self._required:
                raise
            _fall_back(error, self._metrics)
            self._fallback = _Listed(self._client, error.message)
            return None


def _fall_back(error: HudiHiveError, metrics: MetadataMetrics) -> None:
    metrics.add("fallback")
    off = isinstance(error, MetadataTableError) and error.message.endswith((" is off", " is being built"))
    _log.log(logging.INFO if off else logging.WARNING, "folders are listed in place of the metadata table: %s", error)


class ValidatingLister:
    """Lists from the metadata table and from folders, logs and counts differences, and returns the listing."""

    def __init__(self, client: MetaClient, metrics: MetadataMetrics = METADATA_METRICS) -> None:
        self._client = client
        self._metrics = metrics
        self._lister = client.directory_lister

    @property
    def source(self) -> str:
        """Name of the source."""
        return "directory listing (hoodie.metadata.validate=true)"

    @property
    def lists_at_once(self) -> bool:
        """Whether all folders were listed already."""
        return self._lister.lists_at_once

    @property
    def is_authoritative(self) -> bool:
        """False: folders may hold files of an earlier table."""
        return self._lister.is_authoritative

    def partitions(self) -> list[str]:
        """List all partitions and compare them with those of the metadata table."""
        partitions = self._lister.partitions()
        with self._metrics.timed("validate_partitions"):
            self._compare(partitions, lambda table: table.partitions())
        return partitions

    def partitions_matching(self, may_match: FolderFilter) -> FilteredPartitions:
        """All partitions, since a comparison needs them."""
        return FilteredPartitions(self.partitions(), 0)

    def partition_batches(self, may_match: FolderFilter | None = None) -> Iterator[list[str]]:
        """List all partitions and compare them with those of the metadata table before the first is returned."""
        return in_batches(self.partitions())

    def files(self, partitions: Sequence[str]) -> pa.Table:
        """List files and compare them with those of the metadata table."""
        files = self._lister.files(partitions)
        with self._metrics.timed("validate_files"):
            self._compare(partitions, lambda table: None, files)
        return files

    def _compare(
        self, partitions: Sequence[str], ask: Callable[[MetadataTable], list[str] | None], files: pa.Table | None = None
    ) -> None:
        try:
            table = MetadataTable.open(self._client, metrics=self._metrics)
            answer = ask(table)
            if files is None:
                report = compare_listings(self._client, partitions, None, answer or [], None)
            else:
                report = compare_listings(self._client, partitions, files, partitions, table.files_table(partitions))
        except HudiHiveError as error:
            _fall_back(error, self._metrics)
            if not isinstance(error, MetadataTableError):
                self._metrics.add("validate_errors")
            return
        if not report.is_valid:
            self._metrics.add("validate_errors", report.errors)
            _log.warning("the metadata table differs from the listing of %s: %s", self._client.base_path, report)


class SubListing(NamedTuple):
    """Partitions of a table, all or those below some paths, and where they were learnt from.

    Attributes:
        partitions: their paths, sorted.
        source: ``metadata table``, or ``directory listing`` and the reason in brackets.
    """

    partitions: list[str]
    source: str

    @property
    def is_fallback(self) -> bool:
        """Whether folders were listed in place of the metadata table."""
        return self.source != METADATA_SOURCE


def list_partitions(client: MetaClient, below: Sequence[str] = ()) -> SubListing:
    """List the partitions at or below some paths, by the metadata table or, where that cannot be used, by folders.

    Only the folders below the paths are listed then.

    Args:
        client: the table.
        below: paths relative to the base path, or URIs that begin with it; the whole table without any.

    Raises:
        UnsafePathError: a path leads out of the table.
    """
    roots = [relative_path(client, path) for path in below]
    if not client.config.is_partitioned:
        partitions = paths_below(client.partition_paths(), roots)
        return SubListing(partitions, client.lister.source)
    lister = client.lister
    source = lister.source  # asks the metadata table
    if source == METADATA_SOURCE or not roots or "" in roots or lister.lists_at_once:
        return SubListing(paths_below(client.partition_paths(), roots), lister.source)
    distinct = [path for path in dict.fromkeys(roots) if path.partition("/")[0] != METAFOLDER]
    outermost = [path for path in distinct if not any(path.startswith(f"{other}/") for other in distinct)]
    return SubListing(walk(client.storage, outermost)[0], source)


def list_committed(client: MetaClient, partitions: Sequence[str] | None = None) -> pa.Table:
    """The committed files of partitions, or of all, a table of ``FILES_SCHEMA``.

    They are the same by the metadata table and, where that cannot be used, by folders; but these also show log files of
    version 6 in which a dead writer alone has written, since their names carry the time of a completed commit.
    """
    files = client.list_files(partitions)
    return files if client.lister.source == METADATA_SOURCE else committed_files(client, files)


def relative_path(client: MetaClient, path: str) -> str:
    """A path below a table, relative to its base path; one that begins with the base path loses it."""
    for base in (client.base_path, client.storage.root):
        if path == base or path.startswith(f"{base.rstrip('/')}/"):
            return path[len(base) :].strip("/")
    return path.strip("/")


def validate(client: MetaClient, metrics: MetadataMetrics = METADATA_METRICS) -> ValidationReport:
    """Compare all partitions and files in the metadata table with a new listing of folders.

    Args:
        client: the table.
        metrics: where the comparison is counted.

    Raises:
        MetadataTableError: there is no metadata table to compare.
    """
    table = MetadataTable.open(client, metrics=metrics)
    lister = DirectoryLister(client.storage)
    with metrics.timed("validate_files"):
        if external_commit(client) is not None:
            report = compare_external_files(client, table.files_table(None))
        else:
            partitions = lister.partitions() if client.config.is_partitioned else [""]
            report = compare_listings(
                client, partitions, lister.files(partitions), table.partitions(), table.files_table(None)
            )
    if not report.is_valid:
        metrics.add("validate_errors", report.errors)
    return report
