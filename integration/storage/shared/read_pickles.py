"""Reads pickles of a table in a process: as it is, with options that it is given, and with those of its environment.

``python -m integration.storage.shared.read_pickles FILE`` reads JSON from standard input and prints a line each time.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from hudi_hive import HudiHiveError, use_storage_options
from hudi_hive.connector import PageSources
from hudi_hive.input_format import HoodieParquetRealtimeInputFormat
from hudi_hive.read.scan import read_plan

Batches = Iterator[pa.RecordBatch]


def _slices(rows_of: Callable[[Batches], Batches]) -> Batches:
    return rows_of(iter([pa.record_batch({"n": pa.array([0], pa.int32())})]))


def _job(conf: Mapping[str, str]) -> Batches:
    format_ = HoodieParquetRealtimeInputFormat(conf)
    for split in format_.get_splits():
        yield from format_.get_record_reader(split)


def _splits(one: tuple[Any, Any]) -> Batches:
    handle, splits = one
    sources = PageSources(handle, ["id", "v"])
    for split in splits:
        yield from sources.read(split)


READERS: Final[Mapping[str, Callable[[Any], Batches]]] = {
    "table": lambda table: table.scan().to_batches(),
    "refreshed table": lambda table: table.refresh().scan().to_batches(),
    "scan": lambda scan: scan.to_batches(),
    "plan and storage": lambda pair: read_plan(pair[1], pair[0], ["id", "v"]),
    "splits and handle": _splits,
    "job": _job,
    "slices": _slices,
}
"""How the rows of what a pickle holds are read, by its name."""


def answers(pickles: Mapping[str, bytes]) -> dict[str, Any]:
    """The rows of each pickle, or the error that says why there are none."""
    said: dict[str, Any] = {}
    for name, data in pickles.items():
        loaded = pickle.loads(data)
        try:
            table = pa.Table.from_batches(list(READERS[name](loaded)))
            said[name] = table.select(["id", "v"]).sort_by("id").to_pylist()
        except (HudiHiveError, RuntimeError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    return said


def main() -> None:
    """Read the pickles three times."""
    given = json.loads(sys.stdin.read())
    pickles = pickle.loads(Path(sys.argv[1]).read_bytes())
    print(json.dumps(answers(pickles)))
    use_storage_options(given["options"])
    print(json.dumps(answers(pickles)))
    use_storage_options(None)
    os.environ.update(given["environment"])
    print(json.dumps(answers(pickles)))


if __name__ == "__main__":
    main()
