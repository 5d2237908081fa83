"""Write the support matrix of the docs from what the fixture tests run: `python tools/support_matrix.py [--check]`.

It stands in ``docs/reference/support.md``.

Each cell counts the queries of real Hudi's answers that we answer with the same rows; ``(+n)`` are the named gaps,
where one rule of ours stands above a release's quirk (``tests/support/fixture_tables.py`` lists them, and tests check
that rule).
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PAGE = ROOT / "docs" / "reference" / "support.md"
BEGIN, END = "<!-- support-matrix:begin -->\n", "<!-- support-matrix:end -->"
KINDS = {
    "snapshot": "snapshot",
    "read_optimized": "read optimised",
    "time_travel": "time travel",
    "incremental": "incremental",
    "cdc": "change data (CDC)",
    "base_files": "plain base files",
}
TYPES = {"COPY_ON_WRITE": "copy-on-write", "MERGE_ON_READ": "merge-on-read"}
RELEASES = {6: "0.15.0", 8: "1.0.2", 9: "1.1.1"}


def matrix() -> str:
    """The Markdown table."""
    from tests.read import test_fixture_queries as fixtures
    from tests.support.fixture_tables import VERSIONS, expected

    counts: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for case, (name, query) in enumerate(fixtures.CASES):
        cell = counts[expected(name)["table_type"], query["kind"], expected(name)["table_version"]]
        cell[0] += fixtures.outcome(case) is None
        cell[1] += 1
    heads = [f"version {version} (Hudi {RELEASES[version]})" for version in VERSIONS]
    lines = [f"| table type | query | {' | '.join(heads)} |", "|---|---|" + "---|" * len(VERSIONS)]
    for kind, type_name in TYPES.items():
        for query, query_name in KINDS.items():
            cells = [counts.get((kind, query, version)) for version in VERSIONS]
            texts = [_cell(*cell) if cell else "–" for cell in cells]
            if any(cells):
                lines.append(f"| {type_name} | {query_name} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def _cell(same: int, total: int) -> str:
    return f"{same}" if same == total else f"{same} (+{total - same})"


def with_matrix(text: str) -> str:
    """The page's text with the table between its markers."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + matrix() + END + tail


def main() -> int:
    """Write the table, or with ``--check`` say whether the page is up to date."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = with_matrix(text)
    if "--check" in sys.argv[1:]:
        return int(wanted != text)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
