"""Merge-on-read in Spark SQL at the price of its base files: snapshots against read-optimised scans of the same files.

``python benchmarks/spark_mor_scan.py [--rows 4000000] [--groups 16] [--updates 0.1,0.01] [--cores 2] [--rounds 5]
[--folder F] [--positions]``:
every slice of the table has a log file that updates a share of its rows. ``first`` are statements of a session that has
never read the slices (each reads a copy of the table, made of links), ``again`` those of one that has. Both contenders
run by turns in one process; ratios are medians over the rounds, of wall time and of processor time of the JVM and all
processes below it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from hudi_tables import write_table
from spark_contest import Contender, Sessions
from spark_merge import STATEMENTS

_LIMITS = {0.1: (1.3, 1.8), 0.01: (1.15, 1.3)}
_KIND = "hoodie.datasource.query.type"


def linked(base: Path, folder: Path) -> Path:
    """A copy of a table that no session has read."""
    copy = folder / base.name
    shutil.copytree(base, copy, copy_function=os.link)
    return copy


def contender(base: Path, *, optimised: bool) -> Contender:
    options = ((_KIND, "read_optimized"),) if optimised else ()
    return Contender("read optimised" if optimised else "snapshot", "ours", "hudi_hive", (str(base),), options)


def ratios(taken: list[tuple[tuple[float, float], tuple[float, float]]]) -> str:
    wall, work = (statistics.median(ours[kind] / max(plain[kind], 0.01) for ours, plain in taken) for kind in (0, 1))
    least = min(ours[1] for ours, _ in taken), min(plain[1] for _, plain in taken)
    return f"wall x{wall:.2f}, processor x{work:.2f} ({least[0]:.2f} s against {least[1]:.2f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--groups", type=int, default=16)
    parser.add_argument("--updates", default="0.1,0.01")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where the tables are, and stay")
    parser.add_argument("--positions", action="store_true", help="log blocks tell the rows that they replace")
    parser.add_argument("--only", default="", help="statements whose name holds this")
    options = parser.parse_args()
    for share in map(float, options.updates.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder, Sessions(options.cores) as sessions:
            base = Path(options.folder or folder) / f"bench{share}"
            if not base.exists():
                table = write_table(
                    base, rows=options.rows, groups=options.groups, updates=share, positions=options.positions
                )
                print(table, flush=True)
            print("goals: again x{}, first x{}".format(*_LIMITS.get(share, ("-", "-"))), flush=True)
            compare(sessions, base, Path(folder), options)


def compare(sessions: Sessions, base: Path, folder: Path, options: argparse.Namespace) -> None:
    copies = 0
    plain, warm = contender(base, optimised=True), contender(base, optimised=False)
    sessions.run(contender(linked(base, folder / "warm-up"), optimised=False), "SELECT count(*) FROM {t}")
    for name, statement in STATEMENTS.items():
        if options.only not in name:
            continue
        first, again = [], []
        for one in (plain, warm):
            sessions.run(one, statement)
        for _ in range(options.rounds):
            cold = contender(linked(base, folder / f"copy{copies}"), optimised=False)
            copies += 1
            again.append((sessions.run(warm, statement)[:2], sessions.run(plain, statement)[:2]))
            first.append((sessions.run(cold, statement)[:2], sessions.run(plain, statement)[:2]))
        print(f"{base.name}, {name}: again {ratios(again)}; first {ratios(first)}", flush=True)


if __name__ == "__main__":
    main()
