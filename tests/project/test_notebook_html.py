"""What notebooks show of tables, queries, plans and reports."""

from __future__ import annotations

from html.parser import HTMLParser

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


class _Cells(HTMLParser):
    """Texts and tags of a piece of HTML, and whether all tags were closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def cells(value) -> list[str]:
    parser = _Cells()
    parser.feed(value._repr_html_())
    assert parser.open == []
    assert parser.tags <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert "\u202e" not in "".join(parser.texts)
    return parser.texts


@pytest.fixture
def table(tmp_path):
    return HudiTable.create(tmp_path / "t", name="<img>", record_keys=["id"], table_type="MERGE_ON_READ")


def test_notebooks_show_small_escaped_tables(table):
    report = table.upsert(pa.table({"id": [HOSTILE], "v": [1]}))
    shown = cells(table)
    assert "merge-on-read" in shown and report.instant.requested in shown
    scan = table.scan(row_filter=[("id", "=", HOSTILE)])
    assert any("onerror" in text for text in cells(scan))
    assert any("1 file slices" in text for text in cells(scan.plan()))
    assert cells(report)[:3] == ["WriteReport: upsert", "instant", report.instant.requested]
    assert "nothing to do" in cells(table.clean())
    with FakeMetastore() as metastore:
        config = HiveSyncConfig(base_path=table.path, database="d", table="t", metastore_uris=metastore.uri)
        assert "SyncReport (dry run)" in cells(HiveSyncTool(config).sync(dry_run=True))[0]


def test_long_tables_are_cut(tmp_path):
    wide = HudiTable.create(tmp_path / "w", name="w", record_keys=["c0"])
    wide.insert(pa.table({f"c{number}": ["x"] for number in range(40)}))
    shown = cells(wide.scan())
    assert "25 more" in shown  # 5 meta columns and 40 others, 20 of which are shown
