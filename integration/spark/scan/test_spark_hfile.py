"""Tables of real Hudi whose base files are HFiles, in Spark SQL: their rows come by Arrow."""

from __future__ import annotations

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from tests.formats.shared.hfile_base_helpers import folder

pytestmark = pytest.mark.jvm


def same_rows(frame, **query):
    """Whether a frame has the rows that a scan of the same table has."""
    name, options = query.pop("name"), query
    expected = HudiTable.open(folder() / name).scan(**options).to_arrow()
    found = frame.toArrow().select(expected.column_names).sort_by("id")
    return found.to_pylist() == expected.sort_by("id").to_pylist()


def test_queries_of_tables_with_hfiles_have_the_rows_of_scans(spark):
    copy_on_write = hudi_spark.load(spark, folder() / "hfile_cow")
    assert same_rows(copy_on_write, name="hfile_cow")
    assert same_rows(
        copy_on_write.where("p = 'p1' and price > 3"), name="hfile_cow", row_filter="p = 'p1' AND price > 3"
    )
    assert "converted in Arrow: 2 base files of HFile format" in hudi_spark.explain(copy_on_write)
    assert copy_on_write.where("maybe is null").count() == 26
    merge_on_read = spark.read.format("hudi").load(str(folder() / "hfile_mor"))
    assert same_rows(merge_on_read, name="hfile_mor")
    optimised = hudi_spark.load(spark, folder() / "hfile_mor", {"hoodie.datasource.query.type": "read_optimized"})
    assert same_rows(optimised, name="hfile_mor", query_type="read_optimized")
    begin = HudiTable.open(folder() / "hfile_mor").timeline.write_instants()[0].completed
    options = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": begin}
    assert same_rows(hudi_spark.load(spark, folder() / "hfile_mor", options), name="hfile_mor", begin=begin)


def test_what_tells_of_files_is_refused(spark):
    frame = hudi_spark.load(spark, folder() / "hfile_cow")
    with pytest.raises(HudiHiveError, match="tells of files"):
        frame.select("_metadata.file_path").collect()
