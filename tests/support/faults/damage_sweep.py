"""Data files of whole tables damaged in every way, and whether a scan then gives the right rows or an error.

``python -m tests.support.faults.damage_sweep --seed N --each-byte`` damages at each byte;
``--table NAME`` chooses tables.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.formats.log import BlockType, iter_blocks
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture

Answer = tuple[str, Any]
Scan = Mapping[str, Any]
BLOCK = 512
"""Bytes that are zeroed together."""


@dataclass
class Sweep:
    """One table whose files are damaged, one at a time.

    Attributes:
        path: the table, which may be changed.
        logs: damage its log files; else its base files.
        scans: arguments of ``HudiTable.scan``; each is asked of each damaged state.
        options: further storage-independent options of each scan.
    """

    path: Path
    logs: bool
    scans: Sequence[Scan] = ({},)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def files(self) -> list[Path]:
        """Files that a scan of the newest state reads."""
        found: set[Path] = set()
        for scan in self.scans:
            slices = HudiTable.open(self.path).scan(**scan).plan().slices.to_pylist()
            for row in slices:
                names = row["log_files"] if self.logs else [row["base_file"]]
                found |= {self.path / row["partition"] / name for name in names if name}
        return sorted(found)

    def ask(self, scan: Scan) -> Answer:
        try:
            table = HudiTable.open(self.path).scan(**scan).to_arrow()
        except HudiHiveError as error:
            return "error", error
        return "rows", rows_sha256(encode_rows(table))

    def run(self, file: Path, damages: Iterator[tuple[str, bytes]]) -> None:
        """Ask after each damage of one file."""
        whole = file.read_bytes()
        right = [self.ask(scan) for scan in self.scans]
        assert all(kind == "rows" for kind, _ in right), right
        try:
            for name, data in damages:
                if data == whole:
                    continue
                file.write_bytes(data)
                for scan, answer in zip(self.scans, right, strict=True):
                    self._judge(f"{name} of {file.relative_to(self.path)}, scan {dict(scan)}", file, scan, answer, name)
        finally:
            file.write_bytes(whole)

    def _judge(self, what: str, file: Path, scan: Scan, right: Answer, name: str) -> None:
        kind = name.split()[0]
        self.counts[f"{kind} tried"] += 1
        try:
            found = self.ask(scan)
        except Exception as error:
            self.wrong.append(f"{what}: {type(error).__name__}: {error}")
            self.counts[f"{kind} wrong"] += 1
            return
        if found == right:
            self.counts[f"{kind} right"] += 1
        elif found[0] == "error" and file.name in str(found[1]):
            self.counts[f"{kind} refused"] += 1
        else:
            self.wrong.append(f"{what}: {found[1]}")
            self.counts[f"{kind} wrong"] += 1


def cuts(data: bytes, at: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    """The file ends at each of some bytes."""
    for place in at:
        yield f"cut at {place}", data[:place]


def bits(data: bytes, at: Sequence[int], rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """One bit of each of some bytes is another."""
    for place in at:
        bit = rng.randrange(8)
        yield f"bit {bit} at {place}", data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def zeroes(data: bytes, at: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    """Some bytes from each place on are zero."""
    for place in at:
        size = min(BLOCK, len(data) - place)
        yield f"zeroed at {place}", data[:place] + bytes(size) + data[place + size :]


def integers(data: bytes, at: Sequence[int], rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """A big-endian integer of four bytes at each of some places is another."""
    values = (-1, 0, 1, 2, 3, 7, 255, 2**31 - 1, -(2**31))
    for place in at:
        value = rng.choice([*values, int.from_bytes(data[place : place + 4], "big", signed=True) + rng.choice((-1, 1))])
        value = max(-(2**31), min(2**31 - 1, value))
        yield f"integer {value} at {place}", data[:place] + value.to_bytes(4, "big", signed=True) + data[place + 4 :]


def frame(data: bytes) -> list[int]:
    """Places of a log file that are not in a block's content: lengths, types and headers."""
    inside: set[int] = set()
    for block in iter_blocks(data, "whole"):
        if block.type is not BlockType.CORRUPT:
            inside |= set(range(block.content_offset, block.content_offset + len(block.content)))
    return [place for place in range(len(data)) if place not in inside]


def others(files: Sequence[Path], file: Path) -> Iterator[tuple[str, bytes]]:
    """Another file of the table stands in its place, older files of its own group among them."""
    for other in files:
        if other != file:
            yield f"swapped with {other.name}", other.read_bytes()


def sample(rng: random.Random, places: Sequence[int], most: int | None) -> list[int]:
    """Some places, or all of them."""
    return list(places) if most is None or len(places) <= most else sorted(rng.sample(list(places), most))


def data_files(path: Path, logs: bool) -> list[Path]:
    """All data files of a table, of older versions too."""
    files = [f for f in path.rglob("*") if f.is_file() and ".hoodie" not in f.relative_to(path).parts]
    files = [f for f in files if f.suffix != ".crc" and not f.name.startswith(".hoodie")]
    return sorted(f for f in files if f.name.startswith(".") == logs)


def sweep_table(
    path: Path, rng: random.Random, *, logs: bool, most: int | None, scans: Sequence[Scan], checksummed: bool
) -> Sweep:
    """Damage files of a table in all ways; ``most`` places of each way and file (None: all).

    Args:
        checksummed: contents have checksums, so that any changed bit must show.
    """
    sweep = Sweep(path, logs, scans)
    files = sweep.files()
    everything = data_files(path, logs)
    for file in files if most is None else rng.sample(files, min(3, len(files))):
        data = file.read_bytes()
        every = range(len(data))
        sweep.run(file, cuts(data, sorted({0, len(data) - 1, *sample(rng, every, most)})))
        places = every if checksummed else frame(data) if logs else []
        sweep.run(file, bits(data, sample(rng, places, most), rng))
        sweep.run(file, integers(data, [p for p in sample(rng, places, most) if p + 4 <= len(data)], rng))
        if checksummed or logs:
            sweep.run(file, zeroes(data, sample(rng, range(0, len(data), BLOCK if not checksummed else 64), most)))
        sweep.run(file, others(everything, file))
    return sweep


FIXTURES = tuple(
    f"v{version}_{kind}"
    for version in (6, 8, 9)
    for kind in ("cow_part_mdt", "cow_orc", "mor_event_time", "mor_rollback", "mor_log_compaction", "mor_crash_mdt")
)
SCANS: tuple[Scan, ...] = ({}, {"options": {"hoodie.metadata.enable": "false"}})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sweeps and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=50, help="places of each way to damage and file")
    parser.add_argument("--each-byte", action="store_true")
    parser.add_argument("--table", action="append", help="names of fixtures")
    given = parser.parse_args(arguments)
    total: Counter[str] = Counter()
    wrong = 0
    for name in given.table or FIXTURES:
        for logs in (False, True):
            if logs and "_cow_" in name:
                continue
            rng = random.Random(f"{name} {logs} {given.seed}")
            with TemporaryDirectory() as folder:
                path = unzip_fixture(name, folder)
                most = None if given.each_byte else given.most
                sweep = sweep_table(path, rng, logs=logs, most=most, scans=SCANS, checksummed=False)
            total += sweep.counts
            wrong += len(sweep.wrong)
            print(name, "logs" if logs else "bases", dict(sweep.counts), flush=True)
            for line in sweep.wrong[:20]:
                print("   ", line[:300], flush=True)
    print(dict(total), "wrong:", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
