"""Writers on S3 behind a proxy that breaks requests, and writers that are killed there: rows and what is left over.

    python -m integration.long.store_faults soak [--commits 60] [--lock storage] [--rate 0.05] [--type COPY_ON_WRITE]
    python -m integration.long.store_faults kills [--only upsert] [--most 12] [--rate 0.05]
    python -m integration.long.store_faults table

``soak`` has two writers, table services and a reader in processes of their own on one table, held to a model; ``kills``
ends processes at calls of the storage that change something, and looks at readers and the next write. The faults of
each are counted: injected, recovered (the caller did not see them), reported (an error by name, behind which it was
done again) and wrong. ``table`` runs both as they go into ``make test-long``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from integration.support.stores.proxy import Decide, Fault, StoreProxy, random_faults
from integration.support.stores.s3 import S3Server
from tests.support.faults.remote_path import remote
from tests.support.faults.soak_setup import Log, Soak
from tests.support.faults.write_scenarios import SCENARIOS
from tests.support.faults.write_soak import report, run
from tests.support.faults.write_sweep import sweep_in

_PROVIDERS = "org.apache.hudi.client.transaction.lock"
LOCKS = {
    "store": f"{_PROVIDERS}.InProcessLockProvider",
    "storage": f"{_PROVIDERS}.StorageBasedLockProvider",
    "file": f"{_PROVIDERS}.FileSystemBasedLockProvider",
}
"""Lock providers: with the first one tables on stores have the file ``.hoodie/.aux/write.lock``."""

MIXED = (
    *(Fault.THROTTLED, Fault.SERVER_ERROR, Fault.RESET, Fault.CUT, Fault.ANSWER_LOST) * 2,
    Fault.ANSWER_LATE,
)
"""What becomes of broken requests; a late answer is rarer, for it takes until the client gives up."""

IMPATIENT = {"request_timeout": "5"}
"""Storage options of writers that meet late answers."""

MAIN = (
    "upsert_metadata-cow-9",
    "upsert_metadata-mor-6",
    "upsert_several-mor-9",
    "compaction-mor-9",
    "clustering-cow-8",
    "clean-cow-9",
    "rollback-mor-9",
    "restore-cow-9",
    "archival-cow-9",
    "insert_overwrite-cow-6",
    "upsert_plain-mor-8",
)
"""Scenarios of ``tests.support.faults.write_scenarios`` that are killed on S3."""


def mixed_faults(rate: float, seed: int) -> Decide | None:
    """Break a part of all requests in all ways."""
    return random_faults(rate, MIXED, seed) if rate else None


def injected(proxy: StoreProxy) -> Counter[str]:
    """Faults of a proxy so far, by kind."""
    return Counter(request.fault.name.lower() for request in proxy.requests if request.fault is not None)


def print_faults(what: str, proxy: StoreProxy, reported: int, wrong: int) -> None:
    """Print a line of the fault table."""
    faults = injected(proxy)
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(faults.items()))
    total = faults.total()
    print(
        f"{what}: {len(proxy.requests)} requests, {total} injected ({kinds}), {total - reported} recovered, "
        f"{reported} reported, {wrong} wrong",
        flush=True,
    )


@contextmanager
def breaking_store(rate: float, what: str, wrong: Callable[[], int]) -> Iterator[tuple[S3Server, StoreProxy]]:
    """An S3 server, and a proxy in front of it that breaks a part of the requests; prints its faults at the end."""
    with S3Server() as server, StoreProxy(server.port) as proxy:
        proxy.decide = mixed_faults(rate, seed=17)
        yield server, proxy
        print_faults(what, proxy, 0, wrong())


def soak(server: S3Server, soak_of: Soak, rate: float) -> tuple[list[Log], list[str], StoreProxy]:
    """Run a soak on S3 behind a breaking proxy; gives its logs, what is wrong, and the proxy with all requests."""
    with StoreProxy(server.port) as proxy, tempfile.TemporaryDirectory(prefix="soak-") as logs:
        options = {**server.options(proxy.port), **IMPATIENT}
        there = replace(soak_of, path=server.folder(), storage_options=options, logs=logs)
        proxy.decide = mixed_faults(rate, soak_of.seed)
        found, wrong = run(there)
        proxy.decide = None
    return found, wrong, proxy


def _soak(chosen: argparse.Namespace) -> int:
    plan = Soak(
        "", chosen.version, chosen.type, chosen.commits, chosen.writers, chosen.readers, chosen.seed, LOCKS[chosen.lock]
    )
    begin = time.perf_counter()
    with S3Server() as server:
        logs, wrong, proxy = soak(server, plan, chosen.rate)
    code = report(plan, logs, wrong, time.perf_counter() - begin)
    names = ("StoreThrottledError", "StoreUnreachableError", "outcome unknown")
    reported = sum(log.refused[name] for log in logs for name in names)
    print_faults(f"soak, lock {chosen.lock}", proxy, reported, len(wrong))
    return code


def _kills(chosen: argparse.Namespace) -> int:
    scenarios = [s for s in SCENARIOS if (chosen.only in s.name if chosen.only else s.name in MAIN)]
    begin, points, bad = time.perf_counter(), 0, 0
    with ExitStack() as stack:
        server = stack.enter_context(S3Server())
        proxy = stack.enter_context(StoreProxy(server.port))
        os.environ |= server.environment(proxy.port)  # processes that are killed have it, too
        proxy.decide = mixed_faults(chosen.rate, chosen.seed)
        for scenario in scenarios:
            result = sweep_in(remote(server.folder()), scenario, most=chosen.most)
            points, bad = points + result.points, bad + len(result.failures)
            counts = ", ".join(f"{count} {name}" for name, count in sorted(result.left.items()))
            passed = result.points - len(result.failures)
            print(f"{result.name:28} {result.calls:4} calls {passed:4}/{result.points:<4} {counts}", flush=True)
            for point, failure in result.failures.items():
                print(f"    at {point}: {failure[:600]}", flush=True)
    print(
        f"{len(scenarios)} scenarios on S3, {points - bad}/{points} kills passed, {time.perf_counter() - begin:.0f} s"
    )
    if chosen.rate:
        print_faults("kills", proxy, 0, bad)
    return 1 if bad else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the part that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("soak", "kills", "table"))
    parser.add_argument("--rate", type=float, help="part of the requests that is broken: 0.05, of kills 0")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--version", type=int, default=9, choices=(8, 9))
    parser.add_argument("--type", default="MERGE_ON_READ", choices=("MERGE_ON_READ", "COPY_ON_WRITE"))
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--lock", default="store", choices=LOCKS)
    parser.add_argument("--only", default="", help="part of the names of scenarios that are killed")
    parser.add_argument("--most", type=int, help="kills of a scenario")
    chosen = parser.parse_args(arguments)
    if chosen.part == "table":
        runs = ["soak", "soak --lock storage --type COPY_ON_WRITE", "kills", "kills --only upsert_metadata --rate 0.05"]
        return max(main(one.split()) for one in runs)
    if chosen.rate is None:
        chosen.rate = 0.05 if chosen.part == "soak" else 0.0
    return _soak(chosen) if chosen.part == "soak" else _kills(chosen)


if __name__ == "__main__":
    sys.exit(main())
