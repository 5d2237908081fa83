"""Bootstrapped tables in Spark SQL: rows of skeletons come by Arrow beside Spark's own scan; CALL makes them."""

from __future__ import annotations

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, SparkError
from tests.support.bootstrapped import bootstrapped_names, unzip_bootstrapped
from tests.support.fixture_tables import expected
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

NAMES = bootstrapped_names()


def same_rows(frame, scan):
    """Whether a frame has the rows of a scan."""
    rows = scan.to_arrow()
    found = frame.toArrow().select(rows.column_names)
    key = "_hoodie_record_key"
    return sorted(found.to_pylist(), key=lambda row: row[key]) == sorted(rows.to_pylist(), key=lambda row: row[key])


@pytest.mark.parametrize("name", with_long_cases(NAMES[::7], NAMES))
def test_queries_have_the_rows_of_scans(spark, name):
    path = unzip_bootstrapped(name)
    table = HudiTable.open(path)
    frame = hudi_spark.load(spark, path)
    assert same_rows(frame, table.scan())
    assert same_rows(
        frame.where("qty > 50 and _hoodie_record_key > 'k'"), table.scan("qty > 50 AND _hoodie_record_key > 'k'")
    )
    assert frame.count() == table.scan().count()
    assert sorted(frame.select("price").toArrow()["price"].to_pylist()) == sorted(
        table.scan(selected_fields=["price"]).to_arrow()["price"].to_pylist()
    )
    if "region" in frame.columns:
        assert same_rows(frame.where("region = 'eu'"), table.scan("region = 'eu'"))
    optimised = hudi_spark.load(spark, path, {"hoodie.datasource.query.type": "read_optimized"})
    assert same_rows(optimised, table.scan(query_type="read_optimized"))
    first = expected(name)["commits"][0]
    travel = spark.read.format("hudi").option("as.of.instant", first["requested"]).load(str(path))
    assert same_rows(travel, table.scan(as_of=first["requested"]))
    begin = first["completed"] or first["requested"]
    options = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": begin}
    assert same_rows(hudi_spark.load(spark, path, options), table.scan(begin=begin))
    if "cow_metadata_only" in name:
        assert "base files of a bootstrap, with their source files" in hudi_spark.explain(frame)


def test_source_files_are_read_by_sparks_own_reader(spark, tmp_path):
    """Where no meta column is asked for, a skeleton's source file is all that its slice has."""
    path = unzip_bootstrapped("bootstrapped/v9_cow_metadata_only", tmp_path)
    table, frame = HudiTable.open(path), hudi_spark.load(spark, path)
    names = [name for name in frame.columns if not name.startswith("_hoodie_")]
    data = frame.select(*names)
    for shown, scan in (
        (data, table.scan(selected_fields=names)),
        (
            data.where("price > 100 and region != 'us'"),
            table.scan("price > 100 AND region != 'us'", selected_fields=names),
        ),
        (data.where("id = 'k003' or spot.y = 'q'"), table.scan("id = 'k003' OR spot.y = 'q'", selected_fields=names)),
    ):
        rows = sorted(scan.to_arrow().to_pylist(), key=lambda row: row["id"])
        assert rows and sorted(shown.toArrow().select(names).to_pylist(), key=lambda row: row["id"]) == rows
        files = {name for name in shown.inputFiles() if "_source/" in name}
        assert files and "in Arrow" not in hudi_spark.explain(shown)
    assert frame.groupBy("region").count().toArrow().num_rows == 4
    assert frame.count() == table.scan().count()
    assert "in Arrow" in hudi_spark.explain(frame.select("_hoodie_record_key", "id"))
    source = next(path.with_name(path.name + "_source").rglob("region=us/*.parquet"))
    source.rename(source.with_suffix(".away"))
    with pytest.raises(HudiHiveError, match="the source file of the skeleton"):
        hudi_spark.load(spark, path).select("id").collect()


def test_bootstraps_and_their_procedures(spark, tmp_path):
    theirs = unzip_bootstrapped("bootstrapped/v8_cow_metadata_only", tmp_path)
    source, path = f"{theirs}_source", tmp_path / "made"
    call = (
        f"CALL run_bootstrap(table => 'made', table_type => 'COPY_ON_WRITE', bootstrap_path => '{source}', "
        f"base_path => '{path}', rowKey_field => 'id', partition_path_field => 'region', options => "
        "'hoodie.datasource.write.hive_style_partitioning=true,hoodie.datasource.write.precombine.field=ts'"
    )
    with pytest.raises(SparkError, match="enable_hive_sync"):
        spark.sql(f"{call}, enable_hive_sync => true)")
    assert not path.exists()
    assert [tuple(row) for row in spark.sql(f"{call})").collect()] == [(0,)]
    frame = spark.read.format("hudi").load(str(path))
    assert frame.count() == 24 and same_rows(frame, HudiTable.open(path).scan())
    partitions = spark.sql(f"CALL show_bootstrap_partitions(path => '{path}')").collect()
    assert [row[0] for row in partitions] == ["region=asia", "region=eu", "region=us"]
    shown = f"CALL show_bootstrap_mapping(path => '{path}'"
    rows = spark.sql(f"{shown})").collect()
    assert len(rows) == 6 and {row["source_base_path"] for row in rows} == {f"file:{source}"}
    (one,) = spark.sql(f"{shown}, partition_path => 'region=eu', file_ids => '{rows[2]['file_id']}')").collect()
    assert one == rows[2] and one["source_file"].startswith(f"file:{source}/region=eu/")
    (last,) = spark.sql(f"{shown}, limit => 1, sort_by => 'file_id', desc => true)").collect()
    assert last["file_id"] == max(row["file_id"] for row in rows)
    with pytest.raises(SparkError, match="file_ids go with a partition_path"):
        spark.sql(f"{shown}, file_ids => 'x')")
    whole = {"hoodie.bootstrap.mode.selector": "FullRecordBootstrapModeSelector"}
    options = {
        "hoodie.table.name": "whole",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    }
    report = hudi_spark.bootstrap(spark, source, tmp_path / "whole", options | whole)
    assert report.instants == ("00000000000002",) and report.rows == 24
    assert same_rows(hudi_spark.load(spark, tmp_path / "whole"), HudiTable.open(tmp_path / "whole").scan())
    with pytest.raises(SparkError, match="no bootstrap index"):
        spark.sql(f"CALL show_bootstrap_partitions(path => '{tmp_path / 'whole'}')")
    with pytest.raises(HudiHiveError, match="already"):
        hudi_spark.bootstrap(spark, source, path, options)
