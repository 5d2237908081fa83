"""What a table's data, names and errors may do to spreadsheets, terminals and browsers: nothing."""

from __future__ import annotations

import csv
import decimal
import io
import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive.cli.main import cli
from hudi_hive.cli.output import Output, csv_cell, raw_cell
from hudi_hive.metastore.embedded import make_private_folder, open_private, write_private
from hudi_hive.table_api import HudiTable

STEERING = ["\x1b[31m", "\x9b31m", "\x07", "\x08", "\x7f", "\u202eevil", "\u2066x", "\u200f"]
FORMULAS = ["=cmd|'/C calc'!A0", "+1+2", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=", "-", "'=1", "''=1", "- a", "+a"]
HARMLESS = ["", "a", "a=b", "-5", "+5.5", "-1e10", ".5", "'quoted'", "it's", "[red]x[/red]", "ü漢👍", "<b>"]
ENDED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200f]")


def back(cell: str) -> str:
    """The text of a cell of ``--format csv``."""
    return cell[1:] if re.match(r"'+[=+\-@\t\r\\]", cell) else cell


@pytest.mark.parametrize("text", FORMULAS + HARMLESS)
def test_formulas_in_csv_cells_become_texts_and_can_be_restored(text: str) -> None:
    cell = csv_cell(text)
    assert cell[:1] not in tuple("=+-@\t\r") or text in HARMLESS
    assert back(cell).replace("\\x0d", "\r") == text or text.startswith("'quoted")
    assert (cell == text) == (text in HARMLESS)
    assert raw_cell(text) == text


@pytest.mark.parametrize("value", [-5, -5.5, decimal.Decimal("-5.50"), 0, True, None, float("-inf")])
def test_numbers_are_left_alone(value: object) -> None:
    assert csv_cell(value) == raw_cell(value)


def test_texts_in_lists_and_structs_do_not_begin_a_cell() -> None:
    assert csv_cell(["=1"]) == '["=1"]' and csv_cell({"a": "\x1b"}) == '{"a": "\\u001b"}'


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "t"
    texts = [
        *STEERING,
        *FORMULAS,
        *HARMLESS,
        "</script><script>alert(1)</script>",
        "[bold red]x[/]",
        "[link=http://x]y[/]",
    ]
    made = HudiTable.create(path, name="t", record_keys=["id"], ordering_fields=["n"])
    count = len(texts)
    made.insert(pa.table({"id": [str(i) for i in range(count)], "n": [-i for i in range(count)], "text": texts}))
    return path


def run(*words: object) -> str:
    result = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("kind", ["table", "json", "csv"])
def test_rows_reach_a_terminal_without_what_steers_it(table: Path, kind: str) -> None:
    shown = run("read", table, "--columns", "id,n,text", "--format", kind)
    assert not ENDED.search(shown)
    assert "alert(1)" in shown and "[bold red]" in shown
    expected = {row["id"]: row["text"] for row in HudiTable.open(table).scan().to_arrow().to_pylist()}
    if kind == "json":  # loses nothing
        assert {row["id"]: row["text"] for row in json.loads(shown)} == expected
    if kind == "csv":
        rows = list(csv.DictReader(io.StringIO(shown)))
        assert all(row["text"][:1] not in tuple("=+-@\t\r") or expected[row["id"]] in HARMLESS for row in rows)
        assert {int(row["n"]) for row in rows} == {-int(name) for name in expected}


def test_raw_csv_is_what_the_table_holds(table: Path) -> None:
    shown = run("read", table, "--columns", "id,text", "--format", "csv-raw")
    expected = {row["id"]: row["text"] for row in HudiTable.open(table).scan().to_arrow().to_pylist()}
    found = {row["id"]: row["text"] for row in csv.DictReader(io.StringIO(shown, newline=""))}
    assert found == expected


def test_names_of_columns_are_texts_too(capsys: pytest.CaptureFixture[str]) -> None:
    Output("csv").section("x", [{"=a": 1, "\x1bb": 2}])
    assert capsys.readouterr().out == "'=a,\\x1bb\n1,2\n"


def test_a_timeline_page_holds_no_script_of_the_table(tmp_path: Path) -> None:
    made = HudiTable.create(
        tmp_path / "t",
        name="<script>alert(1)",
        record_keys=["id"],
        partition_fields=["p"],
    )
    made.insert(pa.table({"id": ["1"], "p": ["<img src=x onerror=alert(1)>\x9b\u202e"]}))
    run("timeline", tmp_path / "t", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and not ENDED.search(page)


def test_errors_do_not_steer_a_terminal(tmp_path: Path, table: Path) -> None:
    result = CliRunner().invoke(cli, ["read", str(table), "--where", "\x1b]0;x\x07\u202e = 1"])
    assert result.exit_code and not ENDED.search(str(result.exception))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_private_files_are_private_whatever_the_umask_is(tmp_path: Path, umask: int) -> None:
    (tmp_path / "old").write_text("public, and longer than what comes")
    (tmp_path / "old").chmod(0o666)
    before = os.umask(umask)
    try:
        make_private_folder(tmp_path / "a" / "b")
        write_private(tmp_path / "a" / "b" / "conf", "password")
        write_private(tmp_path / "old", "password")
        with open_private(tmp_path / "log") as log:
            log.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    for name in ("a/b/conf", "old", "log"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "old").read_text() == "password"
