"""The timeline of a table as a picture over time: its data, and the picture as HTML with inline SVG."""

from __future__ import annotations

from hudi_hive.ui.timeline.timeline_data import InstantMark, TimelinePicture, collect
from hudi_hive.ui.timeline.timeline_page import moment_text, render, render_body, size_text, style_sheet

__all__ = [
    "InstantMark",
    "TimelinePicture",
    "collect",
    "moment_text",
    "render",
    "render_body",
    "size_text",
    "style_sheet",
]
