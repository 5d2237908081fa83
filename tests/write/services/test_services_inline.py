"""Table services behind commits, and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hudi_hive.cli import cli
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import CLEAN, COMPACTION
from hudi_hive.write.services.inline import run_inline_services
from tests.write.shared.services_compaction_helpers import all_rows
from tests.write.shared.services_rollback_helpers import context_of, copy_of, version

__all__ = ["version"]

OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


def test_services_run_when_they_are_due(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_rollback", tmp_path)
    before = all_rows(path)
    writes = len(MetaClient.load(path).timeline.write_instants())
    assert run_inline_services(context_of(path, **OFF)).done == {}
    late = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": str(writes + 1)}
    assert run_inline_services(context_of(path, **OFF, **late)).done == {}
    due = {
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": str(writes),
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": str(writes + 1),
        "hoodie.clustering.plan.strategy.sort.columns": "_hoodie_record_key",
    }
    report = run_inline_services(context_of(path, **OFF, **due))
    assert not report.failed
    assert {name: len(times) for name, times in report.done.items()} == {"compaction": 1, "clustering": 1}
    assert all_rows(path) == before


def test_cleans_run_by_themselves(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_nonpart", tmp_path)
    retained = {"hoodie.clean.commits.retained": "1"}
    report = run_inline_services(context_of(path, **retained))
    assert not report.failed and report.cleaned is not None and report.archived is not None
    assert run_inline_services(context_of(path, **retained)).cleaned is None


def test_inline_services_may_only_plan(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    options = {"hoodie.compact.schedule.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    report = run_inline_services(context_of(path, **OFF, **options))
    pending = MetaClient.load(path).timeline.pending({COMPACTION})
    assert report.done == {"compaction": [pending[0].requested]}


def test_a_failed_service_is_reported(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    options = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    report = run_inline_services(
        context_of(path, **OFF, **options, **{"hoodie.clustering.plan.strategy.sort.columns": "nowhere"})
    )
    assert list(report.failed) == ["clustering"]


def run(*words: str) -> dict[str, object] | list[dict[str, object]]:
    result = CliRunner().invoke(cli, [*words, "--format", "json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("number", [6, 8])
def test_the_command_line_runs_the_services(number: int, tmp_path: Path) -> None:
    path = copy_of(f"v{number}_mor_event_time", tmp_path)
    off = ("--conf", "hoodie.metadata.enable=false")
    before = all_rows(path)
    point = run("table", "savepoint", str(path), *off, "--comments", "start")
    assert isinstance(point, list) and point[0]["comments"] == "start"
    planned = run("table", "compact", str(path), *off, "--schedule")
    assert isinstance(planned, dict) and planned["instant"]
    done = run("table", "compact", str(path), *off, "--execute")
    assert isinstance(done, list) and [row["instant"] for row in done] == [planned["instant"]]
    clustered = run("table", "cluster", str(path), *off, "--sort-columns", "_hoodie_record_key")
    assert isinstance(clustered, list) and clustered[0]["operation"] == "CLUSTER"
    undone = run("table", "rollback", str(path), *off, "--instant", str(clustered[0]["instant"]), "--yes")
    assert isinstance(undone, list) and undone[0]["undone"] == clustered[0]["instant"]
    run("table", "clean", str(path), *off, "--conf", "hoodie.clean.commits.retained=1")
    assert MetaClient.load(path).timeline.completed({CLEAN})
    restored = run("table", "restore", str(path), *off, "--savepoint", str(point[0]["instant"]), "--yes")
    assert isinstance(restored, list) and [row["instant"] for row in restored] == [planned["instant"]]
    assert run("table", "savepoint", str(path), *off, "--delete", "--instant", str(point[0]["instant"])) == []
    assert run("table", "rollback", str(path), *off, "--failed") == []
    assert all_rows(path) == before
