r"""A disk that fails at its n-th call, by a preloaded library; run in a process of its own.

    LD_PRELOAD=disk_faults.so python -m tests.support.faults.disk_faults \
        FOLDER ACT KIND VERSION OPTIONS [--most N] [--seed S]

A table is made below the folder. Then one call of a copy of it fails after the other, and it is looked whether what was
acknowledged is there and what was refused is not. Says as JSON what came of it.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from tests.support.faults.step_faults import OPTIONS, Case
from tests.support.faults.write_acts import PROBE, rows
from tests.support.faults.write_faults import check_tidy, rows_of, with_row


def shim() -> ctypes.CDLL:
    """The library that is preloaded into this process."""
    library = ctypes.CDLL(None)
    library.arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    library.calls.restype = ctypes.c_long
    return library


def calls_of(case: Case, table: Path, copy: Path) -> int:
    """Calls that fail can, of a run without a fault."""
    shutil.copytree(table, copy)
    shim().arm(str(copy).encode(), -1, 0, 0)
    assert not case.run(copy).failed
    calls = int(shim().calls())
    shim().arm(b"", -1, 0, 0)
    return calls


def check(case: Case, table: Path, copy: Path, at: int, error: int, after: list[dict]) -> str:
    """One fault: ``acknowledged``, ``reported`` (behind the commit) or ``refused``."""
    shutil.copytree(table, copy)
    before = rows_of(copy)
    shim().arm(str(copy).encode(), at, error, 0)
    try:
        report = case.run(copy)
        outcome = "reported" if report.failed else "acknowledged"
    except (HudiHiveError, OSError, pa.ArrowException):
        outcome = "refused"
    finally:
        shim().arm(b"", -1, 0, 0)
    expected = before if outcome == "refused" else after
    found = rows_of(copy, metadata=False)
    assert found == expected, f"{outcome}, and {len(found)} rows are not the {len(expected)} expected"
    assert rows_of(copy) == found, "the metadata table gives other rows"
    for beat in (copy / ".hoodie/.heartbeat").glob("*"):
        os.utime(beat, (0, 0))
    probe = pa.Table.from_pylist([PROBE], rows(1, "a").schema)
    assert not HudiTable.open(copy).upsert(probe, OPTIONS[case.options]).failed, "the next write"
    assert rows_of(copy) == with_row(expected, PROBE), "after the next write"
    check_tidy(copy)
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("act")
    parser.add_argument("kind")
    parser.add_argument("version", type=int)
    parser.add_argument("options")
    parser.add_argument("--most", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    case = Case(given.act, given.kind, given.version, given.options)
    states = case.states(given.folder)
    count = calls_of(case, states.table, given.folder / "counted")
    draw = random.Random(given.seed)
    points = sorted(draw.sample(range(count), min(given.most or count, count)))
    seen: Counter[str] = Counter()
    wrong = {}
    for at in points:
        error = draw.choice([errno.EIO, errno.ENOSPC])
        copy = given.folder / "copy"
        try:
            seen[check(case, states.table, copy, at, error, states.after)] += 1
        except Exception as failure:  # all points are looked at
            wrong[f"{at} {errno.errorcode[error]}"] = f"{type(failure).__name__}: {failure}"[:800]
        shutil.rmtree(copy, ignore_errors=True)
    print(json.dumps({"calls": count, "points": len(points), "seen": seen, "wrong": wrong}))


if __name__ == "__main__":
    main()
