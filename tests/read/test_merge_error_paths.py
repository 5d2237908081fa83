"""Records that cannot be merged are told with the slice, or the table, that they are of."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import UnsupportedTableError


def rows(order: str | None) -> pa.Table:
    columns = [pa.array(["a"]), pa.array(["p"]), pa.array([order], pa.string())]
    return pa.table(columns, names=["id", "part", "ts"])


def table_of(path, kind: str, version: int) -> HudiTable:
    """A table whose only record has no ordering value: null is the number 0 there, which no text is compared with."""
    table = HudiTable.create(
        path,
        name="t",
        table_type=kind,
        version=version,
        record_keys=["id"],
        partition_fields=["part"],
        ordering_fields=["ts"],
        merge_mode="EVENT_TIME_ORDERING",
    )
    table.upsert(rows(None))
    return table


@pytest.mark.parametrize("options", [{}, {"hoodie.memory.merge.max.size": "1"}], ids=["whole", "parts"])
@pytest.mark.parametrize("version", [8, 9])
def test_a_read_names_the_slice(version, options, tmp_path):
    table = table_of(tmp_path, "MERGE_ON_READ", version)
    table.upsert(rows("x"))
    [base] = table.scan().plan().slices.column("path").to_pylist()
    with pytest.raises(UnsupportedTableError, match="null counts as the number 0") as caught:
        table.scan(options=options).to_arrow()
    assert caught.value.path == f"file:{tmp_path}/{base}"


@pytest.mark.parametrize("version", [8, 9])
def test_a_write_names_the_table(version, tmp_path):
    table = table_of(tmp_path, "COPY_ON_WRITE", version)
    with pytest.raises(UnsupportedTableError, match="null counts as the number 0") as caught:
        table.upsert(rows("x"))
    assert caught.value.path == f"file:{tmp_path}"
    assert table.scan(selected_fields=["ts"]).to_arrow().to_pylist() == [{"ts": None}]
