"""What options of a write do to files, commits and new tables."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive.errors import InvalidOptionError, SchemaError
from hudi_hive.table import TableConfig
from hudi_hive.table_api import HudiTable
from hudi_hive.write.options.config import WriteConfig

ROWS = pa.table({"id": list(range(4000)), "name": ["one", "two"] * 2000, "p": ["a"] * 2000 + ["b"] * 2000})
NEW = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}


def table_at(path, **settings):
    return HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["p"], **settings)


def footers(path):
    return [pq.ParquetFile(file) for file in sorted(path.rglob("*.parquet")) if ".hoodie" not in file.parts]


def commit_of(report, table):
    return table.client.timeline.commit_metadata(report.instant)


@pytest.mark.parametrize("dictionary", [True, False])
def test_dictionaries_may_be_left_out(tmp_path, dictionary):
    table = table_at(tmp_path)
    table.insert(ROWS, {"hoodie.parquet.dictionary.enabled": dictionary})
    for file in footers(tmp_path):
        group = file.metadata.row_group(0)
        columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
        assert columns["name"].has_dictionary_page is dictionary


def test_pages_have_the_requested_number_of_rows(tmp_path):
    ends = []
    for size in (1 << 20, 2000):
        table = table_at(tmp_path / str(size))
        plain = {"hoodie.parquet.compression.codec": "uncompressed", "hoodie.parquet.dictionary.enabled": "false"}
        table.insert(ROWS, plain | {"hoodie.parquet.page.size": size})
        group = footers(tmp_path / str(size))[0].metadata.row_group(0)
        columns = [group.column(at) for at in range(group.num_columns)]
        # Names of files, in a column too, are not of one length.
        ends.append(sum(part.total_uncompressed_size for part in columns if part.path_in_schema in ("id", "name")))
    assert ends[1] > ends[0]  # each page has its own header


def test_row_groups_and_pages_of_services_are_those_of_the_options(tmp_path):
    table = table_at(tmp_path)
    options = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    options["hoodie.clustering.plan.strategy.sort.columns"] = "name"
    report = table.insert(ROWS, options | {"hoodie.parquet.dictionary.enabled": "false"})
    assert report.services.done["clustering"]
    newest = report.services.done["clustering"][0]
    files = [file for file in sorted(tmp_path.rglob(f"*_{newest}.parquet")) if ".hoodie" not in file.parts]
    assert len(files) == 2
    for file in files:
        group = pq.ParquetFile(file).metadata.row_group(0)
        assert not any(group.column(at).has_dictionary_page for at in range(group.num_columns))


@pytest.mark.parametrize("operation", ["upsert", "delete", "insert_overwrite", "delete_partition"])
def test_options_with_the_prefix_go_into_the_commit(tmp_path, operation):
    table = table_at(tmp_path)
    table.insert(ROWS)
    noted = {"_job": "nightly", "_try": 3}
    if operation == "delete_partition":
        report = table.delete_partitions(["a"], noted)
    else:
        report = table.write(operation, ROWS.slice(0, 10), noted, owner="me")
        assert commit_of(report, table).extra["owner"] == "me"
    extra = commit_of(report, table).extra
    assert (extra["_job"], extra["_try"]) == ("nightly", "3")
    assert extra["schema"].startswith("{")


def test_the_prefix_is_the_users(tmp_path):
    table = table_at(tmp_path)
    report = table.insert(ROWS, {"hoodie.datasource.write.commitmeta.key.prefix": "note.", "note.a": "b"})
    assert commit_of(report, table).extra["note.a"] == "b"
    with pytest.raises(InvalidOptionError, match="unknown option '_a'"):
        table.insert(ROWS, {"hoodie.datasource.write.commitmeta.key.prefix": "note.", "_a": "b"})


def test_reconciled_rows_may_lack_columns(tmp_path):
    table = table_at(tmp_path)
    table.insert(ROWS)
    strict = {"hoodie.write.set.null.for.missing.columns": "false"}
    with pytest.raises(SchemaError, match="name"):
        table.upsert(ROWS.slice(0, 1).drop(["name"]), strict)
    table.upsert(ROWS.slice(0, 1).drop(["name"]), strict | {"hoodie.datasource.write.reconcile.schema": "true"})
    assert table.scan("id = 0").to_arrow()["name"].to_pylist() == [None]


def test_cleaning_and_archiving_happen_behind_the_write_where_hudi_would_do_them_beside_it(tmp_path):
    table = table_at(tmp_path)
    options = {"hoodie.clean.async": "true", "hoodie.archive.async": "true", "hoodie.cleaner.commits.retained": "1"}
    for _ in range(3):
        report = table.upsert(ROWS.slice(0, 1), options)
    assert report.services.done["clean"]
    assert report.services.archived is not None


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.datasource.compaction.async.enable",
        "hoodie.clustering.async.enabled",
        "hoodie.datasource.clustering.async.enable",
    ],
)
def test_what_would_run_in_the_background_is_refused(name):
    with pytest.raises(InvalidOptionError, match=f"{name}=true is not supported"):
        WriteConfig.of(NEW | {name: "true"})
    WriteConfig.of(NEW | {name: "false"})


def test_a_new_table_keeps_what_readers_and_later_writes_need():
    times = {
        "hoodie.datasource.write.partitionpath.field": "day:TIMESTAMP",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.deltastreamer.keygen.timebased.output.dateformat": "yyyy/MM/dd",
        "hoodie.payload.delete.field": "gone",
        "hoodie.record.merge.property.hoodie.payload.delete.marker": "yes",
    }
    assert WriteConfig.of(NEW | times).table_properties == {
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
        "hoodie.record.merge.property.hoodie.payload.delete.field": "gone",
        "hoodie.record.merge.property.hoodie.payload.delete.marker": "yes",
    }
    with pytest.raises(InvalidOptionError, match=r"unknown option .hoodie\.keygen\.timebased\.output\.format"):
        WriteConfig.of(NEW | {"hoodie.keygen.timebased.output.format": "yyyy"})


def test_options_of_the_merge_that_the_table_does_not_have_are_refused():
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.version": "8",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.record.merge.property.hoodie.payload.delete.field": "gone",
    }
    table = TableConfig.from_properties(properties)
    assert WriteConfig.of({"hoodie.payload.delete.field": "gone"}, table)
    for name, value in (("hoodie.payload.delete.field", "Op"), ("hoodie.payload.delete.marker", "yes")):
        with pytest.raises(InvalidOptionError, match=f"{name}={value} contradicts the table"):
            WriteConfig.of({name: value}, table)


@pytest.mark.parametrize(
    ("named", "left"),
    [
        (["p=a"], {"p=a.b", "p=b"}),
        (["p=a*"], {"p=b"}),
        (["*b"], {"p=a"}),
        (["p=a.*", "p=none"], {"p=a", "p=b"}),
        (["*"], set()),
        (["p=c*"], {"p=a", "p=a.b", "p=b"}),
    ],
)
def test_partitions_to_delete_may_be_patterns(tmp_path, named, left):
    table = table_at(tmp_path, hive_style_partitioning=True)
    table.insert(pa.table({"id": [1, 2, 3], "name": ["x"] * 3, "p": ["a", "a.b", "b"]}))
    report = table.delete_partitions(named, {"hoodie.datasource.write.partitions.to.delete": ",".join(named)})
    assert {f"p={value}" for value in table.scan().to_arrow()["p"].to_pylist()} == left
    assert set(commit_of(report, table).replaced["partition"].to_pylist()) == {"p=a", "p=a.b", "p=b"} - left


def test_partitions_to_delete_are_named_once(tmp_path):
    table = table_at(tmp_path)
    table.insert(ROWS)
    with pytest.raises(InvalidOptionError, match="names no partitions"):
        table.delete_partitions([])
    with pytest.raises(InvalidOptionError, match=r"partitions\.to\.delete names other partitions"):
        table.delete_partitions(["a"], {"hoodie.datasource.write.partitions.to.delete": "b"})
    assert table.refresh().scan().count() == ROWS.num_rows


def test_the_call_is_the_operation(tmp_path):
    table, name = table_at(tmp_path), "hoodie.datasource.write.operation"
    table.insert(ROWS, {name: "INSERT"})
    for write in (lambda given: table.upsert(ROWS, given), lambda given: table.delete_partitions(["a"], given)):
        with pytest.raises(InvalidOptionError, match=f"{name}=insert contradicts the call"):
            write({name: "insert"})
    assert table.refresh().scan().count() == ROWS.num_rows
