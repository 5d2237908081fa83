"""Tables for benchmarks, written without Hudi: the same bytes in every run, readable by anything that reads version 8.

``write_table`` lays out base files of several file groups and, for a merge-on-read table, one Avro log file per group
that updates a share of its rows. ``write_listing_table`` lays out many empty data files and the metadata table that
lists them in one HFile. Nothing here is a general writer.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.formats.log import BlockType, HeaderKey, RecordPositions, encode_block, iter_blocks

INSERT, INSERT_DONE = "20260101000000000", "20260101000100000"
UPDATE, UPDATE_DONE = "20260101001000000", "20260101001100000"
BLOCK_RECORDS = 25_000
_META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path"]
_META += ["_hoodie_file_name"]
_FIELDS = [
    ("id", "string"),
    ("ts", "long"),
    ("city", "string"),
    ("fare", "double"),
    ("stops", "int"),
    ("note", "string"),
    ("day", {"type": "int", "logicalType": "date"}),
    ("flag", "boolean"),
]
_CITIES = pa.array(["oslo", "rome", "sf", "lima", "kyiv", "accra", "quito", "osaka"])


@dataclass(frozen=True)
class Table:
    """Where a table is and what a reader must find in it."""

    path: Path
    rows: int
    updated: int
    late: int


def avro_schema(name: str, *, meta: bool) -> dict[str, Any]:
    fields = [{"name": column, "type": ["null", "string"], "doc": "", "default": None} for column in _META * meta]
    fields += [{"name": column, "type": ["null", kind], "default": None} for column, kind in _FIELDS]
    return {"type": "record", "name": f"{name}_record", "namespace": f"hoodie.{name}", "fields": fields}


# -- data ------------------------------------------------------------------------------------------------------------


def write_table(
    path: Path, *, rows: int, groups: int, updates: float = 0.0, row_group: int = 100_000, positions: bool = False
) -> Table:
    """A table of ``groups`` file groups, one to a partition, with ``rows`` rows in all.

    Args:
        path: base path, made here.
        rows: rows in base files.
        groups: file groups.
        updates: share of rows updated in log files; with 0 the table is copy-on-write.
        row_group: rows of a Parquet row group.
        positions: whether log blocks tell the rows of the base file that they replace.
    """
    name = path.name
    kind = "MERGE_ON_READ" if updates else "COPY_ON_WRITE"
    write_properties(path, name, kind, {"hoodie.table.partition.fields": "city_group"})
    per_group, stats, log_stats = rows // groups, {}, {}
    updated = late = 0
    for group in range(groups):
        partition, file_id = f"g{group:02d}", f"{uuid.UUID(int=group + 1)}-0"
        folder = path / partition
        folder.mkdir(parents=True)
        (folder / ".hoodie_partition_metadata").write_text(f"commitTime={INSERT}\npartitionDepth=1\n")
        base = f"{file_id}_{group}-1-1_{INSERT}.parquet"
        data = make_rows(group, per_group, partition, base)
        pq.write_table(data, folder / base, row_group_size=row_group, compression="gzip")
        size = (folder / base).stat().st_size
        stats[partition] = [write_stat(file_id, f"{partition}/{base}", size, per_group, inserts=per_group)]
        if updates:
            log = f".{file_id}_{UPDATE}.log.1_{group}-2-2"
            count, old = _write_log(folder / log, name, data, updates, group, positions=positions)
            updated, late = updated + count, late + old
            size = (folder / log).stat().st_size
            log_stats[partition] = [write_stat(file_id, f"{partition}/{log}", size, count, updates=count, log=log)]
    action = "deltacommit" if updates else "commit"
    write_commit(path, name, INSERT, INSERT_DONE, action, stats, "INSERT")
    if updates:
        write_commit(path, name, UPDATE, UPDATE_DONE, action, log_stats, "UPSERT")
    return Table(path, per_group * groups, updated, late)


def make_rows(group: int, rows: int, partition: str, file_name: str) -> pa.Table:
    rng = np.random.default_rng(group)
    numbers = pa.array(np.arange(group * rows, (group + 1) * rows))
    keys = pc.binary_join_element_wise("k", pc.utf8_lpad(numbers.cast(pa.string()), 9, padding="0"), "")
    meta = [
        pa.repeat(INSERT, rows),
        pc.binary_join_element_wise(f"{INSERT}_{group}", numbers.cast(pa.string()), "_"),
        keys,
        pa.repeat(partition, rows),
        pa.repeat(file_name, rows),
    ]
    own = [
        keys,
        pa.array(rng.integers(1_000, 2_000, rows)),
        _CITIES.take(pa.array(rng.integers(0, len(_CITIES), rows))),
        pa.array(np.round(rng.random(rows) * 100, 2), mask=rng.random(rows) < 0.02),
        pa.array(rng.integers(0, 9, rows), pa.int32()),
        pc.binary_join_element_wise("note", pa.array(rng.integers(0, 10**9, rows)).cast(pa.string()), "-"),
        pa.array(rng.integers(20_000, 20_400, rows).astype(np.int32)).cast(pa.date32()),
        pa.array(rng.random(rows) < 0.5),
        pa.repeat(partition, rows),
    ]
    return pa.table([*meta, *own], names=[*_META, *(column for column, _ in _FIELDS), "city_group"])


def _write_log(path: Path, name: str, data: pa.Table, share: float, group: int, *, positions: bool) -> tuple[int, int]:
    """Updates of a random share of the rows, in order of key; one in ten is late: its ordering value is too small.

    Returns:
        Number of updates and how many of them are late.
    """
    rng = np.random.default_rng(1_000 + group)
    chosen = np.sort(rng.choice(data.num_rows, int(data.num_rows * share), replace=False))
    fresh = data.take(pa.array(chosen))
    late = rng.random(len(chosen)) < 0.1
    columns = {
        "_hoodie_commit_time": pa.repeat(UPDATE, len(chosen)),
        "_hoodie_file_name": pa.repeat(f"{uuid.UUID(int=group + 1)}-0", len(chosen)),
        "ts": pc.add(fresh["ts"], pa.array(np.where(late, -5_000, 5_000))),
        "fare": pa.array(np.round(rng.random(len(chosen)) * 100, 2) + 1_000),
    }
    for column, values in columns.items():
        fresh = fresh.set_column(fresh.schema.get_field_index(column), column, values)
    schema = _log_schema(name)
    parsed = fastavro.parse_schema(schema)
    headers = {HeaderKey.INSTANT_TIME: UPDATE, HeaderKey.SCHEMA: json.dumps(schema)}
    with path.open("wb") as stream:
        for start in range(0, fresh.num_rows, BLOCK_RECORDS):
            records = fresh.slice(start, BLOCK_RECORDS).to_pylist()
            of_rows = (
                RecordPositions.encoded(INSERT, chosen[start : start + BLOCK_RECORDS]).headers if positions else {}
            )
            content = _avro_content(records, parsed)
            stream.write(encode_block(BlockType.AVRO_DATA, {**headers, **of_rows}, content))
    return len(chosen), int(late.sum())


def _log_schema(name: str) -> dict[str, Any]:
    schema = avro_schema(name, meta=True)
    schema["fields"].append({"name": "city_group", "type": ["null", "string"], "default": None})
    return schema


def _avro_content(records: list[dict[str, Any]], schema: Any) -> bytes:
    content = io.BytesIO()
    content.write(struct.pack(">ii", 3, len(records)))
    for record in records:
        binary = io.BytesIO()
        fastavro.schemaless_writer(binary, schema, record)
        content.write(struct.pack(">i", binary.tell()))
        content.write(binary.getvalue())
    return content.getvalue()


# -- .hoodie ---------------------------------------------------------------------------------------------------------


def write_properties(path: Path, name: str, kind: str, more: Mapping[str, str]) -> None:
    properties = {
        "hoodie.table.name": name,
        "hoodie.table.type": kind,
        "hoodie.table.version": "8",
        "hoodie.table.initial.version": "8",
        "hoodie.timeline.layout.version": "2",
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
        "hoodie.archivelog.folder": "history",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.precombine.field": "ts",
        "hoodie.table.keygenerator.type": "SIMPLE",
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.record.merge.strategy.id": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
        "hoodie.compaction.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
        "hoodie.datasource.write.hive_style_partitioning": "false",
        "hoodie.datasource.write.partitionpath.urlencode": "false",
        "hoodie.datasource.write.drop.partition.columns": "false",
        "hoodie.populate.meta.fields": "true",
        **more,
    }
    folder = path / ".hoodie"
    (folder / "timeline" / "history").mkdir(parents=True)
    (folder / "hoodie.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def write_stat(
    file_id: str, path: str, size: int, writes: int, *, inserts: int = 0, updates: int = 0, log: str | None = None
) -> dict[str, Any]:
    return {
        "fileId": file_id,
        "path": path,
        "prevCommit": INSERT if log else "null",
        "numWrites": writes,
        "numDeletes": 0,
        "numUpdateWrites": updates,
        "numInserts": inserts,
        "totalWriteBytes": size,
        "totalWriteErrors": 0,
        "partitionPath": path.partition("/")[0],
        "fileSizeInBytes": size,
        "logVersion": 1 if log else None,
        "logOffset": 0 if log else None,
        "baseFile": "" if log else None,
        "logFiles": [log] if log else None,
    }


def _commit_schema() -> dict[str, Any]:
    """HoodieCommitMetadata, the fields that readers look at under the names and in the order of the format."""
    kinds: dict[str, Any] = dict.fromkeys(["fileId", "path", "prevCommit"], "string")
    kinds |= dict.fromkeys(
        ["numWrites", "numDeletes", "numUpdateWrites", "totalWriteBytes", "totalWriteErrors"], "long"
    )
    kinds["partitionPath"] = "string"
    kinds |= dict.fromkeys(["totalLogRecords", "totalLogFiles", "totalUpdatedRecordsCompacted", "numInserts"], "long")
    kinds |= dict.fromkeys(["totalLogBlocks", "totalCorruptLogBlock", "totalRollbackBlocks", "fileSizeInBytes"], "long")
    kinds |= {"logVersion": "int", "logOffset": "long", "baseFile": "string"}
    kinds |= {"logFiles": {"type": "array", "items": "string"}, "cdcStats": {"type": "map", "values": "long"}}
    stat = [{"name": name, "type": ["null", kind], "default": None} for name, kind in kinds.items()]
    record = {"type": "record", "name": "HoodieWriteStat", "fields": stat}
    written = {"type": "map", "values": {"type": "array", "items": record}}
    fields = [
        {"name": "partitionToWriteStats", "type": ["null", written], "default": None},
        {"name": "compacted", "type": ["null", "boolean"], "default": None},
        {"name": "extraMetadata", "type": ["null", {"type": "map", "values": "string"}], "default": None},
        {"name": "version", "type": ["int", "null"], "default": 1},
        {"name": "operationType", "type": ["null", "string"], "default": None},
    ]
    namespace = "org.apache.hudi.avro.model"
    return {"type": "record", "name": "HoodieCommitMetadata", "namespace": namespace, "fields": fields}


def write_commit(
    path: Path, name: str, requested: str, completed: str, action: str, stats: Mapping[str, Any], operation: str
) -> None:
    folder = path / ".hoodie" / "timeline"
    (folder / f"{requested}.{action}.requested").touch()
    (folder / f"{requested}.{action}.inflight").touch()
    (folder / f"{requested}_{completed}.{action}").write_bytes(_encode_commit(name, stats, operation))


def _encode_commit(name: str, stats: Mapping[str, Any], operation: str) -> bytes:
    schema = avro_schema(name, meta=False)
    schema["fields"].append({"name": "city_group", "type": ["null", "string"], "default": None})
    record = {
        "partitionToWriteStats": dict(stats),
        "compacted": False,
        "extraMetadata": {"schema": json.dumps(schema)},
        "version": 1,
        "operationType": operation,
    }
    stream = io.BytesIO()
    fastavro.writer(stream, fastavro.parse_schema(_commit_schema()), [record], codec="null")
    return stream.getvalue()


def write_archived_commit(path: Path, name: str, requested: str, completed: str, stats: Mapping[str, Any]) -> None:
    """An archive of one commit: a data file of one row and the manifest that names it."""
    row = {
        "instantTime": requested,
        "completionTime": completed,
        "action": "commit",
        "metadata": _encode_commit(name, stats, "INSERT"),
        "plan": b"",
    }
    folder = path / ".hoodie" / "timeline" / "history"
    file = folder / f"{requested}_{requested}_0.parquet"
    pq.write_table(pa.Table.from_pylist([row]), file)
    manifest = {"files": [{"fileName": file.name, "fileLen": file.stat().st_size}]}
    (folder / "manifest_1").write_text(json.dumps(manifest))
    (folder / "_version_").write_text("1")


def data_files(table: Path) -> Iterator[Path]:
    """The base files of a table, sorted."""
    yield from sorted(table.glob("*/*.parquet"))


# -- the metadata table ------------------------------------------------------------------------------------------------

_LISTED, _LISTED_DONE = "20251201000000000", "20251201000100000"  # archived
_MDT_INSTANT = "00000000000000000"
_FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "data" / "fixtures"


def write_listing_table(path: Path, partitions: int, files: int) -> int:
    """A table of empty base files and a metadata table that lists them in one base HFile; gives the number of files.

    The active commit wrote the first file, an archived one all others.
    """
    name = path.name
    more = {"hoodie.table.partition.fields": "city_group", "hoodie.table.metadata.partitions": "files"}
    write_properties(path, name, "COPY_ON_WRITE", more)
    listed: dict[str, dict[str, int]] = {}
    for number in range(partitions):
        partition = f"p{number:05d}"
        folder = path / partition
        folder.mkdir()
        (folder / ".hoodie_partition_metadata").write_text(f"commitTime={_LISTED}\npartitionDepth=1\n")
        ids = (uuid.UUID(int=number * files + k + 1) for k in range(files))
        instants = [INSERT if number == k == 0 else _LISTED for k in range(files)]  # the commit's file is the first
        names = (f"{file_id}-0_{k}-1-1_{instants[k]}.parquet" for k, file_id in enumerate(ids))
        listed[partition] = {file_name: 1_000_000 + k for k, file_name in enumerate(names)}
        for file_name in listed[partition]:
            (folder / file_name).touch()
    archived = {partition: _stats_of(partition, sizes, _LISTED) for partition, sizes in listed.items()}
    write_archived_commit(path, name, _LISTED, _LISTED_DONE, archived)
    stats = {"p00000": _stats_of("p00000", listed["p00000"], INSERT)}
    write_commit(path, name, INSERT, INSERT_DONE, "commit", stats, "INSERT")
    write_metadata_table(path / ".hoodie" / "metadata", f"{name}_metadata", listed)
    return partitions * files


def _stats_of(partition: str, sizes: Mapping[str, int], instant: str) -> list[dict[str, Any]]:
    """Write stats of those base files of a partition that an instant wrote."""
    return [
        write_stat(file_name.partition("_")[0], f"{partition}/{file_name}", size, 1, inserts=1)
        for file_name, size in sizes.items()
        if file_name.endswith(f"_{instant}.parquet")
    ]


def write_metadata_table(path: Path, name: str, listed: Mapping[str, Mapping[str, int]]) -> None:
    more = {
        "hoodie.table.base.file.format": "HFILE",
        "hoodie.table.recordkey.fields": "key",
        "hoodie.table.precombine.field": "",
        "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
        "hoodie.record.merge.mode": "CUSTOM",
        "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
        "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
        "hoodie.populate.meta.fields": "false",
    }
    write_properties(path, name, "MERGE_ON_READ", more)
    schema = metadata_schema()
    parsed = fastavro.parse_schema(schema)
    blank = {field["name"]: None for field in schema["fields"]}

    def record(kind: int, entries: Mapping[str, int]) -> bytes:
        files = {file_name: {"size": size, "isDeleted": False} for file_name, size in entries.items()}
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, {**blank, "key": "", "type": kind, "filesystemMetadata": files})
        return stream.getvalue()

    rows = {"__all_partitions__": record(1, dict.fromkeys(listed, 0))}
    rows |= {partition: record(2, files) for partition, files in listed.items()}
    folder = path / "files"
    folder.mkdir()
    (folder / ".hoodie_partition_metadata").write_text(f"commitTime={_MDT_INSTANT}\npartitionDepth=1\n")
    file_name = f"files-0000-0_0-1-1_{_MDT_INSTANT}.hfile"
    (folder / file_name).write_bytes(encode_hfile(rows, json.dumps(schema)))
    size = (folder / file_name).stat().st_size
    stats = {"files": [write_stat("files-0000-0", f"files/{file_name}", size, len(rows), inserts=len(rows))]}
    write_commit(path, name, _MDT_INSTANT, "20251231235959000", "deltacommit", stats, "BULK_INSERT")
    # The commit of the data table itself: it changed nothing that the base file does not say already.
    write_commit(path, name, INSERT, "20260101000050000", "deltacommit", {}, "UPSERT")


def metadata_schema() -> dict[str, Any]:
    """The schema of metadata records, as real Hudi wrote it into a log block of a test table."""
    with zipfile.ZipFile(_FIXTURES / "v8_mor_part_rli.zip") as archive:
        for entry in archive.namelist():
            if "/metadata/files/.files-0000-0_" in entry:
                for block in iter_blocks(archive.read(entry), entry):
                    if block.type is BlockType.HFILE_DATA:
                        return json.loads(block.headers[HeaderKey.SCHEMA])
    raise LookupError("no log block of a metadata table in the test data")


def encode_hfile(rows: Mapping[str, bytes], schema: str) -> bytes:
    """An HFile of version 3 with a single-level index, GZ blocks of 64 KiB and empty checksums."""
    out, index, last = bytearray(), [], b""
    block, first, previous, raw_bytes = bytearray(), b"", -1, 0
    keyed = sorted((key.encode(), value) for key, value in rows.items())

    def flush() -> None:
        nonlocal previous
        offset = len(out)
        out.extend(_hfile_block(b"DATABLK*", bytes(block), previous))
        index.append((offset, len(out) - offset, first))
        previous = offset
        block.clear()

    for row, value in keyed:
        last = struct.pack(">h", len(row)) + row + b"\0" + struct.pack(">q", 2**63 - 1) + b"\x04"
        if not block:
            first = last
        entry = struct.pack(">ii", len(last), len(value)) + last + value + b"\0"
        block += entry
        raw_bytes += len(entry)
        if len(block) >= 65_536:
            flush()
    if block:
        flush()
    load_on_open = len(out)
    root = b"".join(struct.pack(">qi", at, size) + _vint(len(key)) + key for at, size, key in index)
    out += _hfile_block(b"IDXROOT2", root, -1) + _hfile_block(b"IDXROOT2", b"", -1)
    info_offset = len(out)
    info = {
        "KEY_VALUE_VERSION": struct.pack(">i", 1),
        "MAX_MEMSTORE_TS_KEY": struct.pack(">q", 0),
        "hfile.LASTKEY": last,
        "schema": schema.encode(),
    }
    pairs = b"".join(_field(1, _field(1, key.encode()) + _field(2, value)) for key, value in sorted(info.items()))
    out += _hfile_block(b"FILEINF2", b"PBUF" + _varint(len(pairs)) + pairs, -1)
    numbers = {1: info_offset, 2: load_on_open, 3: len(root), 4: raw_bytes, 5: len(index), 6: 0, 7: len(keyed), 8: 1}
    numbers |= {9: 0, 10: previous}
    message = b"".join(_varint(number << 3) + _varint(value) for number, value in numbers.items())
    message += _field(11, b"org.apache.hudi.io.storage.HoodieHBaseKVComparator") + _varint(12 << 3) + _varint(1)
    trailer = b'TRABLK"$' + _varint(len(message)) + message
    return bytes(out) + trailer.ljust(4092, b"\0") + b"\0\0\0\x03"


def _hfile_block(magic: bytes, raw: bytes, previous: int) -> bytes:
    packed = gzip.compress(raw, 6, mtime=0)
    size = 33 + len(packed)
    unchecked = bytes(4 * -(-size // 16_384))  # some readers count on the place of checksums even without any
    head = struct.pack(">iiqBii", len(packed) + len(unchecked), len(raw), previous, 0, 16_384, size)
    return magic + head + packed + unchecked


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _vint(value: int) -> bytes:
    """Hadoop's variable-length integer, of a length that is not negative."""
    if value <= 127:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([256 - 112 - size]) + value.to_bytes(size, "big")


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value
