"""Table-valued functions and change data in Spark SQL: real Hudi's answers, in all kinds of sessions."""

from __future__ import annotations

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from tests.support import (
    assert_same_rows,
    encode_rows,
    fixture_names,
    named_gap,
    queries,
    query_id,
    rows_sha256,
    unzip_fixture,
)

pytestmark = pytest.mark.jvm

# -- change data -------------------------------------------------------------------------------------------------------

CHANGES = [(name, query) for name in fixture_names() for query in queries(name, "cdc")]


@pytest.mark.parametrize(("name", "query"), CHANGES, ids=[f"{name}-{query_id(query)}" for name, query in CHANGES])
def test_change_data_by_path(spark, name, query):
    gap = named_gap(name, query)
    try:
        rows = hudi_spark.load(spark, unzip_fixture(name), query["options"]).toArrow()
    except HudiHiveError as error:
        assert "error" in query, error
        return
    if gap is None:
        assert "error" not in query, f"{rows.num_rows} rows where Hudi refuses: {query['error']}"
        assert_same_rows(rows, name, query)
        return
    ours = HudiTable.open(unzip_fixture(name)).scan(options=query["options"]).to_arrow()
    assert rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(ours)), gap
