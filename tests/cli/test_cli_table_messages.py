"""What ``hudi-hive table`` says: nothing to do, typing errors, questions, flags that exclude one another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from hudi_hive.cli.main import cli
from hudi_hive.errors import InvalidOptionError
from hudi_hive.table_api import HudiTable

SERVICES = ("compact", "cluster", "clean", "archive")
ROWS = pa.table({"id": ["a"], "v": [1]})


def run(*arguments: object, answer: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["table", *map(str, arguments)], input=answer)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], table_type="MERGE_ON_READ").insert(ROWS)
    return tmp_path / "t"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["compact"], "no file group has log files to compact"),
        (["compact", "--schedule"], "no file group has log files to compact"),
        (["compact", "--execute"], "no compaction is planned"),
        (["cluster"], "no small file groups to join"),
        (["cluster", "--schedule"], "no small file groups to join"),
        (["cluster", "--execute"], "no clustering is planned"),
        (["clean"], "nothing to clean"),
        (["archive"], "nothing to archive, 1 stay active"),
        (["rollback", "--failed"], "no writer left anything behind"),
    ],
)
def test_commands_without_work_say_so(path: Path, command: list[str], said: str) -> None:
    result = run(command[0], path, *command[1:])
    assert (result.exit_code, said in result.output) == (0, True), result.output


@pytest.mark.parametrize("command", [*SERVICES, "rollback", "restore", "savepoint"])
def test_options_are_checked(path: Path, command: str) -> None:
    further = {"rollback": ["--failed"], "restore": ["--savepoint", "1"]}.get(command, [])
    for conf, said in (
        ("hoodie.clean.commits.retaned=3", r"did you mean hoodie\.clean\.commits\.retained"),
        ("hoodie.clean.commits.retained=few", "must be a whole number"),
        ("hoodie.table.name=other", "contradicts the table"),
    ):
        result = run(command, path, *further, "--conf", conf)
        assert isinstance(result.exception, InvalidOptionError)
        with pytest.raises(InvalidOptionError, match=said):
            raise result.exception


def test_options_count_under_all_of_their_names(path: Path) -> None:
    table = HudiTable.open(path)
    for _ in range(3):
        table.bulk_insert(ROWS, {"hoodie.clean.automatic": "false"})
        table.insert_overwrite_table(ROWS, {"hoodie.clean.automatic": "false"})
    for name in ("hoodie.cleaner.commits.retained", "hoodie.clean.commits.retained"):
        assert "files deleted" in run("clean", path, "--conf", f"{name}=1").output
    assert HudiTable.open(path).timeline.completed({"clean"})


def test_questions_end_without_a_yes(path: Path) -> None:
    instant = HudiTable.open(path).timeline.write_instants()[-1].requested
    run("savepoint", path)
    for answer in ("n\n", ""):
        for command in (["rollback", path, "--instant", instant], ["restore", path, "--savepoint", instant]):
            result = run(*command, answer=answer)
            assert result.exit_code == 1
            assert "nothing was done; --yes does it without asking" in result.output
    assert HudiTable.open(path).scan().count() == 1


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("compact", ["--schedule", "--execute"]),
        ("cluster", ["--schedule", "--execute"]),
        ("savepoint", ["--delete", "--list"]),
    ],
)
def test_flags_that_exclude_one_another(path: Path, command: str, flags: list[str]) -> None:
    result = run(command, path, *flags)
    assert result.exit_code == 2
    assert f"{' and '.join(flags)} do not go together" in result.output


def test_help_is_one_whole_line_a_command() -> None:
    lines = run("--help").output.partition("Commands:")[2].partition("\n\n")[0].strip().splitlines()
    assert len(lines) == 13
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)
