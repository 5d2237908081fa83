"""Check that references to documents lead somewhere: ``python -m tools.checks.anchors``.

Four things are reported as ``path:line: message``: a link of a Markdown page to a file or heading that is not there;
``docs/<page>.md#<anchor>`` in any text file of the repository that names no heading; files such as ``tests/<name>.py``
and modules of ``python -m`` that do not exist; and "section 4.2", "appendix A" and the like in code, which cite a
document that is not in the repository. Anchors are GitHub's slugs of headings.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from tools.checks.tree import REPOSITORY, Finding, SourceTree

_TEXT_SUFFIXES: Final = frozenset(
    {".py", ".md", ".toml", ".sh", ".java", ".yml", ".yaml", ".css", ".js", ".sql", ".txt", ".cfg", ".ini", ".pyi"}
)
_TEXT_NAMES: Final = frozenset({"Makefile", "Dockerfile"})
_CODE_SUFFIXES: Final = frozenset({".py", ".pyi", ".java", ".sh", ".sql", ".toml", ".js"})
_SKIPPED_FOLDERS: Final = ("tests/data/", "integration/data/")

_HEADING: Final = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*")
_LINK: Final = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE: Final = re.compile(r"(?<![\w/.-])((?:docs/)?[\w./-]+\.md)#([\w-]+)")
_FILE: Final = re.compile(
    r"(?<![\w./-])(?:docs|tests|integration|benchmarks|tools)/[\w./-]+\.(?:md|py|java|sh)\b(?!#)"
    r"|(?<![\w./-])hudi_hive/[\w./]+\.py\b"
)
_MODULE: Final = re.compile(r"python -m ((?:tests|integration|benchmarks|tools|hudi_hive)(?:\.\w*[a-z]\w*)+)(?!\.?\w)")
_INLINE_CODE: Final = re.compile(r"`[^`]*`")
_UNKNOWN_DOCUMENT: Final = re.compile(
    r"\bsections?\s+\d+(?:\.\d+)*\b"
    r"|\bappendix\s+[A-Z]\b"
    r"|§\s*\d"
    r"|\bdecisions\.md\b|\bdecisions?\s+\d+\b"
    r"|\btable[- ]format(?:,| rules| reference)|\bformat rules\b|\breference section\b",
    re.IGNORECASE,
)
_EXAMPLES: Final = frozenset(
    {
        "tools/checks/allowed.txt",
        "tools/checks/anchors.py",
        "tests/tools/test_anchors.py",
        "tests/tools/test_checks.py",
        "tests/tools/test_measure_house.py",
    }
)
"""Files that hold such references as examples, or list findings of a moment."""


def github_slug(heading: str) -> str:
    """The anchor that GitHub gives to the text of a heading, without the number that repeated ones get.

    Example:
        >>> github_slug("Hive ACID: `delta` folders")
        'hive-acid-delta-folders'
    """
    text = _INLINE_CODE.sub(lambda found: found[0][1:-1], heading)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"[*~]", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(text: str) -> frozenset[str]:
    """All anchors of a Markdown page; headings of one text are numbered from the second on (``name-1``)."""
    counts: dict[str, int] = {}
    found: set[str] = set()
    for _, line in _lines_outside_code(text):
        heading = _HEADING.fullmatch(line)
        if heading is None:
            continue
        slug = github_slug(heading[2])
        number = counts.get(slug, 0)
        counts[slug] = number + 1
        found.add(f"{slug}-{number}" if number else slug)
    return frozenset(found)


def problems_in(root: Path, files: list[str]) -> Iterator[Finding]:
    """References that lead nowhere.

    Args:
        root: the repository.
        files: paths of its files, relative to it.
    """
    for path in sorted(files):
        if path.startswith(_SKIPPED_FOLDERS) or not _is_text(path):
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        if path.endswith(".md"):
            yield from _broken_links(root, path, text)
        if path not in _EXAMPLES:
            yield from _broken_references(root, path, text)
            yield from _missing_files(root, path, text)
        if Path(path).suffix in _CODE_SUFFIXES and path not in _EXAMPLES:
            yield from _unknown_documents(path, text)


def tracked_files(root: Path) -> list[str]:
    """Files that git knows or would add, relative to the root."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return [name for name in output.decode().split("\0") if name]


def find(tree: SourceTree) -> Iterator[Finding]:
    """References that lead nowhere, in all text files of the repository."""
    yield from problems_in(tree.folder, tracked_files(tree.folder))


def main() -> int:
    """Print all problems; 0 if there are none, else 1."""
    problems = list(problems_in(REPOSITORY, tracked_files(REPOSITORY)))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _finding(path: str, line: int, message: str) -> Finding:
    return Finding(path, line, message, message)


def _is_text(path: str) -> bool:
    return Path(path).suffix in _TEXT_SUFFIXES or Path(path).name in _TEXT_NAMES


def _lines_outside_code(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a Markdown page that are not in a fenced block."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.lstrip()
        if fence:
            if stripped.startswith(fence):
                fence = ""
        elif stripped.startswith(("```", "~~~")):
            fence = stripped[:3]
        else:
            yield number, line


def _broken_links(root: Path, path: str, text: str) -> Iterator[Finding]:
    folder = (root / path).parent
    # Links may be broken over lines: the page is searched as a whole, code taken out but its line ends kept.
    outside = dict(_lines_outside_code(text))
    page = "\n".join(_INLINE_CODE.sub("", outside.get(number, "")) for number in range(1, len(text.splitlines()) + 1))
    for link in _LINK.finditer(page):
        target = unquote(link[1])
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        line = page.count("\n", 0, link.start(1)) + 1
        name, _, anchor = target.partition("#")
        file = folder / name if name else root / path
        if not file.exists():
            yield _finding(path, line, f"link to {target}, which is no file")
        elif anchor and anchor not in _anchors(file):
            yield _finding(path, line, f"link to {target}, which has no such heading")


def _broken_references(root: Path, path: str, text: str) -> Iterator[Finding]:
    """References as code has them: ``docs/format.md#delete-blocks``."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in _REFERENCE.finditer(line):
            if not found[1].startswith("docs/"):
                continue
            file = root / found[1]
            if not file.exists():
                yield _finding(path, number, f"{found[0]}: no such page")
            elif found[2] not in _anchors(file):
                yield _finding(path, number, f"{found[0]}: the page has no such heading")


def _missing_files(root: Path, path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        for found in _FILE.finditer(line):
            if not (root / found[0]).exists():
                yield _finding(path, number, f"{found[0]}: no such file")
        for found in _MODULE.finditer(line):
            module = root / found[1].replace(".", "/")
            if not (module.with_suffix(".py").exists() or (module / "__main__.py").exists()):
                yield _finding(path, number, f"python -m {found[1]}: no such module")


def _unknown_documents(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        for found in _UNKNOWN_DOCUMENT.finditer(line):
            yield _finding(
                path, number, f"{found[0]!r} cites a document that is not here: name docs/<page>.md#<anchor>"
            )


@cache
def _anchors(file: Path) -> frozenset[str]:
    return anchors_of(file.read_text(encoding="utf-8")) if file.suffix == ".md" else frozenset()


if __name__ == "__main__":
    sys.exit(main())
