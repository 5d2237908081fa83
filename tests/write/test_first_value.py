"""``FirstValueAvroPayload``: of equal ordering values the earlier record stays, as real Hudi has it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from tests.support.first_value import COLUMNS, PAYLOAD, SCHEMA, SHOWN, WRITES, text
from tests.support.running.long import with_long_cases


@pytest.mark.parametrize(("version", "kind"), with_long_cases(tuple(SHOWN)[::3], SHOWN))
def test_rows_are_those_that_hudi_shows(version, kind, tmp_path):
    fields = {"record_keys": ["id"], "ordering_fields": ["ts"], "payload_class": PAYLOAD}
    HudiTable.create(tmp_path / "t", name="t", table_type=kind, version=version, **fields)
    shown = []
    for rows in WRITES:
        HudiTable.open(tmp_path / "t").upsert(pa.Table.from_pylist(rows, SCHEMA))
        shown.append(text(HudiTable.open(tmp_path / "t").scan(selected_fields=COLUMNS).to_arrow().to_pylist()))
    assert (shown[1], shown[-1]) == SHOWN[version, kind]
    if kind == "MERGE_ON_READ":
        HudiTable.open(tmp_path / "t").compact()
        table = HudiTable.open(tmp_path / "t").scan(selected_fields=COLUMNS, query_type="read_optimized")
        assert text(table.to_arrow().to_pylist()) == shown[-1]
