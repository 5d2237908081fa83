"""The private names of Spark that features stand on are those of the release, and one that is not is named."""

from __future__ import annotations

from hudi_hive.spark.versions import Feature
from integration.support.spark_names import missing_names


def test_all_private_names_are_there(spark):
    assert missing_names(spark) == []


def test_a_name_that_is_not_there_is_named_with_its_feature(spark):
    made_up = Feature("reads", (), ("sql.Gone", "sql.internal.SessionState#gone"), pyspark=("_jgone",))
    assert missing_names(spark, [made_up]) == [
        "reads: sql.Gone",
        "reads: sql.internal.SessionState#gone",
        "reads: _jgone",
    ]
