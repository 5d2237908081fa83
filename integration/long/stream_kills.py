"""Streams into tables that are killed: each row of the source is in the table once, whatever the moment.

    python -m integration.long.stream_kills [--most 40] [--images 40] [--spark 20] [--seed 1]

Three ways, for copy on write and merge on read, inserts and upserts: a stream without Spark, whose process ends by
SIGKILL at a call of the storage or half-way in it (``--most`` points of a scenario), services beside the stream
included; a query of Spark, of whose folder an image is taken before each call that changes it, of the JVM and of all
Python processes, which is what a SIGKILL of all would leave: ``--images`` of each scenario are read, and the query is
started again on them in another process; and a query of Spark, whose process and JVM end by SIGKILL at random calls of
the driver (``--spark`` kills), started again from its checkpoint each time.
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
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.table import is_hudi_table
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS
from integration.support.crash_images import CrashImages
from integration.support.session_process import SessionProcess, session_environment
from tests.support.faults.write_faults import count_calls, kill_points, killed
from tests.support.options.sink_cases import LocalStream
from tests.support.options.write_cases import make, rows

KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
OPERATIONS = ("insert", "upsert")
BATCHES = 4
IMAGED_BATCHES = 3
_FIRST_FILE = 1_700_000_000
_SCRIPT = Path(__file__).parents[1] / "support" / "killed_sink.py"


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


def expected(operation: str, batches: int = BATCHES) -> Counter[tuple[int, int]]:
    """Keys and ordering values of the first batches, each row once."""
    newest: dict[int, int] = {}
    for number in range(batches):
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


class SinkSession(SessionProcess):
    """A process with a session of Spark that runs queries into tables, one after the other.

    Args:
        variables: more ones of its environment.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__([str(_SCRIPT)], {**session_environment(), **variables})

    def run(self, folder: Path, kind: str, operation: str, images: bool = False) -> str | None:
        """Run the query of a folder to its end; why it failed."""
        asked = {"folder": str(folder), "kind": kind, "operation": operation, "images": images}
        why: str | None = self.ask(asked)
        return why


def check_image(session: SinkSession, folder: Path, kind: str, operation: str) -> str | None:
    """What is wrong with an image: with its rows, or with those that the query leaves that is started on it."""
    table = folder / "table"
    if is_hudi_table(table) and HudiTable.open(table).timeline.write_instants():
        found = _rows_of(table)
        if found not in [expected(operation, batches) for batches in range(IMAGED_BATCHES + 1)]:
            return f"{sorted(found.elements())} are not the rows of the first batches"
    return session.run(folder, kind, operation) or _judge(table, expected(operation, IMAGED_BATCHES))


def image_sweep(most: int, chance: random.Random) -> Iterator[tuple[str, str, int, list[str]]]:
    """Take images of queries of Spark, and start the queries again on some: type, operation, number, what is wrong."""
    with tempfile.TemporaryDirectory(prefix="stream_kills_") as name:
        root = Path(name) / "streams"
        with CrashImages(Path(name) / "images", root) as images, SinkSession(images.environment()) as first:
            for kind, operation in product(KINDS, OPERATIONS):
                folder = root / f"{kind}_{operation}"
                (folder / "source").mkdir(parents=True)
                for number in range(IMAGED_BATCHES):
                    put_batch(folder / "source", operation, number)
                why = first.run(folder, kind, operation, images=True)
                assert why is None, why
        with SinkSession({}) as second:  # those whose images these are have ended
            for kind, operation in product(KINDS, OPERATIONS):
                folder = root / f"{kind}_{operation}"
                taken, wrong = images.cases[folder.name], []
                chosen = sorted(chance.sample(range(len(taken)), min(most, len(taken))))
                for at in chosen:
                    shutil.rmtree(folder)  # paths are in the checkpoint: the image takes the place of the folder
                    images.restore(taken[at], folder)
                    try:
                        why = check_image(second, folder, kind, operation)
                    except Exception as error:  # all images are looked at
                        why = f"{type(error).__name__}: {error}"
                    if why is not None:
                        wrong.append(f"{kind} {operation} {at} of {len(taken)} before {taken[at].call}: {why}")
                yield kind, operation, len(chosen), wrong


def put_batch(source: Path, operation: str, number: int) -> pa.Table:
    """A file of a batch in the folder that a query of Spark reads, seen whole or not at all; its rows."""
    table = batch_rows(operation, number).select(["id", "ts", "p"])
    file = source / f".{number}"
    file.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    os.utime(file, (_FIRST_FILE + number, _FIRST_FILE + number))  # Spark reads files in the order of their times
    file.rename(source / f"{number}.json")
    return table


def _start(folder: Path, kind: str, operation: str, at: int) -> int:
    command = [sys.executable, str(_SCRIPT), str(folder), kind, operation, str(at)]
    done = subprocess.run(
        command, env=session_environment(), start_new_session=True, capture_output=True, timeout=900, check=False
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
                table = put_batch(folder / "source", operation, put)
                newest |= dict(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))
                put += 1
            kills += _start(folder, kind, operation, chance.randrange(5, 250)) == -signal.SIGKILL
        _start(folder, kind, operation, -1)
        why = _judge(folder / "table", Counter(newest.items()))
        return kills, [] if why is None else [f"Spark {kind} {operation}: {why}"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--most", type=int, default=40, help="points of a scenario without Spark")
    parser.add_argument("--images", type=int, default=40, help="images of a scenario with Spark")
    parser.add_argument("--spark", type=int, default=20, help="kills of queries of Spark")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    begun, total, bad = time.monotonic(), 0, 0
    chance = random.Random(given.seed)
    scenarios = list(product(KINDS, OPERATIONS))
    own = ((*one, *sweep(*one, given.most, chance)) for one in scenarios if given.most)
    seen = image_sweep(given.images, chance) if given.images else iter(())
    spark = ((*one, *spark_kills(*one, -(-given.spark // 4), chance)) for one in scenarios if given.spark)
    for name, results in (("calls", own), ("images", seen), ("Spark", spark)):
        for kind, operation, kills, wrong in results:
            total, bad = total + kills, bad + len(wrong)
            print(f"{name:6} {kind:14} {operation:7} {kills} kills, {len(wrong)} wrong", flush=True)
            for line in wrong:
                print(f"    {line[:800]}", flush=True)
    print(f"{total} kills, {bad} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
