"""A metadata table as real Hudi's own classes read it, beside what they find without it; runs in ``hudi_peer_main.py``.

What is compared is what Hudi's ``HoodieMetadataTableValidator`` compares: partitions, latest base files, latest file
slices, all file groups, statistics of columns and partitions, bloom filters, and the records of the record index and of
a secondary index. Both sides are Hudi's: its listing of folders, the footers of its Parquet reader, the blocks of its
log reader and the rows of its query on one side, its reader of the metadata table on the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_RECORD_INDEX, _SECONDARY_INDEX, _PARTITION_STATS = 5, 7, 6
_FOLDERS = {5: "record_index", 6: "partition_stats", 7: "secondary_index_"}
"""What the folder of the records of a type is called, or begins with."""
_LOCATION = ("partitionName", "fileIdEncoding", "fileIdHighBits", "fileIdLowBits", "fileIndex", "fileId", "instantTime")
_PARTITION_KEY = 24
"""Length of a key of the statistics of partitions: hashes of a column and of a partition."""
_BUFFER = 1 << 20
_NULL = "\0"
"""What a secondary index has in place of a null."""
_SHOWN = 6
_LONGEST = 400


class Comparison:
    """One table; :meth:`run` compares all that its metadata table has.

    Args:
        session: Spark's.
        path: base path of the table.
        release: of Hudi.
    """

    def __init__(self, session, path: str, release: str) -> None:
        self.session, self.path = session, path
        self.has_definitions = not release.startswith("0.")
        self.has_versions = self.has_definitions and not release.startswith("1.0")  # of each index
        self.hudi = session._jvm.org.apache.hudi
        java = session.sparkContext._jsc
        storage = self.hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(java.hadoopConfiguration())
        self.client = self.hudi.common.table.HoodieTableMetaClient.builder().setConf(storage).setBasePath(path).build()
        self.storage = self.client.getStorage()
        self.engine = self.hudi.client.common.HoodieSparkEngineContext(java)
        self.partitions = set(self.client.getTableConfig().getMetadataPartitions())
        self.counts: Counter[str] = Counter()
        self.differences: list[str] = []

    def run(self) -> dict[str, object]:
        """How many things of each kind were compared, and which differ."""
        on, off = (
            self.hudi.common.config.HoodieMetadataConfig.newBuilder().enable(enabled).build()
            for enabled in (True, False)
        )
        factory = (
            self.client.getTableFormat().getMetadataFactory()
            if self.has_versions
            else self.hudi.metadata.HoodieTableMetadata
        )
        self.metadata, folders = (factory.create(self.engine, self.storage, config, self.path) for config in (on, off))
        names = set(folders.getAllPartitionPaths())
        self.same("partitions", set(self.metadata.getAllPartitionPaths()), names)
        view = self.hudi.common.table.view.FileSystemViewManager.createInMemoryFileSystemView
        listed, there = (view(self.engine, self.client, config) for config in (on, off))
        slices = {name: list(there.getLatestFileSlices(name).toArray()) for name in names}
        for name in names:
            self.views(name, listed, there)
        if "column_stats" in self.partitions:
            self.column_stats(slices)
        if "bloom_filters" in self.partitions:
            self.bloom_filters(slices)
        if "record_index" in self.partitions:
            self.record_index()
        for name in sorted(name for name in self.partitions if name.startswith("secondary_index_")):
            self.secondary_index(name)
        for one in (listed, there, self.metadata):
            one.close()
        return {"counts": dict(self.counts), "differences": self.differences}

    def same(self, what: str, metadata: Iterable[object], table: Iterable[object]) -> None:
        """Compare entries of the metadata table with those of the table; each time one is there counts."""
        left, right = Counter(metadata), Counter(table)
        self.counts[what] += right.total()
        for where, more in (("metadata table", left - right), ("table", right - left)):
            entries = sorted(map(str, more.elements()))
            self.differences += [f"{what}: only the {where} has {entry[:_LONGEST]}" for entry in entries[:_SHOWN]]

    # -- listings ----------------------------------------------------------------------------------------------------

    def views(self, partition: str, listed, there) -> None:
        """Latest base files, latest file slices and all file groups of a partition."""
        sides = []
        for view in (listed, there):
            files = [base_file(one) for one in view.getLatestBaseFiles(partition).toArray()]
            latest = [file_slice(one) for one in view.getLatestFileSlices(partition).toArray()]
            groups = view.getAllFileGroups(partition).toArray()
            every = [file_slice(one) for group in groups for one in group.getAllFileSlices().toArray()]
            sides.append((files, latest, every))
        for what, left, right in zip(
            ("latest base files", "latest file slices", "all file groups"), *sides, strict=True
        ):
            self.same(what, [(partition, one) for one in left], [(partition, one) for one in right])

    # -- statistics --------------------------------------------------------------------------------------------------

    def column_stats(self, slices: dict[str, list]) -> None:
        """Statistics of the files of the latest slices; those of partitions are what these make together."""
        columns = self.columns()
        together: dict[tuple[str, str], list] = {}
        for partition, several in slices.items():
            names = [base_file(one.getBaseFile().get())[0] for one in several if one.getBaseFile().isPresent()]
            if self.has_definitions:  # Hudi 0.15.0 reads no statistics of log files
                names += [log.getFileName() for one in several for log in one.getLogFiles().toArray()]
            ours = [stats for column in columns for stats in self.indexed_stats(partition, names, column)]
            indexed = {stats.getFilePath().split("/")[-1] for stats in ours}
            # Ours has none of log files that were there before it was made, and says nothing of them that way.
            bare = [name for name in names if name not in indexed and name.startswith(".")]
            self.counts["log files without statistics"] += len(bare)
            names = [name for name in names if name not in bare]
            theirs = [stats for name in names for stats in self.file_stats(partition, name, columns)]
            self.same("column stats", map(range_text, ours), map(range_text, theirs))
            for stats in ours:
                together.setdefault((partition, stats.getColumnName()), []).append(stats)
        if "partition_stats" in self.partitions:
            self.partition_stats(together)

    def columns(self) -> list[str]:
        """Columns with statistics: those of the index definition, or all of the table's own."""
        if self.has_definitions:
            definition = self.definitions().get("column_stats")
            if definition is not None:
                return list(definition.getSourceFields())
        schema = self.hudi.common.table.TableSchemaResolver(self.client).getTableAvroSchema(False)
        return [field.name() for field in schema.getFields()]

    def definitions(self) -> dict[str, object]:
        """Index definitions by name."""
        found = self.client.getIndexMetadata()
        return dict(found.get().getIndexDefinitions()) if found.isPresent() else {}

    def indexed_stats(self, partition: str, names: list[str], column: str) -> list:
        pairs = self.pairs(partition, names)
        found = self.metadata.getColumnStats(pairs, column).values()
        if not self.has_definitions:
            convert = self.hudi.metadata.HoodieTableMetadataUtil.convertColumnStatsRecordToColumnRangeMetadata
            return [convert(one) for one in found]
        return [self.ranges().fromColumnStats(one) for one in found]

    def ranges(self):
        """The class of statistics, which has moved between releases."""
        return (self.hudi.stats if self.has_versions else self.hudi.common.model).HoodieColumnRangeMetadata

    def file_stats(self, partition: str, name: str, columns: list[str]) -> list:
        """Statistics of a file as Hudi's reader of it finds them."""
        path = self.full_path(partition, name)
        texts = self.java_list(columns)
        util = self.hudi.metadata.HoodieTableMetadataUtil
        version = [util.existingIndexVersionOrDefault("column_stats", self.client)] if self.has_versions else []
        if name.endswith(".parquet"):
            return list(self.formats().readColumnStatsFromMetadata(self.storage, path, texts, *version))
        schema = self.hudi.common.util.Option.of(
            self.hudi.common.table.TableSchemaResolver(self.client).getTableAvroSchema()
        )
        where = [partition] if version else []
        return list(util.getLogFileColumnRangeMetadata(path.toString(), *where, self.client, texts, schema, _BUFFER))

    def partition_stats(self, together: dict[tuple[str, str], list]) -> None:
        """Bounds and counts of partitions, beside what those of their files make together."""
        ours = []
        for row in self.raw(_PARTITION_STATS, "key", "ColumnStatsMetadata.*"):
            if not row["isDeleted"] and len(row["key"]) == _PARTITION_KEY:  # longer ones are of expression indexes
                edges = wrapped(row["minValue"]), wrapped(row["maxValue"])
                ours.append((row["fileName"], row["columnName"], *edges, row["nullCount"], row["valueCount"]))
        theirs = []
        for at, several in together.items():
            lows, highs = ([side(one) for one in several if side(one) is not None] for side in (low, high))
            edges = java_text(min(lows, default=None)), java_text(max(highs, default=None))
            nulls, values = (sum(number(one) for one in several) for number in (null_count, value_count))
            theirs.append((*at, *edges, nulls, values))
        self.same("partition stats", ours, theirs)

    # -- other indexes -----------------------------------------------------------------------------------------------

    def bloom_filters(self, slices: dict[str, list]) -> None:
        """Filters of the latest base files, beside those in their footers."""
        for partition, several in slices.items():
            names = [base_file(one.getBaseFile().get())[0] for one in several if one.getBaseFile().isPresent()]
            found = self.metadata.getBloomFilters(self.pairs(partition, names))
            ours = [(pair.getRight(), filter_text(found[pair])) for pair in found]
            read = self.formats().readBloomFilterFromMetadata
            footers = {name: read(self.storage, self.full_path(partition, name)) for name in names}
            self.same("bloom filters", ours, [(name, filter_text(one)) for name, one in footers.items()])

    def record_index(self) -> None:
        """Key, partition and file group of each record of the index, beside those of each row."""
        rows = self.query("_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name")
        there = [(key, partition, name.split("_")[0]) for key, partition, name in rows]
        place = self.hudi.metadata.HoodieTableMetadataUtil.getLocationFromRecordIndexInfo
        found = []
        for row in self.raw(_RECORD_INDEX, "key", "recordIndexMetadata.*"):
            where = place(*(row[name] for name in _LOCATION))
            found.append((row["key"], where.getPartitionPath(), where.getFileId()))
        self.same("record index", found, there)

    def secondary_index(self, name: str) -> None:
        """Pairs of value and key of a secondary index, beside those of each row."""
        (column,) = self.definitions()[name].getSourceFields()
        keys = self.hudi.metadata.SecondaryIndexKeyUtils
        rows = self.query("_hoodie_record_key", f"cast({column} as string)")
        if self.has_versions:  # earlier releases leave rows without a value out
            rows = [(key, _NULL if value is None else value) for key, value in rows]
        there = [(value, key) for key, value in rows if value is not None]
        found = []
        for row in self.raw(_SECONDARY_INDEX, "key", "SecondaryIndexMetadata.isDeleted"):
            text = row["key"]
            value = (
                keys.getUnescapedSecondaryKeyFromSecondaryIndexKey(text)
                if self.has_versions
                else keys.getSecondaryKeyFromSecondaryIndexKey(text)
            )
            if not row["isDeleted"]:
                found.append((value, keys.getRecordKeyFromSecondaryIndexKey(text)))
        self.same("secondary index", found, there)

    # -- calls of Hudi -----------------------------------------------------------------------------------------------

    def query(self, *columns: str) -> list:
        """Rows of the table, listed without its metadata table."""
        frame = self.session.read.format("hudi").option("hoodie.metadata.enable", "false").load(self.path)
        return [tuple(row) for row in frame.selectExpr(*columns).collect()]

    def raw(self, kind: int, *columns: str) -> list:
        """Records of one type of the metadata table."""
        # Of its folder alone: Hudi 1.0.2 cannot merge the rows of bloom filters that were deleted since.
        folder = next(name for name in sorted(self.partitions) if name.startswith(_FOLDERS[kind]))
        frame = self.session.read.format("hudi").load(f"{self.path}/.hoodie/metadata/{folder}")
        return frame.where(f"type = {kind}").selectExpr(*columns).collect()

    def formats(self):
        """Hudi's reader of footers of Parquet files."""
        parquet = self.hudi.common.model.HoodieFileFormat.PARQUET
        return self.hudi.io.storage.HoodieIOFactory.getIOFactory(self.storage).getFileFormatUtils(parquet)

    def full_path(self, partition: str, name: str):
        return self.hudi.storage.StoragePath("/".join(part for part in (self.path, partition, name) if part))

    def pairs(self, partition: str, names: list[str]):
        pair = self.hudi.common.util.collection.Pair
        return self.java_list([pair.of(partition, name) for name in names])

    def java_list(self, values: list):
        found = self.session._jvm.java.util.ArrayList()
        for value in values:
            found.add(value)
        return found


def base_file(file) -> tuple[str, int]:
    return file.getFileName(), file.getFileSize()


def file_slice(one) -> tuple:
    """What a file slice consists of; log files of version 6 grow, so that only their names are compared."""
    base = one.getBaseFile()
    logs = sorted(log.getFileName() for log in one.getLogFiles().toArray())
    return one.getFileId(), one.getBaseInstantTime(), base_file(base.get()) if base.isPresent() else None, tuple(logs)


def low(stats):
    return stats.getMinValue()


def high(stats):
    return stats.getMaxValue()


def null_count(stats):
    return stats.getNullCount()


def value_count(stats):
    return stats.getValueCount()


def range_text(stats) -> tuple:
    return stats.getFilePath().split("/")[-1], stats.getColumnName(), *bounds(stats), stats.getValueCount()


def bounds(stats) -> tuple:
    return java_text(low(stats)), java_text(high(stats)), stats.getNullCount()


def java_text(value) -> str | None:
    return None if value is None else str(value)


def wrapped(value) -> str | None:
    """The text of the one member of a union that has a value."""
    if value is None:
        return None
    (text,) = [str(member["value"]) for member in value if member is not None] or [None]
    return text


def filter_text(bloom) -> tuple[str, str]:
    return bloom.getBloomFilterTypeCode().name(), bloom.serializeToString()
