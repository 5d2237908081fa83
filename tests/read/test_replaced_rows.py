"""Which rows of base files log files replace, by record keys and by the positions that log blocks tell."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.formats.base import BaseFile, open_base_file
from hudi_hive.read.merge import distinct_keys
from hudi_hive.read.scan import ReplacedRows, ReplacedShare, counted_share, replaced_rows
from tests.support.tables.mor_table import MorTable

ORDERS = {
    "commit time": {"hoodie__record__merge__mode": "COMMIT_TIME_ORDERING"},
    "event time": {"hoodie__record__merge__mode": "EVENT_TIME_ORDERING", "hoodie__table__ordering__fields": "ts"},
}
KEY = "_hoodie_record_key"
BY_KEY = {"hoodie.merge.use.record.positions": "false"}
ROWS = [{"id": f"k{number}", "ts": 5, "a": f"a{number}"} for number in range(8)]
PLACES = {row["id"]: place for place, row in enumerate(ROWS)}


def made(path: Path, order: str = "commit time", version: int = 8, **properties: str) -> MorTable:
    return MorTable(path, version, **ORDERS[order], **properties)


def effect(table: MorTable, options: Mapping[str, str] | None = None) -> tuple[ReplacedRows, list[str]]:
    """What log files do to the base file of a table's one slice, and the columns of it that are read for it."""
    opened = HudiTable.open(str(table.path))
    plan = opened.scan(options=dict(options or {})).plan()
    row = plan.slices.to_pylist()[0]
    columns: list[str] = []
    with open_base_file(opened.client.storage, row["path"]) as file:
        kind = type(file)
    read = kind.batches

    def batches(self: BaseFile, names: Sequence[str], **how: Any) -> Iterator[pa.RecordBatch]:
        columns.extend(names)
        return read(self, names, **how)

    with patch.object(kind, "batches", batches):
        result = replaced_rows(opened.client.storage, plan, row, None)
    assert result is not None
    return result, columns


def slice_rows(table: MorTable, result: ReplacedRows) -> list[dict[str, Any]]:
    """The rows of the slice that an engine gets: those of the base file that count, and those beside them."""
    base = HudiTable.open(str(table.path)).scan(query_type="read_optimized").to_arrow()
    assert base.num_rows == result.base_rows
    left = np.setdiff1d(np.arange(base.num_rows), result.left_out)
    rows = [*base.take(pa.array(left)).to_pylist(), *result.rows.select(base.column_names).to_pylist()]
    return sorted(rows, key=lambda row: row["_hoodie_record_key"])


def merged_rows(table: MorTable) -> list[dict[str, Any]]:
    rows = HudiTable.open(str(table.path)).scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["_hoodie_record_key"])


def short_cut(table: MorTable) -> bool:
    """Whether the keys of the base file are not read; they tell the same rows."""
    by_positions, columns = effect(table)
    by_keys, more = effect(table, BY_KEY)
    assert by_positions.left_out.tolist() == by_keys.left_out.tolist()
    assert by_positions.base_rows == by_keys.base_rows and by_positions.instants == by_keys.instants
    assert slice_rows(table, by_positions) == slice_rows(table, by_keys) == merged_rows(table)
    assert KEY in more
    return KEY not in columns


def write_randomly(table: MorTable, dice: random.Random, base: Sequence[str], commits: int) -> None:
    """Updates and deletes of keys of the base file, some of them several times, some ordering values missing."""
    for number in range(2, 2 + commits):
        keys = dice.sample(base, dice.randint(1, len(base)))
        cut = dice.choice([0, len(keys), dice.randint(0, len(keys))])
        updates = [{"id": key, "ts": dice.choice([None, *range(9)]), "a": f"{number}{key}"} for key in keys[:cut]]
        deletes = [(key, dice.choice([None, ("Long", dice.randint(1, 9))])) for key in keys[cut:]]
        table.log(number, updates, deletes, places={key: place for place, key in enumerate(base)})


def counted(table: MorTable) -> ReplacedShare:
    """What counts the rows of a table's one slice; they are as many as merging gives."""
    opened = HudiTable.open(str(table.path))
    plan = opened.scan().plan()
    result = counted_share(opened.client.storage, plan, plan.slices.to_pylist()[0], None)
    assert result is not None and not list(result.batches)
    assert result.rows == len(merged_rows(table))
    assert result.instants == effect(table)[0].instants
    return result


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(25))
def test_random_histories(tmp_path, order, seed):
    dice = random.Random(seed)
    table = made(tmp_path, order, dice.choice([8, 9]))
    base = [f"k{number}" for number in range(dice.choice([1, 20, 300]))]
    rows = [{"id": key, "ts": dice.choice([None, *range(9)]), "a": key * 50} for key in base]
    table.base(1, rows, row_group_size=dice.choice([7, 1000]))
    write_randomly(table, dice, base, dice.randint(1, 5))
    assert short_cut(table)
    counted(table)


@pytest.mark.parametrize(("order", "columns"), [("commit time", []), ("event time", ["ts"])])
def test_of_base_files_ordering_values_are_read_where_they_are_compared(tmp_path, order, columns):
    table = made(tmp_path, order)
    table.base(1, ROWS)
    table.log(2, [{"id": "k1", "ts": 7, "a": "new"}], [("k3", None)], places=PLACES)
    assert effect(table)[1] == columns
    assert effect(table, BY_KEY)[1] == [KEY, *columns]
    assert short_cut(table)


@pytest.mark.parametrize("order", ORDERS)
def test_blocks_that_do_not_tell_all_positions_are_merged_by_key(tmp_path, order):
    def of(name: str) -> MorTable:
        (tmp_path / name).mkdir()
        table = made(tmp_path / name, order)
        table.base(1, ROWS)
        return table

    update = {"ts": 7, "a": "new"}
    table = of("none")
    table.log(2, [{"id": "k1", **update}])
    assert not short_cut(table)
    table = of("one of two blocks")
    table.log(2, [{"id": "k1", **update}], places=PLACES)
    table.log(3, [{"id": "k2", **update}])
    assert not short_cut(table)
    table = of("new keys in a block of their own")
    table.log(2, [{"id": "k1", **update}], places=PLACES)
    table.log(3, [{"id": "new", **update}])
    assert not short_cut(table)
    table = of("another base file")
    table.log(2, [{"id": "k1", **update}], **table.positions([1], base=2))
    assert not short_cut(table)
    table = of("a row twice")
    table.log(2, [{"id": "k1", **update}], places=PLACES)
    table.log(3, [{"id": "new", **update}], places={"new": PLACES["k1"]})
    assert counted(table).left_out is not None and counted(table).rows == len(ROWS) + 1
    table = of("another number")
    table.log(2, [{"id": "k1", **update}], **table.positions([1, 2]))
    assert not short_cut(table)
    table = of("no bitmap")
    table.log(2, [{"id": "k1", **update}], **{**table.positions([1]), "RECORD_POSITIONS": "AAAA"})
    assert not short_cut(table)
    table = of("behind the last row")
    table.log(2, [{"id": "k1", **update}], **table.positions([len(ROWS)]))
    assert effect(table)[0].left_out.tolist() == effect(table, BY_KEY)[0].left_out.tolist() == [1]
    table = of("a key at two rows")
    table.log(2, [{"id": "k1", **update}], places=PLACES)
    table.log(3, [{"id": "k1", **update}], **table.positions([4]))
    assert not short_cut(table)
    table = of("two keys at a row")
    table.log(2, [{"id": "k1", **update}], places=PLACES)
    table.log(3, [{"id": "k2", **update}], **table.positions([1]))
    assert not short_cut(table)


def test_keys_of_columns_are_merged_by_key(tmp_path):
    table = made(tmp_path, hoodie__populate__meta__fields="false")
    table.base(1, ROWS)
    table.log(2, [{"id": "k1", "ts": 7, "a": "new"}], places=PLACES)
    assert effect(table)[1] == effect(table, BY_KEY)[1] == ["id"]


def test_positions_are_trusted_and_keys_of_the_base_file_not_read(tmp_path):
    """What makes a row be left out is its position: as Hudi reads it."""
    table = made(tmp_path)
    table.base(1, ROWS)
    table.log(2, [{"id": "k1", "ts": 7, "a": "new"}], places={"k1": 6})
    assert effect(table)[0].left_out.tolist() == [6]
    assert effect(table, BY_KEY)[0].left_out.tolist() == [1]


@pytest.mark.parametrize("order", ORDERS)
def test_slices_whose_blocks_do_not_count(tmp_path, order):
    table = made(tmp_path, order)
    table.base(1, ROWS)
    name = table.log(2, [{"id": "k1", "ts": 7, "a": "new"}], places=PLACES)
    table.log(3, [{"id": "k2", "ts": 7, "a": "new"}], places=PLACES)
    plan = HudiTable.open(str(tmp_path)).scan().plan()
    for file in (tmp_path / ".hoodie/timeline").glob(f"{table.t(2)}*"):
        if "deltacommit." not in file.name:
            file.unlink()
    opened = HudiTable.open(str(tmp_path))
    row = opened.scan().plan().slices.to_pylist()[0]
    assert name not in row["log_files"] and name in plan.slices.to_pylist()[0]["log_files"]
    result = replaced_rows(opened.client.storage, opened.scan().plan(), row, None)
    assert result is not None and (result.left_out.tolist(), result.rows.num_rows) == ([2], 1)


@pytest.mark.parametrize("order", ORDERS)
def test_updates_of_rows_are_counted_by_their_positions_alone(tmp_path, order):
    table = made(tmp_path, order)
    table.base(1, ROWS)
    late, early = {"ts": 7, "a": "new"}, {"ts": 1, "a": "old"}
    table.log(2, [{"id": "k1", **late}, {"id": "k2", **early}], places=PLACES)
    table.log(3, [{"id": "k3", **late}, {"id": "k7", **early}], places=PLACES)
    with patch("hudi_hive.table.logs.log_scanner.decode_block", side_effect=AssertionError("records are decoded")):
        opened = HudiTable.open(str(tmp_path))
        plan = opened.scan().plan()
        result = counted_share(opened.client.storage, plan, plan.slices.to_pylist()[0], None)
    assert result is not None and (result.rows, result.left_out) == (len(ROWS), None)
    assert counted(table).left_out is None


@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_counted_by_the_merge_where_positions_do_not_tell(tmp_path, order):
    def of(name: str, **properties: str) -> MorTable:
        (tmp_path / name).mkdir()
        table = made(tmp_path / name, order, **properties)
        table.base(1, ROWS)
        return table

    update = {"ts": 7, "a": "new"}
    table = of("a new key")
    table.log(2, [{"id": "k1", **update}, {"id": "new", **update}])
    assert counted(table).left_out is not None and counted(table).rows == len(ROWS) + 1
    table = of("a delete block")
    table.log(2, [{"id": "k1", **update}], [("k3", None)], places=PLACES)
    assert counted(table).left_out is not None and counted(table).rows == len(ROWS) - 1
    table = of("one of two blocks")
    table.log(2, [{"id": "k1", **update}], places=PLACES)
    table.log(3, [{"id": "new", **update}])
    assert counted(table).left_out is not None and counted(table).rows == len(ROWS) + 1
    table = of("another base file")
    table.log(2, [{"id": "k1", **update}], **table.positions([1], base=2))
    assert counted(table).left_out is not None
    table = of("a row twice")
    table.log(2, [{"id": "k1", **update}], places=PLACES)
    table.log(3, [{"id": "new", **update}], places={"new": PLACES["k1"]})
    assert counted(table).left_out is not None and counted(table).rows == len(ROWS) + 1
    table = of("another number")
    table.log(2, [{"id": "k1", **update}], **table.positions([1, 2]))
    assert counted(table).left_out is not None
    table = of("behind the last row")
    table.log(2, [{"id": "k1", **update}], **table.positions([len(ROWS)]))
    assert counted(table).left_out is not None


def test_records_that_may_be_deletes_are_looked_at(tmp_path):
    table = made(tmp_path, hoodie__payload__delete__field="a", hoodie__payload__delete__marker="gone")
    table.base(1, ROWS)
    table.log(2, [{"id": "k1", "ts": 7, "a": "gone"}, {"id": "k2", "ts": 7, "a": "new"}], places=PLACES)
    assert counted(table).left_out is not None and counted(table).rows == len(ROWS) - 1


def test_keys_are_numbered_in_order_of_first_appearance():
    def numbered(keys: list[str]) -> tuple[list[str], list[int]]:
        distinct, numbers = distinct_keys(pa.array(keys, pa.string()))
        return distinct.to_pylist(), numbers.tolist()

    assert numbered([]) == ([], [])
    assert numbered(["b"]) == (["b"], [0])
    assert numbered(["a", "b", "c"]) == (["a", "b", "c"], [0, 1, 2])
    assert numbered(["a", "b", "b"]) == (["a", "b"], [0, 1, 1])
    assert numbered(["c", "a", "c"]) == (["c", "a"], [0, 1, 0])
    ascending = [f"{number:04}" for number in range(200)]
    assert numbered(ascending) == (ascending, list(range(200)))
    assert numbered([*ascending, "0000"]) == (ascending, [*range(200), 0])
