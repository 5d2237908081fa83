"""The command line: exit codes, the three formats, one line per error, and what each command shows."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pyarrow.parquet as pq
import pytest

from hudi_hive.cli.main import main
from tests.support import expected, unzip_fixture

TABLE = "v8_cow_part_mdt"
WIDE = "v9_cow_wide_250"


@pytest.fixture
def run(capsys):
    """Run the command; gives (exit code, stdout, stderr)."""

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        return caught.value.code or 0, printed.out, printed.err

    return call


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
    for command in ("demo", "show", "timeline", "schema", "files", "read", "plan", "input-format", "sync", "metastore"):
        assert f"\n  {command} " in out
        code, text, _ = run(command, "--help")
        assert code == 0 and "Usage:" in text
    assert run("--version")[1].startswith("hudi-hive, version ")


@pytest.mark.parametrize(
    "words", [("read",), ("nosuch",), ("read", "x", "--query-type", "odd"), ("show", "x", "--format", "xml"), ("sync",)]
)
def test_wrong_usage_is_exit_2(run, words):
    code, out, err = run(*words)
    assert code == 2 and out == "" and "Usage:" in err


def test_show(rows):
    shown = rows("show", unzip_fixture(TABLE))
    assert shown["table version"] == 8
    assert shown["partition fields"] == "city"
    assert shown["partitions"] == len(expected(TABLE)["partitions"])
    assert shown["last commit"] == expected(TABLE)["commits"][-2]["requested"]


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


def test_archived_timeline(rows):
    path = unzip_fixture("v9_cow_archived")
    assert len(rows("timeline", path, "--archived")) > len(rows("timeline", path))


def test_schema(rows):
    columns = rows("schema", unzip_fixture(TABLE))
    assert [row["column"] for row in columns][:1] == ["_hoodie_commit_time"]
    assert [row["column"] for row in columns if row["partition"]] == ["city"]


def test_files(rows):
    found = rows("files", unzip_fixture(TABLE))
    wanted = {(s["partition"], s["file_id"], s["base_instant"]) for s in expected(TABLE)["file_slices"]}
    assert {(row["partition"], row["file_id"], row["base_instant"]) for row in found} == wanted


def test_read(rows):
    found = rows("read", unzip_fixture(TABLE), "--where", "city = 'lima'", "--columns", "visit_id,city")
    assert len(found) == 8 and set(found[0]) == {"visit_id", "city"}
    assert len(rows("read", unzip_fixture(TABLE), "--limit", "2")) == 2


def test_read_to_a_file(run, tmp_path):
    target = tmp_path / "out.parquet"
    code, _, _ = run("read", unzip_fixture(TABLE), "-o", target)
    assert code == 0
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


def test_input_format(rows, tmp_path):
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


ERRORS = {
    "no folder": lambda tmp: ("read", tmp / "nope"),
    "not a table": lambda tmp: ("show", tmp),
    "unknown column": lambda tmp: ("read", unzip_fixture(TABLE), "--columns", "nope"),
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
    assert out == ""


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda p: (p / ".hoodie/hoodie.properties").write_text("hoodie.table.version=5\n"), "version 5"),
        (lambda p: (p / ".hoodie/hoodie.properties").write_text(""), "hoodie.table"),
        (lambda p: (p / ".hoodie/hoodie.properties").unlink(), "hoodie.properties"),
        (lambda p: next((p / ".hoodie/timeline").glob("*_*.commit")).write_bytes(b"Obj\x01junk"), "instant"),
    ],
)
def test_damaged_tables(run, tmp_path, damage, word):
    table = unzip_fixture("v8_cow_nonpart", tmp_path)
    shutil.rmtree(table / ".hoodie" / "metadata", ignore_errors=True)
    damage(table)
    code, _, err = run("read", table, "--query-type", "incremental", "--begin", "earliest")
    assert code == 1 and err.startswith("error: ") and err.count("\n") == 1
    assert word in err and str(table) in err


def test_metastore_status_without_one(rows, tmp_path):
    assert rows("metastore", "status", "--directory", tmp_path)["state"] == "stopped"
