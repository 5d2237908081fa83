"""Two writers, services and a reader on one table for a while; ``tests.support.faults.write_soak`` does it for long."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.faults.soak_model import (
    Commit,
    Expiry,
    Read,
    Rewrite,
    Undone,
    expected,
    replay,
    wrong_expiry,
)
from tests.support.faults.soak_setup import Soak
from tests.support.faults.write_soak import run
from tests.support.running.long import long_case


@pytest.mark.parametrize(("version", "kind"), [long_case(6, "COPY_ON_WRITE"), (8, "MERGE_ON_READ")])
def test_every_read_is_what_some_commits_add_up_to(version: int, kind: str, tmp_path: Path) -> None:
    logs, wrong = run(Soak(str(tmp_path / "t"), version, kind, commits=8), timeout=300)
    assert wrong == []
    assert sum(len(log.commits) for log in logs) == 8
    assert {read.listing for log in logs for read in log.reads} == {"metadata", "folders"}


@pytest.mark.parametrize(("version", "kind"), [long_case(6, "MERGE_ON_READ"), (9, "MERGE_ON_READ")])
def test_all_services_run_beside_the_writers(version: int, kind: str, tmp_path: Path) -> None:
    """With savepoint, restore and dead writes between the writers' phases."""
    logs, wrong = run(Soak(str(tmp_path / "t"), version, kind, commits=6, apart=True, phases=3), timeout=300)
    assert wrong == []
    counts = sum((log.counts for log in logs), Counter[str]())
    assert (counts["savepoint"], counts["restore"]) == (1, 1)
    assert counts["killed ahead of its commit"] + counts["killed behind its commit"] == 4
    assert counts["validated"] >= 6 and any(log.expiries for log in logs)


def test_the_model_knows_which_partitions_expire() -> None:
    commits = [
        Commit("10", "11", "insert", {"a-1": ("c0", 1)}, begun="10"),
        Commit("20", "21", "insert", {"a-2": ("c1", 1)}, begun="20"),
        Commit("30", "31", "upsert", {"a-1": ("c0", 2)}, begun="30"),
    ]
    looked = Expiry("50", "60", "25", False, frozenset({"c1"}), frozenset())
    assert wrong_expiry(looked, commits, (), ()) == {}
    assert wrong_expiry(replace(looked, partitions=frozenset({"c0", "c1"})), commits, (), ()).keys() == {"c0"}
    assert wrong_expiry(replace(looked, partitions=frozenset()), commits, (), ()).keys() == {"c1"}
    assert wrong_expiry(replace(looked, partitions=frozenset(), busy=looked.partitions), commits, (), ()) == {}
    undone = [Undone("40", frozenset({"30"}))]
    assert wrong_expiry(looked, commits, (), undone) == {}, "a commit that was undone may have left no files"
    rewritten = [Rewrite("26", frozenset({"c1"}))]
    assert wrong_expiry(replace(looked, partitions=frozenset()), commits, rewritten, undone) == {}
    created = replace(looked, by_creation=True, cutoff="15", partitions=frozenset({"c0"}))
    assert wrong_expiry(created, commits, (), ()) == {}
    assert wrong_expiry(replace(created, partitions=frozenset({"c1"})), commits, (), ()).keys() == {"c1"}


def test_the_model_replays_commits() -> None:
    commits = [
        Commit("1", "3", "upsert", {"a-0": ("c0", 1), "a-1": ("c1", 1)}),
        Commit("2", "4", "insert_overwrite", {"a-4": ("c0", 2)}),
        Commit("0", "5", "delete", {"a-1": ("c1", 3)}),
        Commit("6", "7", "delete_partition", {}, ("c0",)),
    ]
    assert replay(commits[:2]) == {"a-4": ("c0", 2, "2"), "a-1": ("c1", 1, "1")}
    assert replay(commits[:3]) == {"a-4": ("c0", 2, "2")}
    assert replay(commits) == {}
    read = Read("incremental", "folders", frozenset({"1", "2"}), "", "3", {}, 0)
    assert expected(read, commits[:2], 8) == {"a-4": ("c0", 2, "2")}
