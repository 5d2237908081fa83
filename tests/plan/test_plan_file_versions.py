"""Time travel behind a cleaner that keeps file versions, whose metadata names no earliest commit."""

from __future__ import annotations

import shutil

import fastavro
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import TimeTravelError
from hudi_hive.input_format import HoodieParquetInputFormat
from hudi_hive.input_format.job import INPUT_DIR
from hudi_hive.plan import PartitionPlanner, Query, SplitLoader, plan_scan
from tests.support.fixture_tables import fixture_names, unzip_fixture


def forget_retained(path, table: HudiTable) -> None:
    """Rewrite all cleans as KEEP_LATEST_FILE_VERSIONS leaves them."""
    for clean in table.timeline.completed({"clean"}):
        file = path / clean.path
        with open(file, "rb") as stream:
            reader = fastavro.reader(stream)
            schema, records = reader.writer_schema, list(reader)
        records[0]["earliestCommitToRetain"] = ""
        with open(file, "wb") as stream:
            fastavro.writer(stream, schema, records)


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_a_time_whose_files_are_gone_is_refused(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    retained = table.timeline.clean_metadata(table.timeline.completed({"clean"})[-1]).earliest_retained
    want = {i.requested: table.scan(as_of=i.requested) for i in table.timeline.write_instants()}
    forget_retained(path, table)
    table = HudiTable.open(path)
    refused = 0
    for as_of, scan in want.items():
        asked = table.scan(as_of=as_of)
        conf = {INPUT_DIR: str(path), f"hoodie.{name}.consume.commit": as_of}
        if as_of >= retained:
            assert asked.to_arrow().equals(scan.to_arrow())
            assert len(HoodieParquetInputFormat(conf).list_status()) == asked.plan().slices.num_rows
            continue
        try:
            asked.to_arrow()
        except TimeTravelError as error:
            assert "cleaned" in error.message and error.path and error.instant == as_of and error.remedy
            with pytest.raises(TimeTravelError, match="cleaned"):
                HoodieParquetInputFormat(conf).list_status()
            refused += 1
    assert refused


@pytest.mark.parametrize("gone", ["files", "folder"])
@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_a_partition_of_the_past_that_is_gone_is_refused(tmp_path, name, gone):
    """The cleaner took all files of a dropped partition: without them the past would lack its rows."""
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    drop = next(
        i for i in table.timeline.write_instants() if table.timeline.commit_metadata(i).operation == "DELETE_PARTITION"
    )
    before = max(i.requested for i in table.timeline.write_instants() if i.requested < drop.requested)
    clean = table.timeline.completed({"clean"})[-1]
    partition = path / "rome"
    stats = [table.timeline.commit_metadata(i).write_stats.to_pylist() for i in table.timeline.write_instants()]
    written = [stat["path"] for commit in stats for stat in commit if stat["partition"] == "rome"]
    names = sorted({name.rpartition("/")[2] for name in written if name})
    with open(path / clean.path, "rb") as stream:
        reader = fastavro.reader(stream)
        schema, record = reader.writer_schema, next(iter(reader))
    kept = next(iter(record["partitionMetadata"].values()))
    record["partitionMetadata"] = {
        "rome": kept | {"partitionPath": "rome", "deletePathPatterns": names, "successDeleteFiles": names}
    }
    record["earliestCommitToRetain"] = ""
    with open(path / clean.path, "wb") as stream:
        fastavro.writer(stream, schema, [record])
    for file in partition.glob("*"):
        file.unlink()
    if gone == "folder":
        shutil.rmtree(partition, ignore_errors=True)
    options = {"hoodie.metadata.enable": "false"}
    table = HudiTable.open(path)
    with pytest.raises(TimeTravelError, match="cleaned") as caught:
        table.scan(as_of=before, options=options).to_arrow()
    assert str(path) in (caught.value.path or "")
    assert table.scan(options=options).count() == table.scan().count()
    # Who names the partitions that are there does not know of it; nor may a plan of those be all there is.
    query = Query.of(as_of=before, options=options)
    present = [partition for partition in table.partitions() if partition != "rome"]
    with pytest.raises(TimeTravelError, match="cleaned"):
        plan_scan(table.client, query, partitions=present)
    with (
        pytest.raises(TimeTravelError, match="cleaned"),
        SplitLoader([present], PartitionPlanner(table.client, query)) as loader,
    ):
        loader.next_batch()
