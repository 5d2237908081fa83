"""Tables whose dates are in folders of year, month and day, as Hudi 1.2 writes them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.table_api import HudiTable

_TIMES = "hoodie.keygen.timebased."
_SEPARATED = "hoodie.datasource.write.slash.separated.date."
_ROWS = [{"id": "1", "day": "2026-01-05"}, {"id": "2", "day": "2026-01-06"}, {"id": "3", "day": "2026-02-10"}]


@pytest.fixture(params=["partitioning", "partitionpath"])
def table(request, tmp_path):
    """A generator that formats dates writes the same files; the properties are changed to those of Hudi 1.2."""
    formats = {"timestamp.type": "DATE_STRING", "input.dateformat": "yyyy-MM-dd", "output.dateformat": "yyyy/MM/dd"}
    written = HudiTable.create(
        tmp_path / "t",
        name="t",
        record_keys=["id"],
        partition_fields=["day"],
        key_generator="TIMESTAMP",
        properties={_TIMES + key: value for key, value in formats.items()},
    )
    written.insert(pa.Table.from_pylist(_ROWS))
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if _TIMES not in line and "keygenerator" not in line]
    lines += ["hoodie.table.keygenerator.type=SIMPLE", f"{_SEPARATED}{request.param}=true"]
    properties.write_text("\n".join([*lines, ""]))
    return HudiTable.open(tmp_path / "t")


@pytest.mark.parametrize(
    ("row_filter", "expected"),
    [
        ("day = '2026-01-05'", ["1"]),
        ("day >= '2026-01-06'", ["2", "3"]),
        ("day IN ('2026-01-05', '2026-02-10')", ["1", "3"]),
        ("day = '2026/01/05'", []),
    ],
)
def test_filters_are_about_dates_with_dashes(table, row_filter, expected):
    rows = table.scan(row_filter=row_filter).to_arrow()
    assert sorted(rows["id"].to_pylist()) == expected
    assert all(path.count("/") == 2 for path in table.client.partition_paths())


def test_all_rows_have_the_dates_that_were_written(table):
    rows = table.scan().to_arrow().select(["id", "day"])
    assert sorted(rows.to_pylist(), key=lambda row: row["id"]) == _ROWS


def test_writes_are_refused_before_anything_is_written(table):
    before = table.client.timeline.write_instants()
    with pytest.raises(UnsupportedTableError, match="folders of year, month and day"):
        table.upsert(pa.Table.from_pylist(_ROWS[:1]))
    assert HudiTable.open(table.client.base_path).client.timeline.write_instants() == before
