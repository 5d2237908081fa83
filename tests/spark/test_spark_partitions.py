"""Names of partitions that ``SHOW PARTITIONS`` answers with."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive.spark.statements.definitions.shown_partitions import partition_names
from hudi_hive.table.keys import partition_value_columns


@pytest.mark.parametrize("fields", [("city",), ("year", "month")])
@pytest.mark.parametrize("hive_style", [True, False])
@pytest.mark.parametrize("clause", [False, True])
def test_a_table_without_partitions_has_no_names(fields, hive_style, clause):
    values = partition_value_columns(pa.array([], pa.string()), fields, hive_style=hive_style, url_encoded=True)
    assert partition_names(values, fields, {fields[0]: "1"} if clause else {}) == []


def test_names_are_those_of_hive():
    values = pa.table({"year": ["2024", None, "2023"], "month": ["01", "a b", "11"]})
    names = ["year=2023/month=11", "year=2024/month=01", "year=__HIVE_DEFAULT_PARTITION__/month=a b"]
    assert partition_names(values, ("year", "month"), {}) == names
    assert partition_names(values, ("year", "month"), {"month": "1"}) == names[1:2]
