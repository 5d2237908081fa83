"""``hudi-hive table service``: services beside the writers, once and until a signal."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import threading

import pytest

from hudi_hive.table import MetaClient
from tests.cli.shared.cli_helpers import run
from tests.support.running.waiting import wait_until
from tests.write.shared.services_rollback_helpers import copy_of

__all__ = ["run"]

NOW = ("--conf", "hoodie.compact.inline.max.delta.commits=1", "--conf", "hoodie.metadata.enable=false")


def test_a_round_shows_each_action(run, tmp_path):
    path = copy_of("v8_mor_event_time", tmp_path)
    words = ("table", "service", path, "--compact", "--clean", "--format", "json")
    retained = ("--conf", "hoodie.clean.commits.retained=1")
    code, out, _ = run(*words, *NOW, *retained)
    rows = json.loads(out)
    assert code == 0 and [(row["service"], row["event"]) for row in rows] == [("compact", "done"), ("clean", "done")]
    assert rows[0]["instant"] in {i.requested for i in MetaClient.load(path).timeline.write_instants()}
    code, out, err = run(*words, "--conf", "hoodie.metadata.enable=false")
    assert (code, json.loads(out)) == (0, []) and "nothing is due" in err


def test_a_failure_is_the_exit_code(run, tmp_path):
    path = copy_of("v8_mor_event_time", tmp_path)
    nowhere = ("--conf", "hoodie.clustering.plan.strategy.sort.columns=nowhere")
    soon = ("--conf", "hoodie.clustering.inline.max.commits=1")
    code, out, err = run("table", "service", path, "--compact", "--cluster", *NOW, *nowhere, *soon, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 1 and "nowhere" in err
    assert [(row["service"], row["event"]) for row in rows] == [("compact", "done"), ("cluster", "failed")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_ends_with_a_signal(run, tmp_path, number):
    path = copy_of("v8_mor_event_time", tmp_path)
    compacted = len(MetaClient.load(path).timeline.completed({"commit"})) + 1

    def end():
        try:
            wait_until(lambda: len(MetaClient.load(path).timeline.completed({"commit"})) == compacted, "a compaction")
        finally:
            os.kill(os.getpid(), number)

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=end)
    thread.start()
    words = ("table", "service", path, "--compact", "--watch", "--interval", "3600", "--format", "json")
    code, out, err = run(*words, *NOW)
    thread.join()
    assert code == 0 and "stopped" in err and signal.getsignal(signal.SIGINT) == before
    (row,) = [json.loads(line) for line in out.splitlines()]
    assert (row["service"], row["event"]) == ("compact", "done") and row["time"]
    assert not MetaClient.load(path).timeline.pending()


def test_what_does_not_go_together_is_refused(run, tmp_path):
    path = copy_of("v8_cow_nonpart", tmp_path)
    assert "--compact, --log-compact, --cluster" in run("table", "service", path)[2]
    assert run("table", "service", path, "--clean", "--interval", "3")[0] == 2
    code, _, err = run("table", "service", path, "--clean", "--watch", "--interval", "0")
    assert code == 1 and "seconds" in err
    code, _, err = run("table", "service", path, "--compact", "--watch")
    assert code == 1 and "merge-on-read" in err
    code, _, err = run("table", "service", path, "--clean", "--watch", "--conf", "hoodie.clean.policyy=x")
    assert code == 1 and "policyy" in err
