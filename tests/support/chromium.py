"""A real browser for tests of pages: Debian's Chromium without a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
NOT_THERE = "Chromium is not installed: apt-get install chromium"

_ARGUMENTS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_LIMIT_MS = 300_000
"""Against hanging alone."""


@contextmanager
def started_chromium() -> Iterator[Browser]:
    """A browser that is closed at the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS, timeout=_LIMIT_MS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened_page(browser: Browser, scheme: str = "light") -> Iterator[Page]:
    """A page in a context of its own, without cookies; ``complaints`` of the browser fail the test at the end."""
    with browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(_LIMIT_MS)
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
        yield page
        assert complaints == []
