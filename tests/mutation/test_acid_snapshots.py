"""Snapshots of ACID tables that outlived what they saw: refused, never answered with a part of the rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hudi_hive.errors import TimeTravelError
from hudi_hive.metastore.transactions import ValidTransactions, ValidWriteIds
from hudi_hive.mutation.acid_table.directories import choose, parse_directory
from hudi_hive.mutation.acid_table.reader import AcidReader
from tests.support.mutation.acid_rows import insert, names, snapshot, table_at


def _chosen(folders: str, transactions: ValidTransactions) -> str:
    found = [directory for name in folders.split() if (directory := parse_directory(name))]
    base, deltas = choose(found, snapshot(100), transactions)
    return " ".join([base.name if base else "-", *(one.name for one in deltas)])


@pytest.mark.parametrize(
    "folders",
    [
        "base_2_v0000040",
        "base_2_v0000040 delta_3_3_0000",
        "delta_1_2_v0000040 delete_delta_1_2_v0000040 delta_3_3_0000",
        "base_2_v0000020 delta_3_4_v0000040",
    ],
)
def test_a_compaction_that_is_not_visible_needs_its_inputs(folders: str) -> None:
    assert _chosen(folders, ValidTransactions(50))
    with pytest.raises(TimeTravelError, match="v0000040 replaced what the snapshot needs"):
        _chosen(folders, ValidTransactions(30))
    with pytest.raises(TimeTravelError):
        _chosen(folders, ValidTransactions(50, (40,), (), 40))


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ("delta_1_1_0000 delta_2_2_0000 base_2_v0000040", "- delta_1_1_0000 delta_2_2_0000"),
        ("base_2_v0000020 base_2_v0000040", "base_2_v0000020"),
        ("delta_1_1_0000 delta_1_2_v0000040", "- delta_1_1_0000"),
        ("base_-9223372036854775808 base_2_v0000040", "base_-9223372036854775808"),
    ],
)
def test_a_compaction_under_way_is_left_out(folders: str, expected: str) -> None:
    assert _chosen(folders, ValidTransactions(30)) == expected


def test_what_an_aborted_compaction_left_is_nothing() -> None:
    assert _chosen("base_2_v0000040 delta_3_3_0000", ValidTransactions(50, (), (40,))) == "- delta_3_3_0000"


def test_a_reader_without_lock_does_not_answer_with_no_rows_after_a_cleaning(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    insert(table, 1, 0, names((1, "a")))
    reader = AcidReader(table, snapshot(2), ValidTransactions(30))
    assert reader.read().num_rows == 1
    insert(table, 1, 0, names((1, "a")), folder="base_0000001_v0000040")
    assert reader.read().num_rows == 1
    shutil.rmtree(tmp_path / "delta_0000001_0000001_0000")
    with pytest.raises(TimeTravelError, match="base_0000001_v0000040"):
        reader.read()


def test_a_base_with_open_ids_in_it_is_no_base_however_the_list_was_made() -> None:
    """Whoever makes a list need not say the lowest open id twice."""
    base = "base_5 delta_3_3_0000"
    found = [directory for name in base.split() if (directory := parse_directory(name))]
    with pytest.raises(TimeTravelError, match="base_5 replaced"):
        choose(found, ValidWriteIds(9, (3,)), compacted=["base_5"])
    assert ValidWriteIds(9, (), (3,)).is_valid_base(5)
    assert not ValidWriteIds(9, (), (), 5).is_valid_base(5)
