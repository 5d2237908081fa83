"""Rows of base files that name another file than the one they are in."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from hudi_hive.errors import CorruptFileError
from hudi_hive.table.core import refuse_rows_of_others


def check(own: str, held: str, writer: str) -> None:
    batch = pa.record_batch({"_hoodie_file_name": [held]})
    refuse_rows_of_others(SimpleNamespace(path=f"p/{own}", writer=writer), batch)


@pytest.mark.parametrize("writer", ["orc", "parquet-mr version 1.12.2", "parquet-cpp-arrow version 21.0.0"])
def test_only_old_files_hold_copies_under_an_older_name(writer):
    """Releases before 0.11 copied rows with the name of the file that they came from."""
    old, newer = "g-0_1-2-3_20220301000000000.parquet", "g-0_4-5-6_20220401000000000.parquet"
    check(newer, old, writer)
    recent = newer.replace("2022", "2025")
    for own, held in ((old, newer), (newer, old.replace("g-0", "h-0")), (recent, old), (recent, newer)):
        with pytest.raises(CorruptFileError, match="the file's rows are those of"):
            check(own, held, writer)
