"""Table services that die at each call that changes the storage: readers see the same rows, the next run ends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.write.executor import LocalExecutor
from hudi_hive.write.services.clean import clean
from hudi_hive.write.services.clustering import cluster
from hudi_hive.write.services.compaction import compact
from hudi_hive.write.services.context import ServiceContext
from hudi_hive.write.services.rollback import rollback_failed_writes
from tests.test_services_compaction import all_rows
from tests.test_services_rollback import copy_of

OPTIONS = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "_hoodie_record_key",
}
CHANGES = ("create_if_absent", "write_bytes", "open_output", "delete", "delete_tree")


class Death(BaseException):
    """The end of a process: nothing of ours catches it."""


class Mortal:
    """Lets a number of changing calls pass, then every further one dies."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        self.seen = 0
        for name in CHANGES:
            if hasattr(Storage, name):
                patch.setattr(Storage, name, self._wrapped(getattr(Storage, name)))

    def _wrapped(self, call: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object, **kwargs: object) -> object:
            self.seen += 1
            if self.left is not None:
                if self.left == 0:
                    raise Death
                self.left -= 1
            return call(*args, **kwargs)

        return run


def context_of(path: Path) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), OPTIONS, LocalExecutor(1))


SERVICES: dict[str, tuple[str, Callable[[ServiceContext], object]]] = {
    "clean": ("mor_event_time", clean),
    "compaction": ("mor_event_time", compact),
    "clustering": ("mor_rollback", cluster),
    "rollback": ("cow_crash_leftover", rollback_failed_writes),
}


@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize("service", SERVICES)
def test_deaths(service: str, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, run = SERVICES[service]
    whole = copy_of(f"v{version}_{case}", tmp_path / "whole")
    before = all_rows(whole)
    mortal = Mortal(monkeypatch)
    run(context_of(whole))
    calls = mortal.seen
    assert calls > 3
    for number in range(calls):
        path = copy_of(f"v{version}_{case}", tmp_path / str(number))
        mortal.left = number
        with pytest.raises(Death):
            run(context_of(path))
        mortal.left = None
        assert all_rows(path) == before, number
        rollback_failed_writes(context_of(path))
        run(context_of(path))
        assert all_rows(path) == before, number
        assert not MetaClient.load(path).timeline.pending(), number
