"""Runs the pages of ``docs/tutorials`` from top to bottom, as a reader would, and compares what they print.

A block of Python, of a shell or of SQL is run; a block ``text`` behind it is what it prints, in which ``…`` stands for
anything and times of instants, names of files and widths of columns may differ. ``HUDI_HIVE_TEST_RECORD=1`` writes
anew what the blocks print.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from hudi_hive import HudiHiveError
from hudi_hive.cli import cli

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.name != "index.md")
FOLDER = "/tmp/lake"
"""The folder in which the tutorials work; a test has one of its own in its place."""
RECORD = os.environ.get("HUDI_HIVE_TEST_RECORD") == "1"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LASTING = ("metastore start", "thriftserver start", "spark connect-server", "ui ")
"""Commands that run until they are stopped: in the page they have a terminal of their own."""


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose path is about as long as :data:`FOLDER`, so that tables look the same."""
    with TemporaryDirectory(prefix="l", dir="/tmp") as folder:
        yield Path(folder) / "lake"


@dataclass(frozen=True)
class Block:
    """One block of a page: its language, its text and where the text stands in the page."""

    language: str
    text: str
    begin: int
    end: int
    line: int


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], match.start(2), match.end(2), text.count("\n", 0, match.start()) + 2)
        for match in _BLOCK.finditer(text)
    ]


def needs_jvm(page: Path) -> bool:
    """Whether a page starts a metastore or uses Spark."""
    text = "".join(block.text for block in blocks_of(page) if block.language != "text")
    return "spark" in text or "metastore start" in text


class TutorialRun:
    """Runs the blocks of one page in a folder of its own; ``with`` stops what they started.

    Args:
        page: the page.
        folder: the folder that takes the place of :data:`FOLDER`.
        replaced: further texts of the page, such as addresses, and what a test has in their place.
        names: names that the page's Python finds, such as a running session.
    """

    def __init__(self, page: Path, folder: Path, replaced: dict[str, str], names: dict[str, Any] | None = None) -> None:
        self.page = page
        self.folder = folder
        self._replaced = {FOLDER: str(folder), **replaced}
        self.names: dict[str, Any] = {"__name__": "__main__", **(names or {})}
        self._stack = ExitStack()

    def __enter__(self) -> TutorialRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self) -> int:
        """Run all blocks and compare what they print.

        Returns:
            How many blocks ran.
        """
        ran, printed = 0, ""
        recorded: list[tuple[Block, str]] = []
        for block in blocks_of(self.page):
            where = f"{self.page.name}:{block.line}"
            if block.language == "text":
                shown = self._as_in_page(printed)
                if RECORD:
                    recorded.append((block, shown))
                else:
                    assert _matches(block.text, shown), f"{where}: the page shows\n{block.text}\nit prints\n{shown}"
                continue
            printed = self._run(block, where)
            ran += 1
        if recorded:
            self._record(recorded)
        return ran

    def _run(self, block: Block, where: str) -> str:
        text = block.text
        for old, new in self._replaced.items():
            text = text.replace(old, new)
        if block.language == "bash":
            return "".join(self._command(line) for line in text.replace("\\\n", " ").splitlines() if line.strip())
        if block.language == "diff":  # a script before and after: the lines of after
            text = "".join(line[1:] or "\n" for line in text.splitlines(keepends=True) if not line.startswith("-"))
        if block.language == "sql":
            text = f"spark.sql({text.strip().rstrip(';')!r}).show(truncate=False)"
        assert block.language in {"python", "sql", "diff"}, f"{where}: nothing runs {block.language!r}"
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(text, where, "exec"), self.names)
        return out.getvalue()

    def _command(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        if not words or words[0] in {"mkdir", "cd", "pip", "python"}:
            return ""
        assert words[0] == "hudi-hive", f"nothing runs {line!r}"
        if any(" ".join(words[1:]).startswith(start) for start in _LASTING):
            return self._start(words[1:])
        result = CliRunner().invoke(cli, words[1:])
        if isinstance(result.exception, HudiHiveError):
            return f"{result.output}error: {result.exception}\n"
        assert result.exit_code == 0, f"{line}: {result.exception!r} {result.output}"
        return result.output

    def _start(self, words: list[str]) -> str:
        """Start a command that lasts, and wait until it says that it is ready."""
        command = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(self.folder)}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self._stack.callback(_end, process)
        assert process.stdout is not None
        for line in process.stdout:
            if "ready at" in line:
                threading.Thread(target=process.stdout.read, daemon=True).start()
                return line
        raise AssertionError(f"{words} ended with {process.wait()}")

    def _as_in_page(self, text: str) -> str:
        for old, new in self._replaced.items():
            text = text.replace(new, old)
        return text

    def _record(self, recorded: list[tuple[Block, str]]) -> None:
        text = self.page.read_text(encoding="utf-8")
        for block, shown in reversed(recorded):
            if not _matches(block.text, shown):
                lines = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
                text = text[: block.begin] + lines + "\n" + text[block.end :]
        self.page.write_text(text, encoding="utf-8")


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait(120)


def _matches(page: str, printed: str) -> bool:
    pattern = "".join(".*?" if part == "…" else re.escape(part) for part in re.split("(…)", _plain(page)))
    return re.fullmatch(pattern, _plain(printed), re.DOTALL) is not None


def _plain(text: str) -> str:
    """A text without what differs from run to run, and without the drawing of tables."""
    text = re.sub(r"(?<!\d)\d{17}(?!\d)", "INSTANT", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "FILE", text)
    text = re.sub(r"[─━┃│┏┓┗┛┡┩╇┳┴┼└┘╺╸|+-]+", " ", text)
    return " ".join(text.split())
