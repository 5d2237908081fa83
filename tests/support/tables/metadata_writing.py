"""A table whose commits are made by hand, for tests of what keeps its metadata table."""

from __future__ import annotations

import copy
import json
import shutil
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.formats.base import ColumnRanges
from hudi_hive.metadata.reader import DELETED_FILES_SCHEMA, INDEX_ADDED_SCHEMA, RANGES_SCHEMA, MetadataChanges
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.timeline import State
from hudi_hive.timeline.core import InstantClock, TimelineWriter
from hudi_hive.timeline.payloads import NewCommitMetadata, encode_commit

ALL = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
}

AVRO = {
    "type": "record",
    "name": "t_record",
    "namespace": "hoodie.t",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "n", "type": ["null", "long"], "default": None},
        {"name": "part", "type": ["null", "string"], "default": None},
        {"name": "ts", "type": ["null", "long"], "default": None},
    ],
}


class HandMade:
    """A copy-on-write table; every commit writes one new base file in each named partition."""

    def __init__(self, path, version, options=ALL, partitioned=True):
        self.options = dict(options)
        self.clock = InstantClock()
        self.client = create_table(
            path,
            TableDefinition(
                name="t",
                version=version,
                record_keys=["id"],
                partition_fields=["part"] if partitioned else [],
                ordering_fields=["ts"],
                create_schema=json.dumps(AVRO),
                timezone="UTC",
            ),
        )
        self.instants = TimelineWriter(self.client.storage, self.client.config)
        self.written = 0

    def copied(self, path):
        """The same table elsewhere, to be spoilt."""
        shutil.copytree(self.client.storage.root, path)
        other = copy.copy(self)
        other.client = MetaClient.load(path)
        other.instants = TimelineWriter(other.client.storage, other.client.config)
        return other

    def fresh(self):
        self.client = self.client.reload()
        return self.client

    def begin(self, action="commit"):
        instant = self.clock.new_instant(self.fresh().timeline, "UTC")
        self.instants.create_requested(action, instant)
        self.instants.transition_inflight(action, instant)
        return instant

    def write(self, instant, rows):
        """Write the base files of ``{partition: [(id, n)]}``; the change they are."""
        files, ranges, index = [], [RANGES_SCHEMA.empty_table()], []
        for partition, values in rows.items():
            file_id = f"{uuid.UUID(int=self.written + 1)}-0"
            self.written += 1
            name = f"{file_id}_0-0-0_{instant}.parquet"
            table = self._rows(instant, partition, values, name)
            folder = f"{partition}/" if partition else ""
            sink = pa.BufferOutputStream()
            pq.write_table(table, sink)
            data = sink.getvalue().to_pybytes()
            depth = str(partition.count("/") + 1 if partition else 0)
            metafile = f"#partition metadata\ncommitTime={instant}\npartitionDepth={depth}\n".encode()
            self.client.storage.write_bytes(f"{folder}.hoodie_partition_metadata", metafile)
            self.client.storage.write_bytes(f"{folder}{name}", data)
            files.append({"partition": partition, "name": name, "size": len(data)})
            found = ColumnRanges(table.schema)
            for batch in table.to_batches():
                found.add(batch)
            told = found.table()
            for at, (column, text) in enumerate((("partition", partition), ("name", name))):
                told = told.add_column(at, column, pa.array([text] * told.num_rows, pa.string()))
            ranges.append(told.cast(RANGES_SCHEMA))
            index += [{"key": key, "partition": partition, "file_id": file_id} for key, _ in values]
        return MetadataChanges(
            files_added=pa.Table.from_pylist(files, FILES_SCHEMA),
            ranges=pa.concat_tables(ranges),
            index_added=pa.Table.from_pylist(index, INDEX_ADDED_SCHEMA),
        )

    @staticmethod
    def _rows(instant, partition, values, name):
        count = len(values)
        return pa.table(
            {
                "_hoodie_commit_time": [instant] * count,
                "_hoodie_commit_seqno": [f"{instant}_0_{row}" for row in range(count)],
                "_hoodie_record_key": [key for key, _ in values],
                "_hoodie_partition_path": [partition] * count,
                "_hoodie_file_name": [name] * count,
                "id": [key for key, _ in values],
                "n": pa.array([value for _, value in values], pa.int64()),
                "part": [partition] * count,
                "ts": pa.array([0] * count, pa.int64()),
            }
        )

    def writer(self, **options):
        return MetadataWriter.open(self.fresh(), {**self.options, **options})

    def apply(self, instant, changes, action="commit", **options):
        writer = self.writer(**options)
        if writer is not None:
            writer.apply(instant, action, changes)

    def complete(self, instant, changes, action="commit"):
        stats = [
            {
                "fileId": row["name"].split("_")[0],
                "path": f"{row['partition']}/{row['name']}".lstrip("/"),
                "partitionPath": row["partition"],
                "prevCommit": "null",
                "numWrites": 1,
                "fileSizeInBytes": row["size"],
                "totalWriteBytes": row["size"],
            }
            for row in changes.files_added.to_pylist()
        ]
        config = self.client.config
        payload = encode_commit(NewCommitMetadata("INSERT", {"schema": json.dumps(AVRO)}, stats), config.layout)
        completion = self.clock.completion_time(self.fresh().timeline, instant, "UTC") if config.layout == 2 else None
        self.instants.complete(action, instant, payload, completion)

    def commit(self, rows, **options):
        instant = self.begin()
        changes = self.write(instant, rows)
        self.apply(instant, changes, **options)
        self.complete(instant, changes)
        return instant, changes

    def clean(self, changes, partitions=()):
        """Delete the files of an earlier change, told as a clean would."""
        instant = self.begin("clean")
        gone = changes.files_added.select(DELETED_FILES_SCHEMA.names)
        for row in gone.to_pylist():
            self.client.storage.delete(f"{row['partition']}/{row['name']}".lstrip("/"))
        self.apply(instant, MetadataChanges(files_deleted=gone, partitions_deleted=list(partitions)), "clean")
        path = self.instants.path
        done = self.clock.completion_time(self.fresh().timeline, instant, "UTC")
        done = done if self.client.config.layout == 2 else None
        self.client.storage.write_bytes(path("clean", instant, State.COMPLETED, done), b"")
        return instant
