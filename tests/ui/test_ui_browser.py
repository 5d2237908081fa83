"""The pages of ``hudi-hive ui`` in a real browser: all are reached by clicks and by keys, and can be read by everybody.

Pictures of the pages are kept in the folder that ``HUDI_HIVE_TEST_PICTURES`` names.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from hudi_hive.testing import FakeMetastore
from hudi_hive.ui import UiServer, UiSettings
from tests.support.chromium import CHROMIUM, NOT_THERE, opened_page, started_chromium
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import long_case

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NOT_THERE)

TABS = ("Overview", "Timeline", "Partitions", "Schema", "Query", "Plan", "Sync", "Services", "Metadata table")
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    for name in ("v8_cow_part_mdt", "v9_mor_event_time", "v8_cow_schema_evo"):
        unzip_fixture(name, folder / name)
    with UiServer(UiSettings(paths=(str(folder),))) as started:
        yield started


@pytest.fixture(scope="module")
def browser():
    with started_chromium() as started:
        yield started


@pytest.mark.parametrize("scheme", [long_case("light"), "dark"])
def test_all_pages_are_reached_by_clicks_and_have_no_serious_fault(server, browser, tmp_path, scheme):
    pictures = Path(os.environ.get("HUDI_HIVE_TEST_PICTURES") or tmp_path)
    with opened_page(browser, scheme) as page:

        def look(name: str) -> None:
            page.screenshot(path=pictures / f"ui-{scheme}-{name.lower().replace(' ', '-')}.png")
            faults = [fault for fault in Axe().run(page).response["violations"] if fault["impact"] in SERIOUS]
            assert faults == [], name

        def follow(role: str, name: str) -> None:
            with page.expect_navigation():
                page.get_by_role(role, name=name, exact=True).click()

        page.goto(server.url)
        assert "token" not in page.url
        look("Tables")
        follow("link", "v8_cow_part_mdt")
        for tab in TABS:
            follow("link", tab)
            assert page.locator("nav [aria-current]").inner_text() == tab
            look(tab)
        follow("button", "Compare with a listing of all files")
        assert "agree" in page.get_by_role("status").inner_text()
        follow("link", "Partitions")
        with page.expect_navigation():
            page.get_by_role("region", name="Partitions").get_by_role("link").first.click()
        page.get_by_role("region", name="File groups").wait_for()
        look("Files")
        follow("link", "Query")
        page.get_by_label("SQL").fill("SELECT count(*) AS counted FROM v8_cow_part_mdt")
        follow("button", "Run")
        page.get_by_role("columnheader", name="counted").wait_for()
        look("Rows")
        page.get_by_label("SQL").fill("SELECT count(*) FROM v8_cow_part_mdt WHERE city = 'oslo'")
        follow("button", "Explain")
        page.get_by_role("heading", name="Plan of DuckDB").wait_for()
        page.get_by_role("heading", name="What was left out of default.v8_cow_part_mdt by what").wait_for()
        look("Explain")
        page.get_by_label("SQL").fill("SELECT nothing")
        follow("button", "Run")
        assert "nothing" in page.get_by_role("alert").inner_text()
        look("Error")
        with FakeMetastore() as metastore:
            follow("link", "Sync")
            page.get_by_label("Metastore").fill(metastore.uri)
            follow("button", "Compare")
            page.get_by_role("cell", name="create table").first.wait_for()
            look("Sync steps")


def test_keys_alone_lead_to_the_rows_of_a_statement(server, browser):
    with opened_page(browser) as page:
        page.goto(server.url)
        page.keyboard.press("Tab")
        assert page.locator(":focus").inner_text() == "Skip to the content"
        page.keyboard.press("Enter")
        press_until_focused(page, "link", "v9_mor_event_time")
        page.keyboard.press("Enter")
        page.wait_for_url("**/tables/*")
        press_until_focused(page, "link", "Query")
        page.keyboard.press("Enter")
        page.wait_for_url("**/query")
        press_until_focused(page, "button", "Run")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="10 rows").wait_for()


def press_until_focused(page, role: str, name: str) -> None:
    """Press the tab key until an element has the focus."""
    target = page.get_by_role(role, name=name, exact=True)
    for _ in range(100):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{role} {name} is never reached")
