"""Clients and workers of transactions over Hudi tables that die by SIGKILL; run as a program, in another process."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from hudi_hive.mutation.hudi import HudiMutationTable, HudiMutatorClient, HudiMutatorCoordinator
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.files import run_write_task


class Dying(LocalExecutor):
    """Writes all files and dies then, with the instant inflight."""

    def map(self, function: Callable[..., Any], tasks: Sequence[Any]) -> list[Any]:
        done = super().map(function, tasks)
        if function is run_write_task:
            die()
        return done


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def client(path: str, options: dict[str, str], moment: str) -> None:
    """Dies ahead of the commit (``staged``), or when all files are written (``written``)."""
    with HudiMutatorClient(path, options, executor=Dying(1)) as mutator, mutator.new_transaction() as txn:
        worker_of(txn.table().encode(), "first", flush=False)
        coordinator = HudiMutatorCoordinator(txn.table())
        coordinator.update(["x"], {"id": "a", "ts": 9, "v": "lost"})
        txn.accept(coordinator.close())
        if moment == "staged":
            die()


def worker_of(text: str, attempt: str, *, flush: bool) -> str:
    """Takes a delete, an update and an insert; the manifest's text."""
    coordinator = HudiMutatorCoordinator(HudiMutationTable.decode(text), attempt=attempt)
    coordinator.delete(["y"], {"id": "c"})
    coordinator.update(["x"], {"id": "b", "ts": 2, "v": attempt})
    coordinator.insert(["z"], {"id": "n", "ts": 2, "v": attempt})
    if flush:
        coordinator.flush()
        die()
    return coordinator.close().encode()


if __name__ == "__main__":
    if sys.argv[1] == "client":
        client(sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])
    else:
        print(worker_of(sys.argv[2], sys.argv[3], flush=sys.argv[4] == "die"))
