"""Streams into tables that are killed: each row of the source is in the table once, whatever the moment.

    python -m integration.long.stream_kills [--most 40] [--spark 20] [--seed 1]

Two ways, for copy on write and merge on read, inserts and upserts: a stream without Spark, whose process ends by
SIGKILL at a call of the storage or half-way in it (``--most`` points of a scenario), services beside the stream
included; and a query of Spark, whose process and JVM end by SIGKILL at random calls of the driver (``--spark`` kills),
started again from its checkpoint each time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS
from tests.support.faults.write_faults import count_calls, kill_points, killed
from tests.support.options.sink_cases import LocalStream
from tests.support.options.write_cases import make, rows

KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
OPERATIONS = ("insert", "upsert")
BATCHES = 4
_SCRIPT = Path(__file__).parents[1] / "support" / "killed_sink.py"
_ROOT = Path(__file__).parents[2]


def _options(operation: str) -> dict[str, str]:
    return {
        "hoodie.datasource.write.operation": operation,
        "hoodie.compact.inline.max.delta.commits": "2",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.metadata.enable": "true",
        "hoodie.datasource.write.streaming.retry.count": "1",
    }


def batch_rows(operation: str, number: int) -> pa.Table:
    """Rows of a batch: new ones, and for an upsert those of the batch before in a newer state."""
    first, count = (number * 4, 4) if operation == "insert" else (max(number - 1, 0) * 4, 8)
    return rows(first, count, ts=[number] * count)


def expected(operation: str) -> Counter[tuple[int, int]]:
    """Keys and ordering values of all batches, each row once."""
    newest: dict[int, int] = {}
    for number in range(BATCHES):
        table = batch_rows(operation, number)
        newest |= dict(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))
    return Counter(newest.items())


def play(folder: Path, operation: str) -> None:
    """The batches that the engine's own log does not have, as a query that is started anew gives them."""
    log = folder / "committed"
    done = int(log.read_text()) if log.exists() else -1
    stream = LocalStream(folder / "t", _options(operation))
    for number in range(done + 1, BATCHES):
        stream.add(number, batch_rows(operation, number), began_ms=0)
        beside = folder / "committed.tmp"
        beside.write_text(str(number))
        beside.rename(log)
    stream.end()


def _rows_of(path: Path) -> Counter[tuple[int, int]]:
    table = HudiTable.open(path).scan().to_arrow()
    return Counter(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))


def _judge(path: Path, required: Counter[tuple[int, int]]) -> str | None:
    found = _rows_of(path)
    lost, twice = required - found, found - required
    if lost or twice:
        return f"{sum(lost.values())} lost, {sum(twice.values())} twice or others"
    # A service that died is taken up by a later run, when its heartbeat is old.
    pending = [str(one) for one in HudiTable.open(path).timeline.pending(COMPLETED_WRITE_ACTIONS)]
    return f"left pending: {pending}" if pending else None


def sweep(kind: str, operation: str, most: int, chance: random.Random) -> tuple[int, list[str]]:
    """Kill a stream without Spark at calls of the storage, half-way in some; number of kills, and what did not hold."""
    act = partial(play, operation=operation)
    with tempfile.TemporaryDirectory(prefix="stream_kills_") as name:
        base = Path(name) / "base"
        make(base / "t", table_type=kind)
        shutil.copytree(base, Path(name) / "counted")
        calls = count_calls(act, Path(name) / "counted")
        points = kill_points(calls)
        points = sorted(chance.sample(points, min(most, len(points))))
        kills, wrong = 0, []
        for at, torn in points:
            folder = Path(name) / "killed"
            shutil.copytree(base, folder)
            died = killed(act, folder, at, torn=torn)
            kills += died
            if died and at % 3 == 0:  # once more, in the next run
                kills += killed(act, folder, chance.randrange(len(calls)))
            try:
                play(folder, operation)
                why = _judge(folder / "t", expected(operation))
            except Exception as error:  # all points are looked at
                why = f"{type(error).__name__}: {error}"
            if why is not None:
                wrong.append(f"{kind} {operation} at {at} {calls[at]}{' half-way' if torn else ''}: {why}")
            shutil.rmtree(folder)
        return kills, wrong


def _start(folder: Path, kind: str, operation: str, at: int) -> int:
    environment = {
        **os.environ,
        "PYTHONPATH": str(_ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [sys.executable, str(_SCRIPT), str(folder), kind, operation, str(at)]
    done = subprocess.run(
        command, env=environment, start_new_session=True, capture_output=True, timeout=900, check=False
    )
    if done.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(done.stderr.decode(errors="replace")[-2000:])
    return done.returncode


def spark_kills(kind: str, operation: str, most: int, chance: random.Random) -> tuple[int, list[str]]:
    """Kill a query of Spark and its JVM again and again, until it was killed often enough, and let it end."""
    with tempfile.TemporaryDirectory(prefix="stream_kills_") as name:
        folder = Path(name)
        (folder / "source").mkdir()
        newest: dict[int, int] = {}
        kills = tries = put = 0
        while kills < most and tries < 3 * most:
            tries += 1
            for _ in range(2):
                table = batch_rows(operation, put).select(["id", "ts", "p"])
                newest |= dict(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))
                file = folder / "source" / f".{put}"
                file.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
                file.rename(folder / "source" / f"{put}.json")
                put += 1
            kills += _start(folder, kind, operation, chance.randrange(5, 250)) == -signal.SIGKILL
        _start(folder, kind, operation, -1)
        why = _judge(folder / "table", Counter(newest.items()))
        return kills, [] if why is None else [f"Spark {kind} {operation}: {why}"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--most", type=int, default=40, help="points of a scenario without Spark")
    parser.add_argument("--spark", type=int, default=20, help="kills of queries of Spark")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    begun, total, bad = time.monotonic(), 0, 0
    chance = random.Random(given.seed)
    runs = [(sweep, given.most)] * bool(given.most) + [(spark_kills, -(-given.spark // 4))] * bool(given.spark)
    for run, most in runs:
        for kind in KINDS:
            for operation in OPERATIONS:
                kills, wrong = run(kind, operation, most, chance)
                total, bad = total + kills, bad + len(wrong)
                print(f"{run.__name__:12} {kind:14} {operation:7} {kills} kills, {len(wrong)} wrong", flush=True)
                for line in wrong:
                    print(f"    {line[:800]}", flush=True)
    print(f"{total} kills, {bad} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
