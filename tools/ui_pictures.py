"""Takes the pictures that ``docs/ui.md`` shows of ``hudi-hive ui``: ``python -m tools.ui_pictures [--lake FOLDER]``.

Needs Chromium. The folder of the tables is shown; it must not be there yet, and goes afterwards.
The tables are some that real Hudi wrote, and one of ours whose compaction is scheduled.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa
from playwright.sync_api import Browser, Page

from hudi_hive import HudiTable
from hudi_hive.testing import FakeMetastore
from hudi_hive.ui import UiServer, UiSettings
from tests.support.chromium import started_chromium
from tests.support.fixture_tables import unzip_fixture

IMAGES: Final = Path(__file__).resolve().parents[1] / "docs" / "img"

_SIZE: Final = {"width": 1100, "height": 640}
_EVOLVED, _PRUNED, _LOGGED, _PENDING = "readings", "visits", "devices", "rides"
_FIXTURES: Final = {_EVOLVED: "v8_cow_schema_evo", _PRUNED: "v8_cow_part_mdt", _LOGGED: "v9_mor_event_time"}
_STATEMENT: Final = f"SELECT page, count(*) AS visits, sum(dwell) FROM {_PRUNED} WHERE city = 'oslo' GROUP BY ALL"


def main() -> int:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description="Take the pictures of the pages that docs/ui.md shows.")
    parser.add_argument("--images", type=Path, default=IMAGES, help="Where the pictures go.")
    parser.add_argument("--lake", type=Path, help="Where the tables are made for them.")
    arguments = parser.parse_args()
    arguments.images.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, FakeMetastore() as metastore, started_chromium() as browser:
        lake = arguments.lake or Path(folder) / "lake"
        lake.mkdir()
        try:
            for name, fixture in _FIXTURES.items():
                shutil.move(unzip_fixture(fixture, Path(folder)), lake / name)
            make_pending(lake / _PENDING)
            with UiServer(UiSettings(paths=(str(lake),))) as server:
                for scheme in ("light", "dark"):
                    take(browser, server.url, metastore.uri, scheme, arguments.images)
        finally:
            shutil.rmtree(lake)
    return 0


def make_pending(path: Path) -> None:
    """A merge-on-read table with a savepoint and a compaction that waits."""
    columns = {"id": ["a", "b"], "city": ["sf", "rio"], "fare": [12.5, 8.0]}
    table = HudiTable.create(
        path, name=path.name, record_keys=["id"], partition_fields=["city"], table_type="MERGE_ON_READ"
    )
    first = table.upsert(pa.table(columns))
    table.savepoint(first.instant.requested, user="ana", comments="before the update")
    table.upsert(pa.table(columns | {"fare": [13.0, 9.0]}))
    table.compact({"hoodie.compact.inline.max.delta.commits": "1"}, schedule=True)


def take(browser: Browser, url: str, metastore_uri: str, scheme: str, images: Path) -> None:
    """Visit the pages in one colour scheme; in the dark one the timeline alone is kept."""
    with browser.new_context(color_scheme=scheme, viewport=_SIZE) as context:
        page = context.new_page()

        def keep(name: str) -> None:
            page.screenshot(path=images / f"ui-{name}.png")

        page.goto(url)
        if scheme == "dark":
            _open(page, _LOGGED, "Timeline")
            keep("timeline-dark")
            return
        keep("tables")
        for table, tab in (
            (_LOGGED, "Overview"),
            (_LOGGED, "Timeline"),
            (_PRUNED, "Partitions"),
            (_EVOLVED, "Schema"),
            (_PENDING, "Services"),
            (_PRUNED, "Metadata table"),
        ):
            _open(page, table, tab)
            keep(tab.lower().replace(" ", "-"))
        _open(page, _LOGGED, "Partitions")
        with page.expect_navigation():
            page.get_by_role("region", name="Partitions").get_by_role("link").first.click()
        keep("files")
        _open(page, _PRUNED, "Query")
        for button in ("Run", "Explain"):
            page.get_by_label("SQL").fill(_STATEMENT)
            _press(page, button)
            keep({"Run": "query"}.get(button, "explain"))
        _open(page, _PRUNED, "Plan")
        page.get_by_label("Row filter").fill("city = 'oslo' AND dwell > 10")
        _press(page, "Plan")
        keep("plan")
        _open(page, _PRUNED, "Sync")
        page.get_by_label("Metastore").fill(metastore_uri)
        _press(page, "Compare")
        keep("sync")


def _open(page: Page, table: str, tab: str) -> None:
    for name in ("hudi_hive", table, tab):
        with page.expect_navigation():
            page.get_by_role("link", name=name, exact=True).first.click()


def _press(page: Page, button: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=button, exact=True).click()


if __name__ == "__main__":
    sys.exit(main())
