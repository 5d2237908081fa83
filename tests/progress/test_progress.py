"""Progress of long work: what is display, the bars on a terminal, and silence elsewhere."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import subprocess
import sys

import pyarrow as pa
import pytest
from rich.console import Console

from hudi_hive import HudiTable
from hudi_hive.progress import ProgressBars, show_progress
from hudi_hive.progress.notebook import NotebookBars
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.table_api import IncrementalPuller
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import unzip_fixture

COMMAND = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()"]
PARTITIONS = 5


class RecordingDisplay:
    """A display that remembers the steps that began on it."""

    def __init__(self) -> None:
        self.steps: list[dict[str, object]] = []

    def begin(self, description, total, unit):
        step = {"description": description, "total": total, "unit": unit, "done": 0, "over": False}
        self.steps.append(step)

        class Step:
            def advance(self, count=1):
                step["done"] += count

            def end(self):
                step["over"] = True

        return Step()


@pytest.fixture
def display():
    recording = RecordingDisplay()
    with show_progress(recording):
        yield recording
    assert all(step["over"] and step["total"] in (None, step["done"]) for step in recording.steps)


@pytest.fixture
def table(tmp_path):
    made = HudiTable.create(
        tmp_path / "t", name="t", record_keys=["id"], partition_fields=["p"], table_type="MERGE_ON_READ"
    )
    made.upsert(rows_of(PARTITIONS))
    return made


def rows_of(count: int) -> pa.Table:
    ids = [str(number) for number in range(count)]
    return pa.table({"id": ids, "p": ids, "v": list(range(count))})


def step_of(display: RecordingDisplay, description: str) -> dict[str, object]:
    return next(step for step in display.steps if step["description"] == description)


def test_reads_tell_files_and_slices(display, table):
    table.scan().to_arrow()
    assert step_of(display, "reading base files")["total"] == PARTITIONS
    table.upsert(rows_of(3))
    table.scan().to_arrow()
    assert step_of(display, "merging log files")["total"] == 3


def test_a_read_that_is_given_up_ends_its_step(display, table):
    for _ in table.scan().to_batches():
        break
    display.steps.clear()  # it was not read to its end


def test_writes_and_services_tell_file_groups(display, table):
    table.upsert(rows_of(4))
    assert 4 in {step["total"] for step in display.steps if step["unit"] == "file groups"}
    display.steps.clear()
    table.compact()
    assert 4 in {step["total"] for step in display.steps if step["unit"] == "file groups"}


def test_syncs_tell_partitions(display, table):
    with FakeMetastore() as metastore:
        config = HiveSyncConfig(base_path=table.path, database="d", table="t", metastore_uris=metastore.uri)
        HiveSyncTool(config).sync()
    assert {step["total"] for step in display.steps if step["unit"] == "entries"} == {PARTITIONS}


def test_pulls_tell_ranges(display, table, tmp_path):
    list(IncrementalPuller(table.path, tmp_path / "checkpoint", tmp_path / "out").pull_all())
    step = next(step for step in display.steps if step["unit"] == "ranges")
    assert (step["total"], step["done"]) == (None, 1)


def test_bars_are_drawn_and_taken_away(table):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with show_progress(ProgressBars(console, delay_s=0)):
        assert table.scan().to_arrow().num_rows == PARTITIONS
    assert "reading base files [files]" in screen.getvalue() and f"/{PARTITIONS}" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[?25h\r")  # the cursor is shown again at the begin of an empty line


def test_short_work_draws_nothing(table):
    screen = io.StringIO()
    with show_progress(ProgressBars(Console(file=screen, force_terminal=True), delay_s=600)):
        table.scan().to_arrow()
    assert screen.getvalue() == ""


def test_nothing_is_shown_without_a_display(table, capfd):
    table.scan().to_arrow()
    assert capfd.readouterr() == ("", "")


def test_a_command_shows_bars_in_a_terminal_alone():
    path = unzip_fixture("v8_cow_part_mdt")
    draw = "from hudi_hive.progress import bars; bars.ProgressBars.__init__.__defaults__ = (None, 0)"
    command = [sys.executable, "-c", f"{draw}; from hudi_hive.cli.main import main; main()"]
    for flags, is_shown in (((), True), (("--quiet",), False)):
        reading, terminal = pty.openpty()
        try:
            call = [*command, *flags, "read", str(path), "--format", "csv"]
            done = subprocess.run(call, stdout=subprocess.PIPE, stderr=terminal, timeout=300, check=True)
            os.write(terminal, b"end of the bars\n")
            text = b""
            while b"end of the bars" not in text:
                text += os.read(reading, 65536)
        finally:
            os.close(terminal)
            os.close(reading)
        assert done.stdout.count(b"\n") > 1
        assert (b"reading base files" in text) is is_shown
    piped = subprocess.run([*command, "read", str(path)], capture_output=True, timeout=300, check=True)
    assert piped.stderr == b""


def test_writes_are_logged_when_asked(tmp_path, caplog):
    with caplog.at_level(logging.INFO, "hudi_hive"):
        HudiTable.create(tmp_path / "t", name="t", record_keys=["id"]).upsert(pa.table({"id": ["a", "b"]}))
    (line,) = [record.getMessage() for record in caplog.records if "upsert" in record.getMessage()]
    assert "2 inserted; 1 files, " in line and line.endswith(" bytes")


def test_normal_use_warns_of_nothing(tmp_path, caplog, recwarn):
    path = tmp_path / "t"
    table = HudiTable.create(
        path, name="t", record_keys=["id"], partition_fields=["p"], table_type="MERGE_ON_READ", ordering_fields=["v"]
    )
    with caplog.at_level(logging.WARNING), FakeMetastore() as metastore:
        for count in (PARTITIONS, 3):
            table.upsert(rows_of(count))
        table.delete(rows_of(1))
        assert table.scan().to_arrow().num_rows == table.scan(row_filter="v >= 1").to_arrow().num_rows == 4
        table.scan(query_type="incremental", begin="earliest").to_arrow()
        table.compact({"hoodie.compact.inline.max.delta.commits": "1"})
        table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "v"})
        table.clean({"hoodie.clean.commits.retained": "1"})
        table.savepoint()
        config = HiveSyncConfig(base_path=table.path, database="d", table="t", metastore_uris=metastore.uri)
        for _ in range(2):
            HiveSyncTool(config).sync()
        list(IncrementalPuller(table.path, tmp_path / "checkpoint", tmp_path / "out").pull_all())
        assert table.metadata.validate().is_valid
    assert [record.getMessage() for record in caplog.records] == []
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(("flags", "level"), [(("-q",), None), ((), "warning"), (("-v",), "warning")])
def test_log_lines_of_commands(tmp_path, flags, level):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path / "t")
    for hfile in (path / ".hoodie" / "metadata" / "files").glob("*.hfile"):
        hfile.write_bytes(b"damaged")
    call = [*COMMAND, *flags, "--log-format", "json", "files", str(path)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    levels = [json.loads(line)["level"] for line in done.stderr.splitlines()]
    assert levels[:1] == ([] if level is None else [level])


def test_a_notebook_that_takes_no_message_ends_bars_and_no_work(table):
    class Shell:
        """A kernel whose channel is closed."""

        sent = 0
        display_pub = property(lambda self: self)

        def publish(self, **_message):
            self.sent += 1
            raise OSError("closed")

    shell = Shell()
    with show_progress(NotebookBars(shell, delay_s=0)):
        assert table.scan().to_arrow().num_rows == PARTITIONS
    assert shell.sent == 1
