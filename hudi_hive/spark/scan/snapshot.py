"""One table for one statement: a meta client read at one moment, and the plans made with it."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.plan import Query, QueryType, ScanPlan, narrowed_plan, plan_scan
from hudi_hive.plan.core import check_time_travel, partitions_matching, with_configured_listing
from hudi_hive.predicate import RowFilter
from hudi_hive.spark.bridge import DIRECTORY_SCHEMA
from hudi_hive.spark.scan.evolution import unlike
from hudi_hive.spark.scan.labels import FileLabels, has_doubtful_times, orc_changes_times
from hudi_hive.spark.scan.listings import ListingCache, QueryCache, query_cache_of
from hudi_hive.spark.scan.schema import spark_schema
from hudi_hive.spark.scan.skeletons import SkeletonSources
from hudi_hive.spark.scan.widened import BY_ARROW, may_be_widened, narrower
from hudi_hive.table import MetaClient
from hudi_hive.table.bootstrap import of_skeletons
from hudi_hive.table.keys import partition_value_columns
from hudi_hive.table.view import FilteredPartitions, FolderFilter, SpreadListing
from hudi_hive.timeline import instant_to_millis

_LISTINGS = ListingCache()
_GLOB = re.compile(r"/\*+(?=/|$)")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")


def refuse_globs(path: str) -> None:
    """Refuse a path with ``*`` for folders, as readers of Hudi's first releases wanted it.

    Raises:
        InvalidOptionError: it is one.
    """
    if _GLOB.search(path):
        raise InvalidOptionError(
            "a Hudi table is read by its base path, which has no globs",
            path=path,
            remedy=f"give {_GLOB.split(path)[0] or path!r}, or the base path above it; WHERE on partition columns "
            "leaves partitions out",
        )


def location_of(path: str | os.PathLike[str]) -> str:
    """A path as Hadoop writes it: local paths as ``file:/…``."""
    text = os.fspath(path)
    refuse_globs(text)
    return text if _SCHEME.match(text) else "file:" + os.path.abspath(text)


@dataclass(frozen=True, slots=True)
class PlannedFiles:
    """Files of one listing.

    Attributes:
        files: a table of ``DIRECTORY_SCHEMA``, sorted by partition.
        modified_ms: the time of each file's commit, milliseconds since the epoch.
        partitions_total, partitions_planned: partitions of the table (or the range), or those that were chosen before;
            and those with a planned file.
        skipped: files left out by what the metadata table tells of their rows.
        records_only: how many of the files, the last ones, stand for slices of which nothing but log records is read.
    """

    files: pa.Table
    modified_ms: npt.NDArray[np.int64]
    partitions_total: int
    partitions_planned: int
    skipped: int = 0
    records_only: int = 0

    @property
    def opened(self) -> pa.Table:
        """The files without those that stand for log records."""
        return self.files.slice(0, self.files.num_rows - self.records_only)


class TableSnapshot:
    """One table at one moment, for one query.

    The timeline is read once, when the snapshot is made; whatever is planned later, by any thread, is of that moment.

    Args:
        location: base path as Hadoop writes it (``file:/…``, ``s3a://…``): file paths given to Spark start with it.
        query: the question.
        storage_options: for this package's own file access.
        partition_fields: the catalog's names for what the folders of a partition path stand for, which a sync may have
            chosen; the table's own without any, and when they are the same names: the table knows their order.
        spread: gives how executors list the folders, and is asked if the table has to be listed.

    Raises:
        TableError, TimelineError: the table cannot be read.
    """

    def __init__(
        self,
        location: str,
        query: Query,
        storage_options: Mapping[str, Any] | None = None,
        partition_fields: Sequence[str] | None = None,
        spread: Callable[[], SpreadListing] | None = None,
    ) -> None:
        self._spread = spread
        self.location = location.rstrip("/")
        self.query = query
        # All that a statement asks of partitions and files has one answer, from the metadata table where there is one.
        self.client = with_configured_listing(
            _LISTINGS.take_over(MetaClient.load(self.location, storage_options), spread), query.options
        )
        timeline = self.client.timeline
        if query.as_of is not None:
            check_time_travel(self.client, query.as_of)
        config = self.client.config
        own, given = config.partition_fields, tuple(partition_fields or ())
        renamed = {name.lower() for name in given} != {name.lower() for name in own}
        self.partition_fields = given if given and renamed else own
        instants = timeline.instants
        # Any change of the timeline may change what is visible; equal tokens mean equal rows.
        self.token = f"{self.location}|{query}|{hash(instants)}|{len(instants)}"
        # Whoever has the metadata table validated wants that for each statement.
        self._answers = QueryCache() if query.options.metadata_validate else query_cache_of(self.client)
        self._lock = threading.Lock()
        self._fixed: ScanPlan | None = None
        self._some: tuple[tuple[str, ...], ScanPlan] | None = None

    @property
    def may_have_logs(self) -> bool:
        """Whether slices of the query may have log files to merge."""
        return self.client.config.is_merge_on_read and self.query.query_type in (
            QueryType.SNAPSHOT,
            QueryType.INCREMENTAL,
        )

    @property
    def evolves(self) -> bool:
        """Whether the table's schema goes by ids, so that older files may call columns by other names."""
        return self.query.options.schema_evolution is not False and self._answers.get(
            ("evolves", self.query.as_of), lambda: self.client.evolved_schema(self.query.as_of) is not None
        )

    @property
    def columns(self) -> StructType:
        """The columns that the query shows, in Spark's types (:func:`spark_schema`); not to be changed."""
        time = self.schema_time
        return self._answers.get(("columns", time), lambda: spark_schema(self.client, time))

    @property
    def may_be_split(self) -> bool:
        """Whether Spark's own reader may not be able to read all slices of the query."""
        return self.may_have_logs or (
            self.query.query_type is not QueryType.CDC
            and (self.evolves or self.doubts_files or self.lacks_reader or self.has_skeletons)
        )

    @property
    def has_skeletons(self) -> bool:
        """Whether base files may be skeletons, whose other columns are in files of the table's source."""
        return self.client.config.is_bootstrapped

    @property
    def lacks_reader(self) -> bool:
        """Whether Spark has no reader of its own for the base files, or one that reads times as others."""
        file_format, time = self.client.config.base_file_format, self.query.as_of
        return file_format in BY_ARROW or (
            file_format == "orc"
            and self._answers.get(("orc_times", time), lambda: orc_changes_times(self.client.schema(time)))
        )

    @property
    def doubts_times(self) -> bool:
        """Whether base files may label timestamps wrongly, so that Spark's own reader has other times of them."""
        time = self.query.as_of
        return self._answers.get(
            ("doubts_times", time), lambda: has_doubtful_times(self.client.config, self.client.schema(time))
        )

    @property
    def doubts_widths(self) -> bool:
        """Whether base files may have narrower columns than a table without a history of schemas."""
        time = self.query.as_of
        return not self.evolves and self._answers.get(
            ("doubts_widths", time), lambda: may_be_widened(self.client, time)
        )

    @property
    def doubts_files(self) -> bool:
        """Whether base files may have other types than the table's, so that it depends on columns who reads them."""
        return self.doubts_times or self.doubts_widths

    @property
    def schema_time(self) -> str | None:
        """Requested time whose schema the query shows; None for the newest."""
        if self.query.query_type is QueryType.INCREMENTAL and self.query.options.end_instant_schema:
            times = self.fixed_plan().commit_times
            return times[-1].as_py() if times is not None and len(times) else None
        return self.query.as_of

    def fixed_plan(self) -> ScanPlan:
        """The plan of the whole query, made once."""
        with self._lock:
            return self._whole()

    def _whole(self) -> ScanPlan:
        if self._fixed is None:
            self._fixed = self._answers.get(("plan", str(self.query)), lambda: plan_scan(self.client, self.query))
        return self._fixed

    def _check_names(self, plan: ScanPlan) -> None:
        """Refuse files of another format, of another version of the schema, or with wrong labels.

        Spark's reader goes by names and labels.
        """
        if self.lacks_reader and plan.slices.num_rows:
            raise UnsupportedTableError(
                f"Spark has no right reader of {self.client.config.base_file_format} files, and rows that come by "
                "Arrow are not files",
                path=self.location,
                remedy="query the table in place of its list of files",
            )
        if self.has_skeletons and pc.any(of_skeletons(plan.slices), min_count=0).as_py():
            raise UnsupportedTableError(
                "base files of a bootstrapped table are read side by side with those of its source, and rows that come "
                "by Arrow are not files",
                path=self.location,
                remedy="query the table in place of its list of files",
            )
        for (different, column), what in (
            (unlike(plan), "has another name or type in older files (schema evolution on read)"),
            (self._mislabelled(plan), "is a timestamp that older files label as something else"),
            (self._narrower(plan), "has a narrower type in older files"),
        ):
            if column is not None:
                instant = plan.slices.filter(different).column("base_instant")[0].as_py()
                raise UnsupportedTableError(
                    f"column {column} {what}",
                    path=self.location,
                    instant=instant,
                    remedy="read it with HudiTable.scan, or rewrite the files with clustering",
                )

    def _mislabelled(self, plan: ScanPlan, columns: StructType | None = None) -> tuple[pa.Array, str | None]:
        if not self.doubts_times:
            return pa.array(np.zeros(plan.slices.num_rows, np.bool_)), None
        return self._answers.get("labels", FileLabels).wrong(self.client.storage, plan, columns)

    def _narrower(self, plan: ScanPlan, columns: StructType | None = None) -> tuple[pa.Array, str | None]:
        if not self.doubts_widths:
            return pa.array(np.zeros(plan.slices.num_rows, np.bool_)), None
        return narrower(self._answers.get("labels", FileLabels), self.client.storage, plan, columns)

    def _unreadable(self, plan: ScanPlan, columns: StructType | None) -> pa.Array:
        """Which of a plan's base files have another name or type for a column than Spark's own reader takes."""
        renamed, mislabelled = unlike(plan, columns)[0], self._mislabelled(plan, columns)[0]
        return pc.or_(pc.or_(renamed, mislabelled), self._narrower(plan, columns)[0])

    def for_arrow(
        self, plan: ScanPlan, columns: StructType | None = None, from_path: Collection[str] = ()
    ) -> pa.ChunkedArray:
        """Which of a plan's slices Spark's own reader cannot read.

        Args:
            plan: of any query.
            columns: those that a scan reads; all without it.
            from_path: columns that Spark takes from partition paths.
        """
        if self.lacks_reader:
            return pa.chunked_array([pa.array(np.ones(plan.slices.num_rows, np.bool_))])
        others = pc.or_(with_logs(plan), self._unreadable(plan, columns))
        if not self.has_skeletons:
            return others
        sources = self._skeleton_sources.readable(self.client.storage, plan, columns, from_path)
        return pc.or_(others, pc.and_(of_skeletons(plan.slices), pa.array(~sources)))

    @property
    def _skeleton_sources(self) -> SkeletonSources:
        return self._answers.get("skeleton sources", SkeletonSources)

    def with_effects(self, plan: ScanPlan, columns: StructType | None = None) -> pa.ChunkedArray:
        """Which of a plan's slices have log files, and a base file that Spark's own reader can read or none."""
        return pc.and_(with_logs(plan), pc.invert(self._unreadable(plan, columns)))

    def partition_paths(self) -> list[str]:
        """Partitions of the table, or of an incremental query's range, sorted."""
        with self._lock:
            if self._fixed is not None or self.query.begin is not None:
                return sorted(pc.unique(self._whole().slices.column("partition")).to_pylist())
            return list(self._answers.get(("partitions", str(self.query)), self.client.partition_paths))

    @property
    def walks_folders(self) -> bool:
        """Whether partitions are found by listing folders that have not been listed yet."""
        if self._fixed is not None or self.query.query_type.has_range or self.query.options.metadata_validate:
            return False
        return self.client.config.is_partitioned and not self.client.lister.lists_at_once

    def partitions_matching(self, row_filter: RowFilter | None) -> FilteredPartitions:
        """The partitions of the query that may hold rows passing a filter, and perhaps others.

        Where folders are listed, those that the filter rules out are not.

        Args:
            row_filter: bound to the table's schema.
        """
        is_own = self.partition_fields == self.client.config.partition_fields
        if row_filter is None or not is_own or not self.walks_folders:
            return FilteredPartitions(self.partition_paths(), 0)
        return partitions_matching(self.client, row_filter)

    def partitions_within(self, may_match: FolderFilter) -> FilteredPartitions:
        """The partitions that a filter of folders leaves; asked where the snapshot :attr:`walks_folders`."""
        return self.client.lister.partitions_matching(may_match)

    def partition_texts(self, paths: Sequence[str]) -> pa.Table:
        """Values in partition paths as text, a column per partition field, a row per path.

        Raises:
            PartitionValueError: a path does not fit the fields.
        """
        config = self.client.config
        return partition_value_columns(
            pa.array(paths, pa.string()),
            self.partition_fields,
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
        )

    def plan(self, partitions: Sequence[str] | None = None) -> ScanPlan:
        """The plan of some partitions, or of all; the last one is cached.

        Raises:
            HudiHiveError: whatever planning refuses.
        """
        with self._lock:
            if partitions is None:
                return self._whole()
            if self._fixed is not None or self.query.begin is not None:
                plan = self._whole()
                kept = pc.is_in(plan.slices.column("partition"), value_set=pa.array(partitions, pa.string()))
                return replace(plan, slices=plan.slices.filter(kept))
            key = tuple(partitions)
            if self._some is None or self._some[0] != key:
                self._some = key, plan_scan(self.client, self.query, partitions=partitions)
            return self._some[1]

    @property
    def has_indexes(self) -> bool:
        """Whether the metadata table has an index that leaves out files without rows that pass a filter."""
        indexes = set(self.client.config.metadata_partitions) - {"files"}
        return bool(indexes) and self.query.options.data_skipping

    def narrowed(self, plan: ScanPlan, row_filter: RowFilter) -> ScanPlan:
        """A plan of this snapshot with a filter."""
        with self._lock:
            return narrowed_plan(self.client, plan, row_filter)

    def files(
        self,
        partitions: Sequence[str] | None = None,
        *,
        beside_logs: bool = False,
        but: Sequence[str] = (),
        columns: StructType | None = None,
        from_path: Collection[str] = (),
        row_filter: RowFilter | None = None,
    ) -> PlannedFiles:
        """The base files for Spark's own reader, of some partitions or of all.

        Args:
            partitions: paths of partitions.
            beside_logs: leave out slices of :meth:`for_arrow`, which are read elsewhere, in place of refusing them.
            but: base files of slices with log files that are not left out, by their paths below the table's.
            columns: those that are read, where that is known.
            from_path: columns that Spark takes from partition paths.
            row_filter: leave out files that hold no row passing it, as far as the metadata table tells.

        Raises:
            UnsupportedTableError: change data, log files, or a file of another version of the schema.
            UnsafePathError: a partition is a symbolic link out of the table.
            HudiHiveError: whatever planning refuses.
        """
        plan = self.plan(partitions)
        if beside_logs:
            own = pc.is_in(plan.slices.column("path"), value_set=pa.array(but, pa.string()))
            plan = replace(
                plan, slices=plan.slices.filter(pc.or_(own, pc.invert(self.for_arrow(plan, columns, from_path))))
            )
        else:
            plan.require_base_files("Spark's own reader")
            self._check_names(plan)
        before = plan.slices.num_rows
        if row_filter is not None:
            plan = self.narrowed(plan, row_filter)
        skipped = before - plan.slices.num_rows
        slices = plan.slices.filter(pc.is_valid(plan.slices.column("base_file")))
        slices = slices.sort_by([("partition", "ascending"), ("path", "ascending")])
        partition, size = slices.column("partition"), slices.column("base_size")
        for folder in pc.unique(partition).to_pylist():
            self.client.storage.check_read(folder)  # Spark opens files by itself, through whatever links
        path = pc.binary_join_element_wise(self.location, slices.column("path"), "/")
        if self.has_skeletons:
            path, size = self._with_sources(slices, path, size)
        files = pa.table([partition, path, size], schema=DIRECTORY_SCHEMA)
        total = len(self.partition_paths() if partitions is None else partitions)
        return PlannedFiles(files, self._modified(slices), total, len(pc.unique(partition)), skipped)

    def _with_sources(
        self, slices: pa.Table, paths: pa.ChunkedArray, sizes: pa.ChunkedArray
    ) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Paths and sizes of files, with those of source files in place of skeletons'."""
        mask = of_skeletons(slices)
        own = slices.column("path").to_pylist()
        skeletons = [path for path, is_one in zip(own, mask.to_pylist(), strict=True) if is_one]
        sources = self._skeleton_sources.of(self.client.storage, skeletons)
        uris = pa.array([sources[path].uri if path in sources else None for path in own], pa.string())
        bytes_of = pa.array([sources[path].size if path in sources else None for path in own], pa.int64())
        return pc.coalesce(uris, paths), pc.coalesce(bytes_of, sizes)

    def _modified(self, slices: pa.Table) -> npt.NDArray[np.int64]:
        """The requested time of each slice: files are never changed after it, and it needs no listing."""
        codes = slices.column("base_instant").combine_chunks().dictionary_encode()
        zone = self.client.config.timezone
        times = np.array([instant_to_millis(text, zone) for text in codes.dictionary.to_pylist()], np.int64)
        return times[codes.indices.to_numpy(zero_copy_only=False)] if len(times) else np.zeros(0, np.int64)

    def renewed(self) -> TableSnapshot:
        """The same query of the current state of the table."""
        options = self.client.storage.storage_options
        return TableSnapshot(self.location, self.query, options, self.partition_fields, self._spread)


def with_logs(plan: ScanPlan) -> pa.ChunkedArray:
    """Which of a plan's slices have log files."""
    return pc.greater(pc.list_value_length(plan.slices.column("log_files")), 0)
