"""The command line against real things: the demo, the embedded metastore's life, a sync and its dry run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fixture_tables import expected, unzip_fixture
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm

COMMAND = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()"]


def _start(*words: str, **options) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        **options,
    )


def _run(*words: str) -> tuple[int, str, str]:
    process = _start(*words)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def _java_processes(folder: Path) -> list[str]:
    """Command lines of Java processes that mention a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if "java" in line and str(folder) in line:
            found.append(line)
    return found


def _wait_for(process: subprocess.Popen, text: str) -> str:
    seen = ""
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} never came; got {seen!r}, {process.stderr.read()!r}")


def test_demo_syncs_and_queries_three_tables(tmp_path):
    folder = tmp_path / "demo"
    code, out, err = _run("demo", "--directory", folder)
    assert code == 0, err
    assert "incremental v9_cow_wide_250: 3 files in 3 partitions" in out
    assert "snapshot    v6_cow_ymd_hive: 7 files" in out
    assert "plain       plain folder: 1 files" in out
    assert "0 of its partition folders were listed" in out
    assert "demo.v9_cow_wide_250: 250 partitions added" in out
    assert "batches of [10, 20, 40, 80, 100]" in out
    assert re.search(r"3 rows from 3 files in 3 of 250 partitions", out)
    assert re.search(r"8 rows from 1 files in 1 of 3 partitions", out)
    assert "done in" in out
    assert _java_processes(folder) == []


@pytest.mark.long
@pytest.mark.parametrize("text", ["ready at", "Plain PySpark"])
def test_demo_is_stopped_cleanly(tmp_path, text):
    folder = tmp_path / "demo"
    process = _start("demo", "--directory", folder)
    _wait_for(process, text)
    assert _java_processes(folder)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "interrupted" in err and "Traceback" not in err
    wait_until(lambda: not _java_processes(folder), "Java has ended")


def test_metastore_life_and_sync(tmp_path):
    directory = tmp_path / "hms"
    server = _start("metastore", "start", "--directory", directory)
    try:
        uri = re.search(r"thrift://\S+", _wait_for(server, "ready at"))[0]
        name = "v8_cow_part_mdt"
        words = ["sync", "--base-path", unzip_fixture(name), "--database", "lake", "--metastore-uris", uri]
        code, out, err = _run(*words, "--dry-run", "--format", "json")
        assert code == 0, err
        steps = json.loads(out)["dry run: what a sync would do"]
        assert [step["step"] for step in steps].count("add partition") == len(expected(name)["partitions"])
        shown = json.loads(_run("metastore", "status", "--directory", directory, "--format", "json")[1])
        assert (shown["state"], shown["uri"], shown["tables"]) == ("running", uri, 0)
        code, out, err = _run(*words, "--format", "json")
        assert code == 0, err
        assert json.loads(out)["sync"][0]["added"] == len(expected(name)["partitions"])
        shown = json.loads(_run("metastore", "status", "--directory", directory, "--format", "json")[1])
        assert shown["tables"] == 1
        code, out, err = _run("metastore", "start", "--directory", directory)
        assert code == 1 and "another embedded metastore" in err and err.count("\n") == 1
        assert _run("metastore", "stop", "--directory", directory) == (0, "stopped\n", "")
        assert server.wait(timeout=300) == 0
        assert _java_processes(directory) == []
    finally:
        server.kill()
