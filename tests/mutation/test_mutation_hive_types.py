"""Rows of all types in files that Hive 4.0.1 has written and compacted, against what its own reader says of them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from hudi_hive.metastore import ValidTransactions, ValidWriteIds
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.mutation.acid_write.coordinator import RowId
from integration.support.hive_acid import Snapshot

FOLDER = Path(__file__).parents[2] / "integration" / "data" / "hive_types"


@pytest.mark.parametrize("state", ["written", "compacted"])
def test_values_that_hive_wrote(state: str, tmp_path: Path) -> None:
    """Old dates, padded texts and times before 1970 among them."""
    with zipfile.ZipFile(FOLDER / f"{state}.zip") as packed:
        packed.extractall(tmp_path)
    about = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    snapshot = Snapshot(
        AcidTable.decode(about["table"].replace("LOCATION", str(tmp_path / "table"))),
        ValidWriteIds.parse(about["write_ids"]),
        ValidTransactions.parse(about["transactions"]),
    )
    assert about["rows"]
    assert snapshot.ours() == {((), RowId(*row_id)): tuple(row) for row_id, row in about["rows"]}
