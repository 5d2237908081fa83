"""Damage each file of a table that is no data file, byte by byte, and ask for rows: the right ones or an error of ours.

A :class:`Sweep` holds one table, the questions that are asked of it and their right answers. A case is one file, one
damage and one question; it ends as ``right``, ``refused`` (an error of ours that names the file or its
instant), ``unnamed`` (one that does not) or ``wrong``. Questions that never open a file are asked only when its size
changes.

``python -m tests.support.faults.table_damage --table NAME --every N`` tries every Nth byte of every file (1: all).
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metrics import IoCounters
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture

DATA_SUFFIXES = (".parquet", ".orc")
ZEROED = 64

Answer = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Damage:
    """One change of one file: what is done, where, and the bytes that are there afterwards."""

    kind: str
    at: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a table by name; ``ask`` gives something that can be compared."""

    name: str
    ask: Callable[[Path, IoCounters], Answer]


def _scan(**arguments: Any) -> Callable[[Path, IoCounters], Answer]:
    def ask(path: Path, counters: IoCounters) -> Answer:
        table = HudiTable.open(path, counters=counters).scan(**arguments).to_arrow()
        return tuple(table.schema.names), rows_sha256(encode_rows(table)), table.num_rows

    return ask


def _metadata_listing(path: Path, counters: IoCounters) -> Answer:
    metadata = MetadataTable.open(MetaClient.load(path, counters=counters))
    files = metadata.files_table(None).sort_by([("partition", "ascending"), ("name", "ascending")])
    return tuple(metadata.partitions()), files.to_pydict()


def _instants(path: Path) -> list[str]:
    return sorted(i.requested for i in HudiTable.open(path).timeline.write_instants())


def _oldest_shown(path: Path, writes: list[str]) -> str:
    """The oldest write but the first that the table can still be shown as of."""
    for time in writes[1:]:
        with suppress(HudiHiveError):
            HudiTable.open(path).scan(as_of=time).plan()
            return time
    return writes[-1]


def questions(path: Path) -> tuple[Question, ...]:
    """Snapshot by metadata table and by listing, time travel, incremental, read-optimised, the metadata listing."""
    writes = _instants(path)
    config = HudiTable.open(path).config
    found = [
        Question("snapshot", _scan()),
        Question("snapshot by listing", _scan(options={"hoodie.metadata.enable": "false"})),
        Question("time travel", _scan(as_of=_oldest_shown(path, writes))),
        Question("incremental", _scan(query_type="incremental", begin="earliest")),
    ]
    if config.is_merge_on_read:
        found.append(Question("read optimised", _scan(query_type="read_optimized")))
    if config.metadata_partitions:
        found.append(Question("metadata listing", _metadata_listing))
    return tuple(found)


def is_data(path: Path, base: Path) -> bool:
    """Whether a file is a base or log file of the table itself."""
    relative = path.relative_to(base).parts
    if relative[0] == ".hoodie":
        return False
    return path.suffix in DATA_SUFFIXES or ".log." in path.name


class Sweep:
    """One table that may be damaged.

    Args:
        path: base path of a copy of its own.
        olds: older bytes of files by their path below the base path.
    """

    def __init__(self, path: Path, olds: dict[str, list[bytes]] | None = None) -> None:
        self.path = path
        self._olds = olds or {}
        self.questions = questions(path)
        self._right: dict[str, Answer] = {}
        self._opened: dict[str, frozenset[str]] = {}
        for question in self.questions:
            counters = IoCounters()
            self._right[question.name] = question.ask(path, counters)
            self._opened[question.name] = frozenset(unquote(uri).rpartition(f"{path}/")[2] for uri in counters.opened)

    @cached_property
    def files(self) -> list[Path]:
        """All files that are no data files, empty ones left out."""
        found = (file for file in sorted(self.path.rglob("*")) if file.is_file() and file.suffix != ".crc")
        return [file for file in found if not is_data(file, self.path) and file.stat().st_size]

    def damages(self, file: Path, places: Sequence[int]) -> Iterator[Damage]:
        """Damages of a file: at each place a cut, a flipped bit and a zeroed block; then of the file as a whole."""
        data = file.read_bytes()
        for at in places:
            yield Damage("cut", at, data[:at])
            yield Damage("bit", at, data[:at] + bytes([data[at] ^ 1 << (at * 7 + at // 8) % 8]) + data[at + 1 :])
            block = data[at : at + ZEROED]
            if any(block):
                yield Damage("zeroes", at, data[:at] + bytes(len(block)) + data[at + ZEROED :])

    def whole_damages(self, file: Path) -> Iterator[Damage]:
        """A file emptied, put in the place of another of its kind, and put back to what it was before."""
        yield Damage("empty", 0, b"")
        data = file.read_bytes()
        for number, other in enumerate(self.files):
            if other != file and _kind(other) == _kind(file) and other.read_bytes() != data:
                yield Damage(f"swapped with {other.relative_to(self.path)}", number, other.read_bytes())
        for number, old in enumerate(self._olds.get(str(file.relative_to(self.path)), [])):
            if old != data:
                yield Damage("older", number, old)

    def run(self, file: Path, damage: Damage) -> list[tuple[str, str, str]]:
        """Outcomes of a damage: question, ``right``, ``refused`` or ``wrong``, and what came."""
        whole, times = file.read_bytes(), file.stat()
        relative = str(file.relative_to(self.path))
        resized = len(damage.data) != len(whole)
        try:
            file.write_bytes(damage.data)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            asked = [one for one in self.questions if resized or relative in self._opened[one.name]]
            outcomes = [(question.name, *self._outcome(question, file)) for question in asked]
        finally:
            file.write_bytes(whole)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        return outcomes

    def _outcome(self, question: Question, file: Path) -> tuple[str, str]:
        try:
            answer = question.ask(self.path, IoCounters())
        except HudiHiveError as error:
            text = str(error)
            # The file, the instant that it is of, a key of the properties, or another file that it does not go with.
            names = [file.name, file.name.split("_")[0].split(".")[0] or file.name, "hoodie.", "_version_"]
            return ("refused" if any(name in text for name in names) else "unnamed"), text
        except Exception as error:
            return "wrong", f"{type(error).__name__}: {error}"
        return ("right", "") if answer == self._right[question.name] else ("wrong", "other rows")


def _kind(file: Path) -> str:
    """Files that could be taken for each other."""
    if file.suffix == ".hfile" or ".log." in file.name:
        return "log" if ".log." in file.name else "hfile"
    if "history" in file.parts or "archived" in file.parts:
        return "archive"
    if file.suffix == ".properties":
        return "properties"
    return "metafile" if file.name.startswith(".hoodie_partition") else "instant"


def written_table(folder: Path, version: int) -> Sweep:
    """The sweep of a merge-on-read table of ours, with the older bytes of its properties."""
    path = folder / f"ours_{version}"
    table = HudiTable.create(
        path,
        name="ours",
        table_type="MERGE_ON_READ",
        version=version,
        record_keys=["id"],
        partition_fields=["p"],
        ordering_fields=["v"],
    )
    properties = [(path / ".hoodie/hoodie.properties").read_bytes()]
    for value in range(4):
        rows = {"id": [f"k{number}" for number in range(value, value + 4)], "v": [value] * 4, "p": ["a", "b"] * 2}
        table.upsert(pa.table(rows))
        properties.append((path / ".hoodie/hoodie.properties").read_bytes())
    return Sweep(path, {".hoodie/hoodie.properties": properties})


def make_sweep(name: str, folder: Path) -> Sweep:
    """The sweep of a fixture, or of ``ours_6``, ``ours_8``, ``ours_9``, in a copy below a folder."""
    if name.startswith("ours_"):
        return written_table(folder, int(name.removeprefix("ours_")))
    return Sweep(unzip_fixture(name, folder))


TABLES = (
    "v6_cow_archived",
    "v6_mor_part_rli",
    "v6_mor_event_time",
    "v8_cow_part_mdt",
    "v9_cow_archived",
    "v9_cow_schema_evo",
    "v9_mor_part_rli",
    "ours_6",
    "ours_8",
    "ours_9",
)


def cases(sweep: Sweep, rng: random.Random, count: int) -> Iterator[tuple[Path, Damage]]:
    """Files and damages, drawn one by one: each file as likely as any other, and each kind of damage."""
    for _ in range(count):
        file = rng.choice(sweep.files)
        whole = list(sweep.whole_damages(file))
        found = [*whole, *sweep.damages(file, [rng.randrange(file.stat().st_size)])]
        yield file, rng.choice(found)


def every(sweep: Sweep, step: int, files: str, offset: int) -> Iterator[tuple[Path, Damage]]:
    """All damages of the files whose path has some text, at every so many bytes."""
    for file in sweep.files:
        if files in str(file.relative_to(sweep.path)):
            yield from ((file, damage) for damage in sweep.whole_damages(file))
            places = range(offset % step, file.stat().st_size, step)
            yield from ((file, damage) for damage in sweep.damages(file, places))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="append", default=[], help=f"a fixture, or of {', '.join(TABLES)}")
    parser.add_argument("--every", type=int, default=1, help="every Nth byte of each file")
    parser.add_argument("--cases", type=int, default=0, help="draw so many cases of each table instead")
    parser.add_argument("--files", default="", help="only files whose path has this text")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    wrong = 0
    for name in options.table or TABLES:
        with tempfile.TemporaryDirectory(prefix="hudi_hive_damage_") as folder:
            sweep = make_sweep(name, Path(folder))
            counts: Counter[str] = Counter()
            rng = random.Random(f"{name} {options.seed}")
            found = every(sweep, options.every, options.files, rng.randrange(options.every))
            for file, damage in cases(sweep, rng, options.cases) if options.cases else found:
                for question, outcome, text in sweep.run(file, damage):
                    counts[outcome] += 1
                    if outcome in ("wrong", "unnamed"):
                        wrong += outcome == "wrong"
                        place = f"{file.relative_to(sweep.path)}: {damage.kind} at {damage.at}"
                        print(f"{name} {outcome}: {place}: {question}: {text[:300]}", flush=True)
            print(f"{name:28} {counts.total():>8,} cases: {dict(counts)}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
