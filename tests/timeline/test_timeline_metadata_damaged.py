"""Instants' files that are damaged, cut, or no Avro containers give metadata or our error."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import tracemalloc
import zlib

import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, CorruptInstantError, HudiHiveError, UnsupportedFormatError
from hudi_hive.formats.avro import read_container, write_container
from hudi_hive.timeline.payloads.payload import decode_payload
from tests.formats.shared.avro_decoder_helpers import prefixed, varint
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import examples
from tests.timeline.shared.metadata_helpers import C, T, commit, load, made


def avro(name, fields, record):
    schema = {"type": "record", "name": name, "namespace": "org.apache.hudi.avro.model", "fields": fields}
    return write_container(schema, [record])


# -- damaged files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"\0",
        b"[]",
        b"{",
        b"{}x",
        b'{"a": \xff}',
        b"{" + b'"a":{' * 200_000,
        b"Obj\x01",
        b"Obj\x02",
        avro("R", [{"name": "a", "type": "int"}], {"a": 1})[:-1],
        avro("R", [{"name": "a", "type": "int"}], {"a": 1})[:-16],
        write_container({"type": "record", "name": "R", "fields": []}, []),
        write_container({"type": "record", "name": "R", "fields": []}, [{}, {}]),
    ],
    ids=lambda data: f"{len(data)}-bytes",  # containers hold random bytes, which make no stable names
)
def test_files_that_are_no_payload(tmp_path, data):
    timeline, instant = made(tmp_path, f"{T}_{C}.commit", data)
    with pytest.raises(CorruptInstantError) as raised:
        timeline.commit_metadata(instant)
    assert raised.value.instant == T and raised.value.path.endswith(".commit") and raised.value.remedy


def test_containers_of_other_things():
    with pytest.raises(CorruptFileError, match="magic"):
        read_container(b"{}", "x")
    with pytest.raises(CorruptFileError, match="must be a record"):
        read_container(write_container({"type": "string"}, ["x"]), "x")  # type: ignore[list-item]
    records = [{"a": 1}, {"a": 2}]
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    assert read_container(write_container(schema, records), "x") == records
    with pytest.raises(fastavro.schema.UnknownType):
        write_container({"type": "nothing"}, [])


def container(schema: object, count: int, content: bytes, codec: bytes = b"null") -> bytes:
    entries = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec}
    header = varint(2) + b"".join(prefixed(key) + prefixed(value) for key, value in entries.items()) + b"\0"
    return b"Obj\x01" + header + b"s" * 16 + varint(count) + prefixed(content) + b"s" * 16


def snappy(data: bytes) -> bytes:
    return pa.compress(data, codec="snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big")


def zstandard(data: bytes) -> bytes:
    """Without the size in its header, as Java's writer makes it."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {
    b"deflate": lambda data: zlib.compress(data, 1)[2:-4],
    b"snappy": snappy,
    b"zstandard": zstandard,
    b"bzip2": bz2.compress,
    b"xz": lzma.compress,
}


@pytest.mark.parametrize("codec", PACKERS)
def test_compressed_avro_containers_are_read(codec):
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    numbers = b"".join(varint(number) for number in range(5000))
    packed = PACKERS[codec](numbers)
    assert read_container(container(schema, 5000, packed, codec), "x") == [{"a": number} for number in range(5000)]
    for torn in (packed[:-1], packed[: len(packed) // 2], b""):
        with pytest.raises(CorruptFileError):
            read_container(container(schema, 5000, torn, codec), "x")


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz"])
def test_containers_of_another_writer_are_read(codec):
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    stream = io.BytesIO()
    fastavro.writer(stream, schema, [{"a": number} for number in range(5000)], codec=codec, sync_interval=1000)
    assert read_container(stream.getvalue(), "x") == [{"a": number} for number in range(5000)]


@pytest.mark.parametrize(
    ("kind", "count", "content", "codec"),
    [
        ({"type": "array", "items": "null"}, 1, varint(1 << 40) + b"\0", b"null"),
        ({"type": "array", "items": {"type": "record", "name": "E", "fields": []}}, 1, varint(1 << 40), b"null"),
        ("null", 1 << 40, b"", b"null"),
        (["null", "R"], 1, b"\x02" * 1_000_000 + b"\0", b"null"),
        ("string", 1, varint(1 << 40) + b"a", b"null"),
        ("string", -1, varint(1) + b"a", b"null"),
        ("string", 1, varint(-1) + b"a", b"null"),
        ("int", 1, b"\0\0", b"null"),
        *(("bytes", 1, pack(bytes(20 << 20)), codec) for codec, pack in PACKERS.items()),
        ("int", 1, snappy(b"\0")[:-4] + bytes(4), b"snappy"),
        ("int", 1, b"\xff" * 9, b"snappy"),
    ],
    ids=["nulls", "empties", "records", "nested", "long", "negative", "minus", "more"]
    + [f"bomb-{codec.decode()}" for codec in PACKERS]
    + ["checksum", "size"],
)
def test_containers_that_claim_what_they_do_not_hold(kind, count, content, codec):
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}
    tracemalloc.start()
    with pytest.raises(CorruptFileError):
        read_container(container(schema, count, content, codec), "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150 << 20


def test_containers_compressed_in_another_way():
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    with pytest.raises(UnsupportedFormatError, match="lzo"):
        read_container(container(schema, 1, b"\0", b"lzo"), "x")


FILES = [
    ("v6_mor_parquet_log_rollback", "*.deltacommit"),
    ("v6_mor_parquet_log_rollback", "*.replacecommit.requested"),
    ("v6_mor_parquet_log_rollback", "*.restore"),
    ("v6_mor_rollback", "*.rollback.requested"),
    ("v8_mor_parquet_log_rollback", "timeline/*_*.replacecommit"),
    ("v8_mor_parquet_log_rollback", "timeline/*_*.savepoint"),
    ("v9_cow_part_mdt", "timeline/*_*.clean"),
    ("v9_cow_part_mdt", "timeline/*.clean.requested"),
    ("v9_mor_event_time", "timeline/*.compaction.requested"),
]
ASKS = ["commit_metadata", "requested_replace_metadata", "clean_metadata", "cleaner_plan", "rollback_metadata",
        "rollback_plan", "restore_metadata", "restore_plan", "savepoint_metadata", "compaction_plan"]  # fmt: skip


def read_all(timeline):
    for instant in timeline.instants:
        for ask in ASKS:
            try:
                result = getattr(timeline, ask)(instant)
            except CorruptInstantError as error:
                assert error.instant == instant.requested and error.path and str(error).isprintable()
            except HudiHiveError:
                continue
            else:
                assert result.instant == instant
                if ask == "commit_metadata":
                    result.write_stats.validate(full=True)


@pytest.mark.parametrize(("name", "pattern"), FILES)
@given(st.data())
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_instants_give_metadata_or_our_error(tmp_path_factory, name, pattern, data):
    base = tmp_path_factory.getbasetemp() / f"damaged_instants_{name}"
    if not base.exists():
        unzip_fixture(name, base)
    path = sorted((base / name / ".hoodie").glob(pattern))[0]
    whole = path.read_bytes()
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = len(whole) if data.draw(st.booleans()) else data.draw(st.integers(0, len(whole)))
    path.write_bytes(damaged[:cut])
    try:
        read_all(load(base / name))
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("name", ["v6_mor_parquet_log_rollback", "v8_mor_parquet_log_rollback"])
def test_every_cut_of_a_commit_is_noticed(name):
    """A file cut short anywhere, but for the empty one, is refused: never fewer files than were written."""
    timeline = load(unzip_fixture(name))
    instant = timeline.write_instants()[-1]
    data = (unzip_fixture(name) / instant.path).read_bytes()
    assert decode_payload(b"", "x", T) is None
    for cut in range(1, len(data)):
        with pytest.raises(CorruptInstantError):
            decode_payload(data[:cut], "x", T)


def test_replaced_table_has_strings_only():
    assert commit(partitionToReplaceFileIds={}).replaced.schema == pa.schema(
        [("partition", pa.string()), ("file_id", pa.string())]
    )
