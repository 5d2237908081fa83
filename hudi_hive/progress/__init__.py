"""How far long work has come: reads, writes, table services, syncs and pulls tell it, bars in a terminal show it.

Nothing is shown unless a display is set: the command line sets one in a terminal, a Jupyter notebook gets one by
itself, and :func:`show_progress` sets one for a script.
"""

from __future__ import annotations

from hudi_hive.progress.bars import ProgressBars
from hudi_hive.progress.steps import ProgressDisplay, ProgressStep, show_progress, tracked

__all__ = ["ProgressBars", "ProgressDisplay", "ProgressStep", "show_progress", "tracked"]
