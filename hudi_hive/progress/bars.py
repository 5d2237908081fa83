"""Progress bars in a terminal, by rich."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from hudi_hive.redaction import printable, redact

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

_DELAY_S: Final = 0.5
"""Work that takes less shows no bar."""


class ProgressBars:
    """Shows a bar for each step that takes a while; it goes when the step ends.

    Args:
        console: where to draw; standard error without it.
        delay_s: seconds from the begin of a step to its bar.
    """

    def __init__(self, console: Console | None = None, delay_s: float = _DELAY_S) -> None:
        self._console = console
        self._delay_s = delay_s
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._bars = 0

    def begin(self, description: str, total: int | None, unit: str) -> Bar:
        """A step begins; its bar is drawn at the first progress behind the delay."""
        return Bar(self, f"{printable(redact(description))} [{unit}]", total, time.monotonic() + self._delay_s)

    def shown(self) -> Progress:
        """The bars on the screen, one bar more of which is in use."""
        with self._lock:
            if self._progress is None:
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

                columns = (
                    TextColumn("{task.description}", markup=False),
                    BarColumn(),
                    MofNCompleteColumn(),
                    TimeRemainingColumn(),
                )
                console = self._console or Console(stderr=True)
                # What a program prints is its own: rich would send it where the bars are drawn, and break its lines.
                self._progress = Progress(
                    *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
                )
                self._progress.start()
            self._bars += 1
            return self._progress

    def release(self) -> None:
        """One bar less is in use; behind the last of them the screen is free again."""
        with self._lock:
            self._bars -= 1
            if self._bars == 0 and self._progress is not None:
                self._progress.stop()
                self._progress = None


class Bar:
    """The bar of one step; :class:`ProgressBars` makes it."""

    def __init__(self, bars: ProgressBars, description: str, total: int | None, visible_at: float) -> None:
        self._bars = bars
        self._description = description
        self._total = total
        self._visible_at = visible_at
        self._lock = threading.Lock()
        self._done = 0
        self._drawn: tuple[Progress, TaskID] | None = None
        self._is_over = False

    def advance(self, count: int = 1) -> None:
        """Draw ``count`` more items."""
        with self._lock:
            self._done += count
            if self._is_over or (self._drawn is None and time.monotonic() < self._visible_at):
                return
            if self._drawn is None:
                progress = self._bars.shown()
                self._drawn = progress, progress.add_task(self._description, total=self._total)
            progress, number = self._drawn
            progress.update(number, completed=self._done)

    def end(self) -> None:
        """Take the bar away."""
        with self._lock:
            self._is_over = True
            if self._drawn is None:
                return
            progress, number = self._drawn
            progress.remove_task(number)
            self._drawn = None
        self._bars.release()
