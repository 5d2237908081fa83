"""The command line: exit codes, the three formats, one line per error, and what each command shows."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shlex
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.cli.output import Output
from hudi_hive.formats.base import open_base_file
from tests.cli.shared.cli_helpers import TABLE, WIDE, run
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

__all__ = ["run"]


@pytest.fixture
def rows(run):
    """Run a command with ``--format json`` that must succeed."""

    def call(*words: str):
        code, out, err = run(*words, "--format", "json")
        assert code == 0 and "error" not in err, err
        return json.loads(out)

    return call


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in (
        "demo",
        "show",
        "timeline",
        "schema",
        "files",
        "stats",
        "metadata",
        "read",
        "plan",
        "input-format",
        "sync",
        "metastore",
    ):
        assert f"\n  {command} " in out
        code, text, _ = run(command, "--help")
        assert code == 0 and "Usage:" in text
    assert run("--version")[1].startswith("hudi-hive, version ")


@pytest.mark.parametrize(
    "words", [("read",), ("nosuch",), ("read", "x", "--query-type", "odd"), ("show", "x", "--format", "xml"), ("sync",)]
)
def test_wrong_usage_is_exit_2(run, words):
    code, out, err = run(*words)
    assert code == 2 and out == "" and err.startswith("error: ") and err.endswith(" --help\n") and err.count("\n") == 1


def test_show_prints_a_table_s_properties(rows):
    shown = rows("show", unzip_fixture(TABLE))
    assert shown["table version"] == 8
    assert shown["partition fields"] == "city"
    assert shown["partitions"] == len(expected(TABLE)["partitions"])
    assert shown["last commit"] == expected(TABLE)["commits"][-2]["requested"]


def test_show_says_where_partitions_were_learnt_from(rows, tmp_path):
    assert rows("show", unzip_fixture(TABLE))["partitions learnt from"] == "metadata table"
    path = unzip_fixture(TABLE, tmp_path)
    shutil.rmtree(path / ".hoodie" / "metadata")
    shown = rows("show", path)
    assert "listing" in shown["partitions learnt from"]
    assert shown["partitions"] == len(expected(TABLE)["partitions"])


def test_timeline_in_all_formats(run, rows):
    commits = expected(TABLE)["commits"]
    path = unzip_fixture(TABLE)
    from_json = rows("timeline", path)
    assert [(row["requested"], row["completed"], row["action"]) for row in from_json] == [
        (c["requested"], c["completed"], c["action"]) for c in commits
    ]
    assert from_json[0]["operation"] == "INSERT"
    from_csv = list(csv.DictReader(io.StringIO(run("timeline", path, "--format", "csv")[1])))
    assert [row["requested"] for row in from_csv] == [row["requested"] for row in from_json]
    table = run("timeline", path)[1]
    assert all(c["requested"] in table for c in commits)


def test_timeline_has_archived_instants_if_asked(rows):
    path = unzip_fixture("v9_cow_archived")
    assert len(rows("timeline", path, "--archived")) > len(rows("timeline", path))


def test_schema_prints_columns_and_partition_columns(rows):
    columns = rows("schema", unzip_fixture(TABLE))
    assert [row["column"] for row in columns][:1] == ["_hoodie_commit_time"]
    assert [row["column"] for row in columns if row["partition"]] == ["city"]


def test_files_prints_file_slices(rows):
    found = rows("files", unzip_fixture(TABLE))
    wanted = {(s["partition"], s["file_id"], s["base_instant"]) for s in expected(TABLE)["file_slices"]}
    assert {(row["partition"], row["file_id"], row["base_instant"]) for row in found} == wanted


@pytest.mark.parametrize("name", ["v9_cow_archived", "v8_mor_event_time", "v6_cow_orc", "v8_mor_empty"])
def test_stats_agree_with_the_files(rows, name):
    path = unzip_fixture(name)
    shown = rows("stats", path)
    table, slices = shown["table"], rows("files", path)
    client = HudiTable.open(path).client
    assert table["file groups"] == len(slices) == sum(row["slices"] for row in shown["partitions"])
    opened = [row for row in slices if row["base_size"] is not None]
    view = client.file_system_view().latest_merged_file_slices().to_pylist()
    names = [(row["partition"], row["base_file"]) for row in view if row["base_file"]]
    footers = sum(open_base_file(client.storage, "/".join(filter(None, part))).num_rows for part in names)
    assert table["rows in latest base files"] == footers == sum(row["base_rows"] for row in shown["partitions"])
    assert table["latest base files, bytes"] == sum(row["base_size"] for row in opened)
    assert table["slices with log files"] == sum(bool(row["log_files"]) for row in view)
    writes = client.timeline.write_instants()
    assert [row["instant"] for row in shown.get("commits", [])] == [instant.requested for instant in writes][-20:]


def test_stats_of_one_partition_and_its_commits(rows):
    shown = rows("stats", unzip_fixture(TABLE), "--partition", "lima", "--commits", "2")
    assert [row["partition"] for row in shown["partitions"]] == ["lima"]
    assert len(shown["commits"]) == 2 and shown["commits"][-1]["inserts"] == 1
    commits = {row["operation"]: row for row in rows("stats", unzip_fixture(TABLE))["commits"]}
    dropped = commits["DELETE_PARTITION"]
    assert dropped["files"] == dropped["rows_written"] == 0 and dropped["amplification"] is None


@pytest.mark.parametrize(
    "name", [name for name in fixture_names("mor") if "parquet_log" in name or "event_time" in name]
)
def test_stats_count_what_services_move_as_no_change(rows, name):
    commits = {row["operation"]: row for row in rows("stats", unzip_fixture(name))["commits"]}
    service = commits.get("CLUSTER") or commits["COMPACT"]
    assert service["rows_written"] > 0 and service["amplification"] is None
    assert commits["INSERT"]["amplification"] == 1.0


def test_read_filters_projects_and_limits(rows):
    found = rows("read", unzip_fixture(TABLE), "--where", "city = 'lima'", "--columns", "visit_id,city")
    assert len(found) == 8 and set(found[0]) == {"visit_id", "city"}
    assert len(rows("read", unzip_fixture(TABLE), "--limit", "2")) == 2


def test_read_to_a_file(run, tmp_path):
    target = tmp_path / "out.parquet"
    code, out, _ = run("read", unzip_fixture(TABLE), "-o", target, "--format", "json")
    assert code == 0 and json.loads(out)["rows"] == expected(TABLE)["queries"][0]["row_count"]
    assert pq.read_table(target).num_rows == expected(TABLE)["queries"][0]["row_count"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_failed_read_leaves_no_file(run, tmp_path):
    table = unzip_fixture(TABLE, tmp_path / "lake")
    victim = next(table.glob("oslo/*.parquet"))
    victim.write_bytes(b"not parquet at all")
    target = tmp_path / "out.parquet"
    code, _, err = run("read", table, "-o", target)
    assert code == 1 and err.startswith("error: ") and victim.name in err
    assert not target.exists() and not list(tmp_path.glob("*.tmp"))


def test_plan_of_an_incremental_pull(rows):
    commits = expected(WIDE)["commits"]
    begin = commits[0]["completed"]
    shown = rows("plan", unzip_fixture(WIDE), "--query-type", "incremental", "--begin", begin)
    assert {row["partition"] for row in shown["slices"]} == {"p007", "p123", "p249"}
    assert shown["steps"] and shown["storage calls"]["lists"] <= 2


def test_input_format_splits_hudi_and_plain_folders(rows, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "data.txt").write_text("x")
    words = ["input-format", unzip_fixture(WIDE), unzip_fixture(TABLE), plain]
    begin = expected(WIDE)["commits"][0]["completed"]
    for key, value in (("mode", "INCREMENTAL"), ("start.timestamp", begin), ("max.commits", "-1")):
        words += ["--conf", f"hoodie.{WIDE}.consume.{key}={value}"]
    shown = rows(*words)
    assert [(row["group"], row["files"]) for row in shown["path groups"]] == [
        ("incremental", 3),
        ("snapshot", 3),
        ("plain", 1),
    ]
    assert len(shown["file statuses"]) == 7
    assert len([row for row in shown["rewritten input paths"] if row["group"] == "incremental"]) == 3


def test_input_format_realtime(rows):
    path, want = unzip_fixture("v9_mor_part_rli"), expected("v9_mor_part_rli")["file_slices"]
    shown = rows("input-format", path, "--realtime")
    assert len(shown["realtime splits"]) == len(want) == len(shown["file statuses"])
    logs = {name for row in shown["realtime splits"] for name in row["log_files"]}
    sizes = {file.name: file.stat().st_size for file in path.glob("*/.*.log.*")}
    assert logs and sum(row["log_bytes"] for row in shown["realtime splits"]) == sum(sizes[name] for name in logs)
    assert "realtime splits" not in rows("input-format", path)


def test_values_that_json_or_a_terminal_cannot_take(capsys):
    output = Output("json")
    far = pa.array([2**60, None], pa.timestamp("us", "UTC"))
    table = pa.table({"[/b]": [math.nan, -math.inf], "far": far, "text": ["a\x1b[31mb", None]})
    output.stream("rows", table.to_reader())
    output.close()
    first, second = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    assert first["[/b]"] == "NaN" and second["[/b]"] == "-Infinity" and second["far"] is None
    assert first["far"] == f"timestamp[us, tz=UTC] {2**60}"  # the year 38504, which Python does not know
    Output("table").stream("[/rows]", table.to_reader())
    shown = capsys.readouterr().out
    assert "[/rows]" in shown and "[/b]" in shown and "a\\x1b[31mb" in shown and "\x1b" not in shown


@pytest.mark.parametrize("output_format", ["json", "csv"])
def test_rows_are_printed_as_they_come(capsys, output_format):
    printed = []

    def batches():
        for number in range(3):
            printed.append(capsys.readouterr().out)
            yield pa.record_batch({"n": [number]})

    schema = pa.schema([("n", pa.int64())])
    output = Output(output_format)
    output.stream("rows", pa.RecordBatchReader.from_batches(schema, batches()))
    output.close()
    assert printed[0] == "" and "0" in "".join(printed)
    text = "".join(printed) + capsys.readouterr().out
    found = json.loads(text) if output_format == "json" else list(csv.DictReader(io.StringIO(text)))
    assert [int(row["n"]) for row in found] == [0, 1, 2]
    empty = Output("json")
    empty.stream("rows", schema.empty_table().to_reader())
    empty.close()
    assert json.loads(capsys.readouterr().out) == []


def _process(command: str) -> subprocess.CompletedProcess[str]:
    """A shell line in which ``hudi-hive`` is the command, run with an output that holds ASCII only."""
    program = f"{shlex.quote(sys.executable)} -c 'from hudi_hive.cli.main import main; main()'"
    line = command.replace("hudi-hive", program)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.parametrize("output_format", ["table", "json", "csv"])
def test_a_reader_who_leaves_is_no_error(output_format):
    table = shlex.quote(str(unzip_fixture(WIDE)))
    done = _process(f"hudi-hive read {table} --format {output_format} | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("\n") == 1


def test_outputs_that_cannot_take_it():
    table = shlex.quote(str(unzip_fixture("v8_cow_types")))
    shown = _process(f"hudi-hive read {table} --format csv")
    assert shown.returncode == 0 and "\\xfcn\\xef" in shown.stdout  # no such letter in ASCII: its number
    assert _process(f"hudi-hive show {table} >&-").returncode == 0
    full = _process(f"hudi-hive show {table} > /dev/full")
    assert full.returncode == 1 and full.stderr.startswith("error: cannot write") and full.stderr.count("\n") == 1


def test_files_and_stats_of_selected_partitions(rows, run):
    path = unzip_fixture(TABLE)
    once = rows("files", path, "--partition", "lima")
    assert once and rows("files", path, "--partition", "lima/", "--partition", "lima") == once
    deep = unzip_fixture("v8_cow_ymd_hive")
    for table, partition in ((path, ".hoodie"), (path, "../x"), (deep, "year=2023"), (path, "lima/x")):
        for command in ("files", "stats"):
            code, out, err = run(command, table, "--partition", partition)
            assert code == 1 and out == "" and "no such partition" in err, (partition, err)


ERRORS = {
    "no folder": lambda tmp: ("read", tmp / "nope"),
    "not a table": lambda tmp: ("show", tmp),
    "unknown column": lambda tmp: ("read", unzip_fixture(TABLE), "--columns", "nope"),
    "empty column name": lambda tmp: ("read", unzip_fixture(TABLE), "--columns", "city,,"),
    "no columns": lambda tmp: ("read", unzip_fixture(TABLE), "--columns", ""),
    "no metadata table": lambda tmp: ("metadata", "stats", unzip_fixture("v8_cow_nonpart")),
    "a metadata table": lambda tmp: ("show", unzip_fixture(TABLE) / ".hoodie" / "metadata"),
    "bad filter": lambda tmp: ("read", unzip_fixture(TABLE), "--where", "city = = 'x'"),
    "unknown option": lambda tmp: ("read", unzip_fixture(TABLE), "--conf", "hoodie.nope=1"),
    "not key=value": lambda tmp: ("read", unzip_fixture(TABLE), "--conf", "nope"),
    "bad time": lambda tmp: ("read", unzip_fixture(TABLE), "--as-of", "yesterday"),
    "behind the cleaner": lambda tmp: ("read", unzip_fixture(TABLE), "--as-of", "2001-01-01"),
    "no metastore": lambda tmp: (
        *("sync", "--base-path", unzip_fixture(TABLE)),
        *("--database", "d", "--metastore-uris", "thrift://127.0.0.1:1"),
    ),
    "no metastore given": lambda tmp: ("sync", "--base-path", unzip_fixture(TABLE)),
    "files of a missing partition": lambda tmp: ("files", unzip_fixture(TABLE), "--partition", "nope"),
    "files before the first commit": lambda tmp: ("files", unzip_fixture(TABLE), "--as-of", "2001-01-01"),
    "missing input path": lambda tmp: ("input-format", tmp / "nope"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line_and_exit_1(run, tmp_path, case, monkeypatch):
    monkeypatch.delenv("HUDI_HIVE_METASTORE_URIS", raising=False)
    code, out, err = run(*ERRORS[case](tmp_path))
    assert code == 1
    assert err.startswith("error: ") and err.count("\n") == 1, err
    assert "Traceback" not in err and "unexpected" not in err
    assert "; " in err  # what to do about it
    assert out == ""


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda p: (p / ".hoodie/hoodie.properties").write_text("hoodie.table.version=7\n"), "version 7"),
        (lambda p: (p / ".hoodie/hoodie.properties").write_text(""), "hoodie.table"),
        (lambda p: (p / ".hoodie/hoodie.properties").unlink(), "hoodie.properties"),
        (lambda p: next((p / ".hoodie/timeline").glob("*_*.commit")).write_bytes(b"Obj\x01junk"), "instant"),
    ],
)
def test_a_damaged_table_is_an_error_of_one_line(run, tmp_path, damage, word):
    table = unzip_fixture("v8_cow_nonpart", tmp_path)
    shutil.rmtree(table / ".hoodie" / "metadata", ignore_errors=True)
    damage(table)
    code, _, err = run("read", table, "--query-type", "incremental", "--begin", "earliest")
    assert code == 1 and err.startswith("error: ") and err.count("\n") == 1
    assert word in err and str(table) in err


def test_metastore_status_without_one(rows, tmp_path):
    assert rows("metastore", "status", "--directory", tmp_path)["state"] == "stopped"


@pytest.mark.parametrize("name", ["v6_mor_part_rli", "v8_cow_part_mdt", "v9_mor_part_rli"])
def test_metadata_lists_the_partitions_and_files_on_disk(rows, run, name):
    path, want = unzip_fixture(name), expected(name)
    assert [row["partition"] for row in rows("metadata", "list-partitions", path)] == sorted(want["partitions"])
    listed = {row["name"]: row["size"] for row in rows("metadata", "list-files", path)}
    on_disk = {f.name: f.stat().st_size for p in want["partitions"] for f in (path / p).iterdir()}
    assert listed and {name: on_disk[name] for name in listed} == listed
    one = sorted(want["partitions"])[0]
    found = rows("metadata", "list-files", path, "--partition", one)
    assert {row["partition"] for row in found} == {one}
    shown = rows("metadata", "stats", path)
    table, parts = shown["metadata table"], shown["partitions of the metadata table"]
    assert table["partitionCount"] == len(want["partitions"])
    assert table["metadataPartitionCount"] == len(parts) and "files" in {row["partition"] for row in parts}
    files = [f for p in parts for f in (path / ".hoodie/metadata" / p["partition"]).iterdir()]
    latest = sum(f.stat().st_size for f in files if f.suffix == ".hfile")
    assert table["totalBaseFileSizeInBytes"] <= latest and table["logFileCount"] > 0
    code, out, err = run("metadata", "validate", path, "--format", "json")
    assert code == 0 and json.loads(out)["validate_errors"] == 0, err


def test_metadata_validate_fails_with_what_differs(run, tmp_path):
    path = unzip_fixture("v9_mor_part_rli", tmp_path)
    victim = next((path / "north").glob("*.parquet"))
    victim.unlink()
    code, out, err = run("metadata", "validate", path, "--format", "json")
    assert code == 1 and err.startswith("error: ") and err.count("\n") == 1
    shown = json.loads(out)
    assert shown["validation"]["validate_errors"] == 1
    assert [(row["name"], row["only_in"]) for row in shown["differences"]] == [(victim.name, "metadata table")]


def test_metadata_of_a_table_without_one(run):
    for command in ("stats", "validate"):
        code, out, err = run("metadata", command, unzip_fixture("v8_mor_commit_time"))
        assert code == 1 and out == "" and "metadata table" in err and err.count("\n") == 1
    want = expected("v8_mor_commit_time")["partitions"]
    for command in ("list-partitions", "list-files"):
        code, out, err = run("metadata", command, unzip_fixture("v8_mor_commit_time"), "--format", "json")
        assert code == 0 and {row["partition"] for row in json.loads(out)} == set(want)
        assert "directory listing (the metadata table is off)" in err
    code, _, err = run("metadata", "list-files", unzip_fixture("v9_mor_part_rli"), "--partition", "nope")
    assert code == 1 and "nope" in err


def test_read_and_plan_of_change_data(rows):
    path = unzip_fixture("v9_cow_cdc")
    query = ["--query-type", "cdc", "--begin", "earliest"]

    changes = rows("read", path, *query)
    assert changes and {"op", "before", "after"} <= set(changes[0])
    slices = rows("plan", path, *query)["slices"]
    assert slices and all(row["instant"] and row["case"] for row in slices)


def test_plan_of_slices_with_log_files(rows, run):
    path = unzip_fixture("v9_mor_part_rli")
    shown = rows("plan", path, "--where", "region = 'north'")
    assert {row["partition"] for row in shown["slices"]} == {"north"}
    assert any(row["log_files"] for row in shown["slices"])
    assert all(step["removed"] == max(0, step["before"] - step["after"]) for step in shown["steps"])
    logs = sum(len(row["log_files"]) for row in shown["slices"])
    assert f"base and {logs} log files" in run("plan", path, "--where", "region = 'north'")[1]
