"""Writes ``docs/options.md`` from the declarations of options: ``python -m tools.options_page``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from hudi_hive.options import GROUPS, Face, Option, Outcome, outcomes

PAGE = Path(__file__).parent.parent / "docs" / "options.md"

_HEAD = """# Options

Made by `python -m tools.options_page` from `hudi_hive/options`; do not edit. Every option that is accepted anywhere is
here. One that is not is refused, with the nearest name that is; so is a value that does not fit, and two names of one
option that differ. Names are Hudi's, Hive's and Hadoop's own, values may be texts, numbers or booleans.

Each face (a write, a read, a stream, a sync, Hive's input format, the table's lock, a client of the metastore)
honours an option, takes it as harmless for the reason that is given, or refuses it by name before anything is
written. A write takes the options of its lock, and those of the sync that follows it, too. On the command line
`--conf name=value` of `read` and `plan` takes the options of a read, of `table …` those of a write, of `sync` those
of a sync, and `input-format --conf` those of the input format. *Since* is the table version from which the option
means something in Hudi; 6 is the oldest that is written.
"""


def page() -> str:
    """The text of the page."""
    parts = [_HEAD, "\n".join(["| face | honoured | harmless | refused |", "|---|---|---|---|", *_counts()])]
    for title, options in GROUPS.items():
        parts.append(f"\n## {title}\n\n{_table(options)}")
    return "\n".join(parts) + "\n"


def _counts() -> list[str]:
    rows = []
    for face in Face:
        by_outcome = outcomes(face)
        rows.append(f"| {face} | " + " | ".join(str(len(by_outcome[outcome])) for outcome in Outcome) + " |")
    return rows


def _table(options: tuple[Option[Any], ...]) -> str:
    rows = ["| option | takes | default | what it does | honoured by | since |", "|---|---|---|---|---|---|"]
    for one in options:
        cells = [_names(one), _takes(one), _default(one), _summary(one), _faces(one), str(one.since)]
        rows.append(f"| {' | '.join(cells)}")
    return "\n".join(f"{row} |" if not row.endswith("|") else row for row in rows)


def _names(option: Option[Any]) -> str:
    others = "".join(f"<br>also `{_cell(name)}`" for name in option.aliases)
    return f"`{_cell(option.name)}`{others}"


def _takes(option: Option[Any]) -> str:
    return "" if not option.honoured_by and not option.harmless else _cell(option.parser.takes)


def _default(option: Option[Any]) -> str:
    value = option.default
    if value is None or value in ("", ()):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return _cell(",".join(map(str, value)))
    return _cell(str(value.value if isinstance(value, StrEnum) else value))


def _summary(option: Option[Any]) -> str:
    sentences = [option.summary]
    for reason in dict.fromkeys(option.harmless.values()):
        faces = ", ".join(face for face, text in option.harmless.items() if text == reason)
        sentences.append(f"*Harmless ({faces})*: {reason}.")
    for refused in dict.fromkeys(option.refused.values()):
        faces = ", ".join(face for face, other in option.refused.items() if other == refused)
        but_for = ", ".join(f"`{value}`" if value else "empty" for value in refused.but_for)
        but_for = f", but for {but_for}" if but_for else ""
        sentences.append(f"*Refused ({faces}{but_for})*: {refused.remedy}.")
    return _cell(" ".join(sentences))


def _faces(option: Option[Any]) -> str:
    return ", ".join(option.honoured_by)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
