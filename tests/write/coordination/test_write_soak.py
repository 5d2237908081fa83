"""Two writers, services and a reader on one table for a while; ``tests.support.faults.write_soak`` does it for long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.faults.soak_model import Commit, Read, expected, replay
from tests.support.faults.write_soak import Soak, run
from tests.support.running.long import long_case


@pytest.mark.parametrize(("version", "kind"), [long_case(6, "COPY_ON_WRITE"), (8, "MERGE_ON_READ")])
def test_every_read_is_what_some_commits_add_up_to(version: int, kind: str, tmp_path: Path) -> None:
    logs, wrong = run(Soak(str(tmp_path / "t"), version, kind, commits=8), timeout=300)
    assert wrong == []
    assert sum(len(log.commits) for log in logs) == 8
    assert {read.listing for log in logs for read in log.reads} == {"metadata", "folders"}


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
