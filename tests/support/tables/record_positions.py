"""Record positions in the log files of a table: the headers that blocks have, held against the keys of base files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from hudi_hive import HudiTable
from hudi_hive.formats.log import BlockType, RecordPositions, iter_blocks
from hudi_hive.read.scan import partition_columns, replaced_rows
from hudi_hive.table.logs import RECORD_KEY, LogData, decode_block

BY_KEY = {"hoodie.merge.use.record.positions": "false"}


class Block(NamedTuple):
    """A log block: whether it deletes, its keys in their order, and the rows that it tells; None for none."""

    deletes: bool
    keys: list[str]
    rows: list[int] | None


def blocks_of(table: HudiTable) -> list[Block]:
    """All blocks of the table's log files, in the order of the plan; what they tell must be true of the base files."""
    blocks = []
    for row in table.scan().plan().slices.to_pylist():
        base = []
        folder = Path(table.client.base_path.removeprefix("file:")) / row["partition"]
        if row["base_file"] is not None:
            base = pq.read_table(folder / row["base_file"], columns=[RECORD_KEY], partitioning=None)[RECORD_KEY]
            base = base.to_pylist()
        for name in row["log_files"]:
            for block in iter_blocks((folder / name).read_bytes(), name):
                if block.type is BlockType.COMMAND:
                    continue
                records = decode_block(block, block.instant or "", None)
                is_data = isinstance(records, LogData)
                keys = (records.batch.column(RECORD_KEY) if is_data else records.table["record_key"]).to_pylist()
                told = RecordPositions.of(block)
                rows = None if told is None else told.rows(len(keys)).tolist()
                if told is not None:
                    assert told.base_instant == row["base_instant"]
                    assert [base[place] for place in rows] == keys
                blocks.append(Block(not is_data, keys, rows))
    return blocks


def effects(table: HudiTable, options: Mapping[str, str] | None = None) -> list[tuple[list[int], list[str]]]:
    """What log files do to the base files of each slice: rows left out, and the rows beside them, as texts."""
    plan = table.scan(options=dict(options or {})).plan()
    done = []
    for number, row in enumerate(plan.slices.to_pylist()):
        values = partition_columns(plan, plan.slices.slice(number, 1))
        effect = replaced_rows(table.client.storage, plan, row, values)
        assert effect is not None
        done.append((effect.left_out.tolist(), sorted(map(str, effect.rows.to_pylist()))))
    return done
