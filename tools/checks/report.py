"""Findings against what is still allowed, printed as ``path:line: message``.

``allowed.txt`` lists the findings that are not mended yet, one a line: check, path and subject, separated by a tab.
The list may only shrink: a finding that it does not list fails, and so does a line of it that is no finding any more.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tools.checks.tree import Finding, SourceTree

Check = Callable[[SourceTree], Iterable[Finding]]
Entry = tuple[str, str, str]
ALLOWED = Path(__file__).with_name("allowed.txt")


def main(checks: Mapping[str, Check], arguments: list[str] | None = None) -> int:
    """Run the checks over the repository and print what they find.

    Args:
        checks: each check by its name.
        arguments: ``--update`` writes ``allowed.txt`` anew, where no check's count grows, ``--all`` prints the
            allowed findings as well; the command line's by default.

    Returns:
        0 if there is nothing to mend, 1 otherwise.
    """
    options = sys.argv[1:] if arguments is None else arguments
    tree = SourceTree()
    found_by = {name: sorted(set(check(tree))) for name, check in checks.items()}
    allowed = read_allowed(ALLOWED)
    if "--update" in options:
        return _update(found_by, allowed)
    if "--all" in options:
        allowed = set()
    messages = [line for name, findings in found_by.items() for line in complaints(name, findings, allowed)]
    for message in messages:
        print(message)
    return 1 if messages else 0


def complaints(check: str, findings: Iterable[Finding], allowed: set[Entry]) -> list[str]:
    """The lines to print for one check: findings that are not allowed, and allowed ones that are gone."""
    findings = list(findings)
    lines = [str(each) for each in findings if entry(check, each) not in allowed]
    present = {entry(check, each) for each in findings}
    gone = sorted(each for each in allowed if each[0] == check and each not in present)
    lines += [f"{path}:1: {subject} is mended: take it off tools/checks/allowed.txt" for _, path, subject in gone]
    return lines


def entry(check: str, finding: Finding) -> Entry:
    """The line of ``allowed.txt`` that allows a finding."""
    return check, finding.path, finding.subject


def read_allowed(path: Path) -> set[Entry]:
    """The entries of a list of allowed findings."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {tuple(line.split("\t")) for line in lines if line and not line.startswith("#")}  # type: ignore[misc]


def _update(findings: Mapping[str, list[Finding]], allowed: set[Entry]) -> int:
    present = {entry(check, each) for check, listed in findings.items() for each in listed}
    before, now = Counter(each[0] for each in allowed), Counter(each[0] for each in present)
    grown = [check for check in findings if now[check] > before[check]]
    for check in grown:
        print(f"tools/checks/allowed.txt:1: {check} would grow from {before[check]} to {now[check]}: mend what is new")
        for line in complaints(check, findings[check], allowed):
            print(line)
    untouched = {each for each in allowed if each[0] not in findings}
    accepted = {each for each in present if each[0] not in grown or each in allowed}
    write_allowed(ALLOWED, accepted | untouched)
    return 1 if grown else 0


def write_allowed(path: Path, entries: set[Entry]) -> None:
    """Write a list of allowed findings, sorted."""
    head = "# Findings that are not mended yet: check, path, subject. This list may only shrink; see report.py.\n"
    path.write_text(head + "".join("\t".join(each) + "\n" for each in sorted(entries)), encoding="utf-8")
