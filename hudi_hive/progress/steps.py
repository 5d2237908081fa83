"""Steps of work that tell how far they have come, and the display that is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from hudi_hive.progress.notebook import notebook_bars


class ProgressStep(Protocol):
    """One step of work under way; called from any thread."""

    def advance(self, count: int = 1) -> None:
        """Say that ``count`` more items are done."""

    def end(self) -> None:
        """Say that the step is over, done or not."""


class ProgressDisplay(Protocol):
    """Shows steps of work to somebody."""

    def begin(self, description: str, total: int | None, unit: str) -> ProgressStep:
        """A step begins.

        Args:
            description: what is done, as ``reading trips``.
            total: how many items there are; None where nobody knows.
            unit: what is counted: ``files``, ``partitions`` …
        """


class _NoStep:
    """Tells nobody."""

    def advance(self, count: int = 1) -> None:
        """Count nothing."""

    def end(self) -> None:
        """Nothing was shown."""


_NO_STEP: Final = _NoStep()
_display: ProgressDisplay | None = None


@contextmanager
def tracked(description: str, total: int | None, unit: str = "files") -> Iterator[ProgressStep]:
    """A step of work, which the display of this process shows while the block runs.

    Args:
        description: what is done.
        total: how many items there are; a step of fewer than two is not shown.
        unit: what is counted.
    """
    display = _display if _display is not None else notebook_bars()
    if display is None or (total is not None and total < 2):
        yield _NO_STEP
        return
    step = display.begin(description, total, unit)
    try:
        yield step
    finally:
        step.end()


@contextmanager
def show_progress(display: ProgressDisplay | None = None) -> Iterator[None]:
    """Show the progress of all work of this process while the block runs.

    Args:
        display: where; bars on standard error without it, in a notebook below the cell.

    Example:
        >>> from hudi_hive.progress import show_progress
        >>> with show_progress():
        ...     rows = table.scan().to_arrow()
    """
    global _display
    if display is None:
        from hudi_hive.progress.bars import ProgressBars

        display = notebook_bars() or ProgressBars()
    before, _display = _display, display
    try:
        yield
    finally:
        _display = before
