"""Bank transfers in a Hive ACID table for as long as wanted: reads, and how many of them missed or doubled money.

    python -m integration.long.bank_runs [--metastore 3.1.3] [--commits 200] [--rounds 4] [--writers 3] [--readers 2]

Each round is a table of its own: nothing compacts it, and reads take longer with every commit. Writers and their
workers are killed with SIGKILL at any moment; every second writer takes a lock that keeps nobody out. The metastore is
``fake`` (in this process), 3.1.3 or 4.0.1 (Java, downloaded once). With ``--hive 4.0.1`` that release's own readers
add up, too. Metastore 4.0.1 on its small database stands still for seconds when several writers wait for locks, so that
it gets two writers, of which one waits for nobody. The exit code is 1 if a read was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hudi_hive.testing import FakeMetastore
from integration.long.mutation_bank import SERVER_PROPERTIES, Settings, create_bank, run
from integration.support.metastores import HIVE_EXEC, RELEASES, ReleasedMetastore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metastore", default="fake", choices=["fake", *RELEASES])
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--writers", type=int, help="3, or 2 with metastore 4.0.1")
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--kill-every", type=int, default=10, help="commits from one killed writer to the next")
    parser.add_argument("--hive", default="", choices=["", *RELEASES], help="release whose own readers add up, too")
    given = parser.parse_args()
    reads = wrong = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        server: FakeMetastore | ReleasedMetastore
        if given.metastore == "fake":
            server, warehouse = stack.enter_context(FakeMetastore()), folder
        else:
            jars = [HIVE_EXEC[given.metastore]]
            server = ReleasedMetastore(given.metastore, folder / "server", properties=SERVER_PROPERTIES, jars=jars)
            warehouse = stack.enter_context(server).warehouse
        for number in range(given.rounds):
            logs = folder / f"logs{number}"
            logs.mkdir()
            settings = Settings(server.uri, f"bank{number}", str(logs), hive=given.hive)
            create_bank(settings, warehouse)
            outcome = run(
                settings,
                commits=given.commits // given.rounds,
                writers=given.writers or (2 if given.metastore == "4.0.1" else 3),
                readers=given.readers,
                kill_every=given.kill_every,
                seconds=1800,
                housekeeping=given.metastore == "fake",
            )
            print(f"round {number + 1}: {outcome}", flush=True)
            for what in outcome.wrong[:5]:
                print(f"  {what}")
            reads += outcome.reads
            wrong += len(outcome.wrong)
    print(f"{given.metastore}: {reads} reads, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
