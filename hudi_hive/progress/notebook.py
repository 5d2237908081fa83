"""Progress bars in a Jupyter notebook, by its own display: rich draws none there without further packages."""

from __future__ import annotations

import logging
import sys
import threading
import time
from html import escape
from typing import Any, Final
from uuid import uuid4

from hudi_hive.redaction import printable, redact

_LOG = logging.getLogger(__name__)
_DELAY_S: Final = 0.5
"""Work that takes less shows no bar."""
_EVERY_S: Final = 0.2
"""Seconds between two drawings of a bar, each of which is a message to the browser."""


def notebook_bars() -> NotebookBars | None:
    """Bars of the notebook whose kernel this process is; None in all other processes."""
    find: Any = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if find is None else find()
    return NotebookBars(shell) if hasattr(shell, "kernel") else None


class NotebookBars:
    """Shows a bar below the running cell for each step that takes a while; it goes when the step ends.

    Args:
        shell: IPython's shell of the kernel.
        delay_s: seconds from the begin of a step to its bar.
    """

    def __init__(self, shell: Any, delay_s: float = _DELAY_S) -> None:  # noqa: ANN401 - a class of IPython
        self._shell = shell
        self._delay_s = delay_s

    def begin(self, description: str, total: int | None, unit: str) -> NotebookBar:
        """A step begins; its bar is drawn at the first progress behind the delay."""
        text = f"{printable(redact(description))} [{unit}]"
        return NotebookBar(self._shell.display_pub, text, total, time.monotonic() + self._delay_s)


class NotebookBar:
    """The bar of one step; :class:`NotebookBars` makes it."""

    def __init__(self, publisher: Any, description: str, total: int | None, visible_at: float) -> None:  # noqa: ANN401
        self._publisher = publisher
        self._description = description
        self._total = total
        self._next = visible_at
        self._lock = threading.Lock()
        self._done = 0
        self._id = f"hudi-hive-{uuid4().hex}"
        self._is_drawn = False
        self._is_over = False

    def advance(self, count: int = 1) -> None:
        """Draw ``count`` more items."""
        with self._lock:
            self._done += count
            now = time.monotonic()
            if not self._is_over and now >= self._next:
                self._next = now + _EVERY_S
                self._draw(self._html())

    def end(self) -> None:
        """Take the bar away."""
        with self._lock:
            self._is_over = True
            if self._is_drawn:
                self._draw("")

    def _html(self) -> str:
        size = "" if self._total is None else f' value="{self._done}" max="{self._total}"'
        count = f"{self._done:,}" if self._total is None else f"{self._done:,}/{self._total:,}"
        return f"<label>{escape(self._description)} <progress{size}></progress> {count}</label>"

    def _draw(self, html: str) -> None:
        data = {"text/html": html, "text/plain": ""}
        try:
            self._publisher.publish(data=data, metadata={}, transient={"display_id": self._id}, update=self._is_drawn)
        except Exception:  # of the kernel, or of what takes messages in its place: the work goes on without a bar
            _LOG.debug("progress cannot be shown", exc_info=True)
            self._is_over, self._is_drawn = True, False
        else:
            self._is_drawn = True
