"""One table's partitions, files and schema, and what it costs to find them."""

from __future__ import annotations

import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.errors import SchemaError, TableNotFoundError
from hudi_hive.schema import META_FIELDS
from hudi_hive.table import FILES_SCHEMA, MetaClient, is_hudi_table
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture


@pytest.mark.parametrize("name", fixture_names())
def test_partitions_and_schema_are_those_of_hudi(name):
    client, answer = MetaClient.load(unzip_fixture(name)), expected(name)
    assert client.partition_paths() == sorted(answer["partitions"])
    # Version 6 lets the meta fields into the schema of an evolved table; they are not the user's columns.
    avro = answer["avro_schema"]
    fields = (json.loads(avro) if isinstance(avro, str) else avro)["fields"]
    names = [field["name"] for field in fields if field["name"] not in META_FIELDS]
    assert [field["name"] for field in client.avro_schema()["fields"]] == names
    meta = list(META_FIELDS) if client.config.populate_meta_fields else []
    assert client.schema().names == meta + names
    assert client.partition_schema().names == list(client.config.partition_fields)


def test_files_are_listed_once():
    client = MetaClient.load(unzip_fixture("v8_cow_wide_250"))
    with client.counters.measure() as cost:
        partitions = client.partition_paths()
        files = client.list_files()
    assert files.schema == FILES_SCHEMA
    assert len(partitions) == 250
    assert cost["lists"] == 251  # the base path and each partition
    with client.counters.measure() as cost:
        assert set(client.list_files(partitions[:3]).column("partition").to_pylist()) == set(partitions[:3])
    assert not cost.get("lists")


def test_named_partitions_cost_one_listing_each():
    client = MetaClient.load(unzip_fixture("v8_cow_wide_250"))
    walked = MetaClient.load(unzip_fixture("v8_cow_wide_250")).list_files()
    with client.counters.measure() as cost:
        files = client.list_files(["p001", "p002", "p001"])
    assert cost["lists"] == 2
    mask = pc.is_in(walked.column("partition"), value_set=pa.array(["p001", "p002"]))
    assert files.sort_by("name").equals(walked.filter(mask).sort_by("name"))


def test_a_partition_that_is_gone_has_no_files():
    client = MetaClient.load(unzip_fixture("v8_cow_part_mdt"))
    assert client.list_files(["no such"]).num_rows == 0


def test_walk_passes_over_folders_that_are_no_partitions(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    before = MetaClient.load(path).partition_paths()
    (path / "scratch" / "deep").mkdir(parents=True)
    (path / "scratch" / "file.parquet").write_bytes(b"not a table's")
    unzip_fixture("v8_cow_ymd_hive", path)  # another table in this one's folder
    assert MetaClient.load(path).partition_paths() == before


@pytest.mark.parametrize("inner", ["v6_cow_nonpart", "v8_cow_nonpart"])
@pytest.mark.parametrize("folder", ["", "deep"])
def test_a_nested_table_without_partitions_is_no_partition(tmp_path, inner, folder):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    before = MetaClient.load(path).partition_paths()
    nested = unzip_fixture(inner, path / folder)
    assert (nested / ".hoodie_partition_metadata").exists()  # its base path is marked as a partition
    client = MetaClient.load(path)
    assert client.partition_paths() == before
    assert set(client.list_files().column("partition").to_pylist()) == set(before)


def test_metafile_in_base_format_marks_a_partition(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    before = MetaClient.load(path).partition_paths()
    (path / before[0] / ".hoodie_partition_metadata").rename(path / before[0] / ".hoodie_partition_metadata.parquet")
    (path / before[1] / ".hoodie_partition_metadata").unlink()
    assert MetaClient.load(path).partition_paths() == [before[0], *before[2:]]


def test_loading_reads_the_properties_and_nothing_else():
    client = MetaClient.load(unzip_fixture("v9_cow_wide_250"))
    assert client.counters.snapshot().get("lists", 0) == 0
    assert client.counters["opens"] == 1


def test_schema_as_of_a_commit():
    client = MetaClient.load(unzip_fixture("v8_cow_schema_evo"))
    first = client.timeline.write_instants()[0].requested
    assert "name" in client.schema(first).names and "full_name" not in client.schema(first).names
    assert "full_name" in client.schema().names and "name" not in client.schema().names


def test_schema_without_commits_is_the_one_of_creation():
    for name in fixture_names("mor_empty"):
        client = MetaClient.load(unzip_fixture(name))
        assert client.schema().names == [*META_FIELDS, "id", "v", "ts", "p"]


def test_unknown_schema_is_refused(tmp_path):
    path = unzip_fixture("v9_mor_empty", tmp_path)
    file = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in file.read_bytes().splitlines() if not line.startswith(b"hoodie.table.create.schema")]
    file.write_bytes(b"\n".join([*lines, b""]))
    with pytest.raises(SchemaError, match="not known") as caught:
        MetaClient.load(path).schema()
    assert caught.value.path == f"file:{path}"


def test_pickles_and_reads_again():
    client = MetaClient.load(unzip_fixture("v8_cow_part_mdt"))
    assert client.timeline.instants
    copy = pickle.loads(pickle.dumps(client))
    assert copy.config == client.config
    assert copy.timeline.instants == client.timeline.instants
    assert copy.partition_paths() == client.partition_paths()


def test_is_hudi_table(tmp_path):
    assert is_hudi_table(unzip_fixture("v6_cow_nonpart"))
    assert not is_hudi_table(tmp_path)
    with pytest.raises(TableNotFoundError, match="no such folder"):
        MetaClient.load(tmp_path / "missing")


def test_reload_sees_a_later_commit(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    timeline = path / ".hoodie" / "timeline"
    client = MetaClient.load(path)
    last = client.timeline.last_completed_write()
    file = timeline / last.file_name
    kept = file.read_bytes()
    file.unlink()
    earlier = client.reload()
    assert earlier.timeline.last_completed_write() != last
    file.write_bytes(kept)
    assert earlier.timeline.last_completed_write() != last  # one client is of one moment
    assert earlier.reload().timeline.last_completed_write() == last


def test_threads_share_one_timeline(monkeypatch):
    """Read at two moments it would let one plan mix both."""
    client, load = MetaClient.load(unzip_fixture("v8_cow_part_mdt")), MetaClient._load_timeline
    loads, again = [], threading.Event()

    def slowly(self):
        loads.append(load(self))
        if len(loads) > 1:
            again.set()
        again.wait(0.3)
        return loads[-1]

    monkeypatch.setattr(MetaClient, "_load_timeline", slowly)
    with ThreadPoolExecutor(2) as pool:
        timelines = list(pool.map(lambda _: client.timeline, range(2)))
    assert len(loads) == 1
    assert timelines[0] is timelines[1] is client.timeline
