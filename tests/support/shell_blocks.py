"""The shell blocks of README and docs: runs their commands as they stand, in the test's own process.

``hudi-hive`` is run, and has to exit with 0. What starts servers is run by tests of its own; commands of other programs
are held against what the repository has (extras, targets of the Makefile, services of the compose file).
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

import yaml
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from tests.support.code_blocks import ROOT, Names

LASTING: Final = {
    "demo": "integration/cli/test_cli.py",
    "metastore start": "integration/spark/test_tutorials.py",
    "metastore status": "integration/spark/test_tutorials.py",
    "metastore stop": "integration/spark/test_tutorials.py",
    "thriftserver start": "integration/spark/thrift/test_thrift_server.py",
    "spark connect-server": "integration/spark/connect/test_connect_server.py",
    "spark package": "tests/spark/test_packaging.py",
    "ui": "tests/ui",
    "sync --watch": "tests/cli/test_cli_sync.py",
    "table service --watch": "tests/cli/test_cli_table_service.py",
}
"""Commands that start servers or go on until they are stopped, and the file whose tests run them."""


def run_block(text: str, names: Names) -> int:
    """Run all commands of a block.

    Returns:
        How many commands were run or held against the repository.
    """
    ran = 0
    text = re.sub(r"(?<![\w/])/lake(?=\s|$)", str(names.folder), names.replace(text), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            _run(words)
            ran += 1
    return ran


def _run(words: list[str]) -> None:
    rule: Callable[[list[str]], None] = _RULES.get(words[0], _no_rule)
    rule(words)


def _no_rule(words: list[str]) -> None:
    raise AssertionError(f"nothing runs {words[0]!r}")


def _hudi_hive(words: list[str]) -> None:
    arguments = words[1:]
    target = None
    if ">" in arguments:
        arguments, (target,) = arguments[: arguments.index(">")], arguments[arguments.index(">") + 1 :]
    if "--savepoint" in arguments:
        place = arguments.index("--savepoint") + 1
        arguments[place] = HudiTable.open(arguments[2]).savepoint().result.instant.requested
    called = " ".join(arguments)
    for command, test in LASTING.items():
        watches = not command.endswith("--watch") or "--watch" in arguments
        if watches and called.startswith(command.removesuffix(" --watch")):
            assert (ROOT / test).exists(), f"{test}, which runs {command}, is not there"
            return
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, f"hudi-hive {called}: {result.exception or result.output}"
    if target is not None:
        Path(os.path.expanduser(target)).write_text(result.output, encoding="utf-8")


def _pip(words: list[str]) -> None:
    assert words[1] == "install"
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    for extras in re.findall(r"\[([\w,]+)\]", " ".join(words)):
        assert set(extras.split(",")) <= set(setup["options.extras_require"]), f"no such extra: {extras}"


def _make(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in words[1:]:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"no target {target}"


def _docker(words: list[str]) -> None:
    assert words[1:4] == ["compose", "-f", "docker/compose.yaml"]
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    named = [word for word in words[5:] if not word.startswith("-")]
    assert not named or named[0] in services, f"no service {named[0]}"


def _export(words: list[str]) -> None:
    name, _, value = words[1].partition("=")
    os.environ[name] = value


def _echo(words: list[str]) -> None:
    text, _, file = words[1:]
    Path(file).write_text(text + "\n", encoding="utf-8")


def _beeline(words: list[str]) -> None:
    """Beeline asks a server that ``integration/spark/thrift`` starts and asks, too."""
    assert words[1] == "-u" and words[2].startswith("jdbc:hive2://")


_RULES: Final = {
    "hudi-hive": _hudi_hive,
    "pip": _pip,
    "make": _make,
    "docker": _docker,
    "export": _export,
    "echo": _echo,
    "beeline": _beeline,
}
