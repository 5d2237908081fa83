"""Real Hudi after our writers were killed: it reads what they left, then either side repairs that and goes on.

    python -m integration.long.write_kills [--version 8] [--only upsert] [--most 4]

At every point real Hudi reads the table as the kill left it, with the metadata table and without. At every other one
our next write repairs, Hudi reads, upserts, and we read that; at the others Hudi's own upsert has to repair.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from integration.support.hudi_peer import HudiPeer
from tests.support.faults.write_acts import PROBE
from tests.support.faults.write_faults import Rows, Scenario, States, client_of, kill_points, killed, rows_of, with_row
from tests.support.faults.write_scenarios import SCENARIOS

VERSIONS = (8, 6, 9)
_COLUMNS = ("id", "part", "ts", "value")
_DDL = "id string, part string, ts long, value string"
_OTHER: dict[str, Any] = {"id": "theirs", "part": "y", "ts": 10, "value": "of Hudi"}
_OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.index.bloom.num_entries": "100",
}


def hudi_rows(peer: HudiPeer, path: Path, *, metadata: bool) -> Rows:
    """Rows as real Hudi reads them."""
    found = peer.read(path, _COLUMNS, hudi_options(path, metadata=metadata))
    return sorted(({name: row.get(name) for name in _COLUMNS} for row in found), key=lambda row: str(row["id"]))


def hudi_options(path: Path, *, metadata: bool) -> dict[str, str]:
    """What Hudi is to be told in each read and write: tables whose columns have ids do not say that they do."""
    ids = (path / ".hoodie/.schema").is_dir()
    return {
        "hoodie.metadata.enable": str(metadata).lower(),
        **({"hoodie.schema.on.read.enable": "true"} if ids else {}),
    }


def check_reads(peer: HudiPeer, path: Path, expected: Rows, when: str) -> None:
    """Real Hudi reads rows as expected."""
    for metadata in (True, False):
        found = hudi_rows(peer, path, metadata=metadata)
        assert found == expected, f"{when}: Hudi reads {found}, metadata {metadata}"


def check_point(
    peer: HudiPeer, scenario: Scenario, states: States, path: Path, at: int, torn: bool, *, ours_repairs: bool
) -> None:
    """Kill at one point of a copy, and let real Hudi look at it all along."""
    shutil.copytree(states.table, path)
    assert killed(scenario.act, path, at, torn=torn), "the process came to its end"
    rows = rows_of(path, metadata=False)
    states.name_of(rows)
    check_reads(peer, path, rows, "after the kill")
    if scenario.again_first:
        scenario.act(path)
        rows = states.after
    if ours_repairs:
        scenario.probe(path)
        rows = with_row(rows, PROBE)
        assert rows_of(path) == rows, "after our next write"
        check_reads(peer, path, rows, "after our next write")
    metadata = bool(client_of(path, metadata=False).config.metadata_partitions)
    peer.write(path, [_OTHER], _DDL, {**_OPTIONS, **hudi_options(path, metadata=metadata)})
    rows = with_row(rows, _OTHER)
    assert rows_of(path) == rows_of(path, metadata=False) == rows, "after Hudi's write"
    check_reads(peer, path, rows, "after Hudi's write")


def run(peer: HudiPeer, scenario: Scenario, most: int | None) -> tuple[int, dict[str, str]]:
    """Kill a scenario at some points.

    Returns:
        Number of points, and what did not hold by point.
    """
    failures: dict[str, str] = {}
    # The vectorised reader of 0.15 fails in columns that older files lack; its row reader wants code generation.
    by_rows = scenario.version == 6 and "_ids" in scenario.name
    peer.sql(f"SET spark.sql.parquet.enableVectorizedReader={str(not by_rows).lower()}")
    peer.sql(f"SET spark.sql.codegen.wholeStage={str(by_rows).lower()}")
    with tempfile.TemporaryDirectory(prefix="kills_") as name:
        states = scenario.states(Path(name))
        points = kill_points(states.calls)
        if most is not None and most < len(points):  # not the ends, where little has happened
            points = [points[len(points) * (2 * number + 1) // (2 * most)] for number in range(most)]
        for number, (at, torn) in enumerate(points):
            copy = Path(name) / "copy"
            try:
                check_point(peer, scenario, states, copy, at, torn, ours_repairs=number % 2 == 0)
            except Exception as error:  # all points are looked at
                who = "ours" if number % 2 == 0 else "Hudi"
                point = f"{at} {states.calls[at]}{' half-way' if torn else ''}, {who} repairs"
                failures[point] = f"{type(error).__name__}: {error}"
            shutil.rmtree(copy, ignore_errors=True)
    return len(points), failures


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--version", type=int, choices=VERSIONS)
    parser.add_argument("--only", default="", help="part of the scenarios' names")
    parser.add_argument("--most", type=int, help="points of a scenario")
    given = parser.parse_args(arguments)
    os.fsync = lambda descriptor: None  # a killed process loses nothing that it wrote
    begun, total, bad = time.monotonic(), 0, 0
    for version in VERSIONS if given.version is None else (given.version,):
        with HudiPeer(version) as peer:
            for scenario in (s for s in SCENARIOS if s.version == version and given.only in s.name):
                points, failures = run(peer, scenario, given.most)
                total, bad = total + points, bad + len(failures)
                print(f"{scenario.name:36} {points - len(failures):4}/{points}", flush=True)
                for point, failure in failures.items():
                    print(f"    at {point}: {failure[:800]}", flush=True)
    print(f"{total - bad}/{total} kills passed with real Hudi, {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
