"""All checks at once: ``python -m tools.checks [--all | --update]``; ``tools/checks/report.py`` has the options."""

from __future__ import annotations

from tools.checks import anchors, architecture, arrow_stubs, dead, imports, literals, names, rooms, signatures, words
from tools.checks.report import Check, main

CHECKS: dict[str, Check] = {
    "imports": imports.find,
    "rooms": rooms.find,
    "words": words.find,
    "names": names.find,
    "literals": literals.find,
    "signatures": signatures.find,
    "dead": dead.find,
    "anchors": anchors.find,
    "architecture": architecture.find,
    "arrow_stubs": arrow_stubs.find,
}

if __name__ == "__main__":
    raise SystemExit(main(CHECKS))
