"""Incremental pulls from a checkpoint on: ranges, checkpoints of others, and deaths at every call."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable, IncrementalPuller
from hudi_hive.cli import cli
from hudi_hive.errors import CheckpointError, IncrementalRangeError, InvalidOptionError
from hudi_hive.table_api import PullQuery
from tests.support.faults.write_faults import count_calls, kill_points, killed
from tests.support.running.long import long_case

ONE = PullQuery(max_commits=1)


def upsert(path: Path, first: int, count: int = 3) -> None:
    ids = [f"k{number}" for number in range(first, first + count)]
    HudiTable.open(path).upsert(pa.table({"id": ids, "ts": [first] * count, "v": list(range(count))}))


def make(path: Path, table_type: str) -> Path:
    """A table of four commits of three records each, all of other keys."""
    HudiTable.create(path, name="rides", table_type=table_type, record_keys=["id"], ordering_fields=["ts"])
    for first in (0, 10, 20, 30):
        upsert(path, first)
    return path


@pytest.fixture(scope="module")
def merge_on_read(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("made") / "table", "MERGE_ON_READ")


@pytest.fixture
def table(merge_on_read, tmp_path) -> Path:
    """A copy of the merge-on-read table, to be changed at will."""
    return shutil.copytree(merge_on_read, tmp_path / "table")


def keys(folder: Path) -> list[str]:
    """Keys of all rows in a folder of files, hidden ones left out."""
    files = [file for file in folder.iterdir() if not file.name.startswith(".")]
    return sorted(key for file in files for key in pq.read_table(file)["id"].to_pylist())


def all_keys(*firsts: int) -> list[str]:
    return sorted(f"k{first + number}" for first in firsts for number in range(3))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_ranges_follow_one_another(request, tmp_path, table_type):
    table = request.getfixturevalue("table") if table_type[0] == "M" else make(tmp_path / "table", table_type)
    puller = IncrementalPuller(table, tmp_path / "checkpoint", tmp_path / "out", PullQuery(max_commits=2))
    first, second = puller.pull_all()
    assert (first.rows, second.rows, first.end) == (6, 6, second.begin)
    assert puller.pull() is None
    assert keys(tmp_path / "out") == all_keys(0, 10, 20, 30)
    upsert(table, 40)
    report = puller.pull()
    assert (report.begin, report.rows) == (second.end, 3)
    assert pq.read_table(report.file)["id"].to_pylist() == ["k40", "k41", "k42"]


def test_checkpoint_is_that_of_plans_and_of_streams(table, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    scan = HudiTable.open(table).scan(begin="earliest")
    checkpoint.write_text(str(scan.plan().checkpoint))
    puller = IncrementalPuller(table, checkpoint, tmp_path / "out")
    assert puller.pull() is None
    upsert(table, 40)
    report = puller.pull()
    assert report.rows == 3
    offset = json.loads(checkpoint.read_text())
    assert (offset["hudiHiveOffset"], offset["time"], offset["table"]) == (1, report.end, "rides")
    checkpoint.write_text("v1\n" + json.dumps({"hudiHiveOffset": 1, "time": report.begin, "commit": True}))
    again = IncrementalPuller(table, checkpoint, tmp_path / "again").pull()
    assert (again.begin, again.end, again.rows) == (report.begin, report.end, 3)


def test_start_latest_is_kept_by_the_checkpoint(table, tmp_path):
    puller = IncrementalPuller(table, tmp_path / "checkpoint", tmp_path / "out", PullQuery(start="latest"))
    assert puller.pull() is None
    upsert(table, 40)
    puller.pull()
    assert keys(tmp_path / "out") == all_keys(40)


def test_filter_columns_and_ranges_without_rows(table, tmp_path):
    query = PullQuery(max_commits=1, row_filter="id = 'k21'", selected_fields=["v", "id"])
    reports = list(IncrementalPuller(table, tmp_path / "checkpoint", tmp_path / "out", query).pull_all())
    assert [report.rows for report in reports] == [0, 0, 1, 0]
    assert [report.file is None for report in reports] == [True, True, False, True]
    assert pq.read_table(reports[2].file).to_pylist() == [{"v": 1, "id": "k21"}]


def test_rows_handed_to_a_function_come_again_when_it_fails(table, tmp_path):
    puller = IncrementalPuller(table, tmp_path / "checkpoint", query=ONE)

    def refuse(scan):
        raise RuntimeError("not now")

    with pytest.raises(RuntimeError, match="not now"):
        puller.pull_into(refuse)
    assert puller.pull_into(lambda scan: scan.to_arrow().num_rows).rows == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "unknown format"),
        ('{"hudiHiveOffset": 1, "time": "1", "next": {"time": "2", "file": "../x.parquet"}}', "damaged"),
        ('{"hudiHiveOffset": 1, "time": "1", "next": 7}', "damaged"),
        ('{"hudiHiveOffset": 1, "time": "1", "commit": false, "table": "other"}', "of the table 'other'"),
        ("\udcff", "no text"),
        ("7" * 70_000, "too large"),
    ],
)
def test_damaged_checkpoints_are_refused(table, tmp_path, text, message):
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_text(text, errors="surrogateescape")
    with pytest.raises(CheckpointError, match=message):
        IncrementalPuller(table, checkpoint, tmp_path / "out").pull()
    assert not (tmp_path / "out").exists()


def test_commit_that_the_table_does_not_have_is_refused(table, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_text('{"hudiHiveOffset": 1, "time": "20200101000000000", "commit": true}')
    with pytest.raises(IncrementalRangeError, match="restored or made anew"):
        IncrementalPuller(table, checkpoint, tmp_path / "out").pull()


def test_one_puller_at_a_time_and_one_folder_each(table, tmp_path):
    puller = IncrementalPuller(table, tmp_path / "checkpoint", tmp_path / "out", ONE)

    def pull_beside(scan):
        puller.pull()

    with pytest.raises(CheckpointError, match="another puller"):
        IncrementalPuller(table, tmp_path / "checkpoint").pull_into(pull_beside)
    puller.pull()
    with pytest.raises(CheckpointError, match="an output folder for each checkpoint"):
        IncrementalPuller(table, tmp_path / "other", tmp_path / "out", ONE).pull()


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.datasource.query.type": "snapshot"},
        {"hoodie.datasource.read.begin.instanttime": "1"},
        {"as.of.instant": "20260101000000000"},
        {"hoodie.unknown": "1"},
    ],
)
def test_options_that_no_pull_takes_are_refused(tmp_path, options):
    with pytest.raises(InvalidOptionError):
        IncrementalPuller(tmp_path, tmp_path / "checkpoint", query=PullQuery(options=options))
    with pytest.raises(InvalidOptionError, match="local"):
        IncrementalPuller(tmp_path, "s3://bucket/checkpoint")


# -- deaths ------------------------------------------------------------------------------------------------------------


def pull_all(table: Path, folder: Path) -> None:
    for _ in IncrementalPuller(table, folder / "checkpoint", folder / "out", ONE).pull_all():
        pass


@pytest.mark.parametrize("step", [19, long_case(1)])
def test_no_row_is_lost_or_doubled_wherever_a_puller_dies(table, tmp_path, step):
    """A puller dies at a call; its successor, which sees one commit more, comes to the end."""
    grown = shutil.copytree(table, tmp_path / "grown")
    upsert(grown, 40)
    (tmp_path / "counted").mkdir()
    points = kill_points(count_calls(partial(pull_all, table), tmp_path / "counted"), reads=True)
    assert len(points) >= 50
    for at, torn in points[::step]:
        folder = tmp_path / f"{at}-{torn}"
        folder.mkdir()
        assert killed(partial(pull_all, table), folder, at, torn=torn)
        pull_all(grown, folder)
        assert keys(folder / "out") == all_keys(0, 10, 20, 30, 40), (at, torn)


# -- command line ------------------------------------------------------------------------------------------------------


def test_command(table, tmp_path):
    checkpoint = str(tmp_path / "checkpoint")
    run = CliRunner()
    arguments = ["pull", str(table), "--checkpoint", checkpoint, "--max-commits", "1", "--format", "csv"]
    printed = run.invoke(cli, [*arguments, "--columns", "id,v"])
    assert printed.output.splitlines() == ["id,v", "k0,0", "k1,1", "k2,2"]
    rest = run.invoke(cli, [*arguments, "-o", str(tmp_path / "out"), "--all"])
    assert rest.exit_code == 0, rest.output
    assert keys(tmp_path / "out") == all_keys(10, 20, 30)
    again = run.invoke(cli, [*arguments, "-o", str(tmp_path / "out")])
    assert "no new commit" in again.output
