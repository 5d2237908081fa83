"""``hudi-hive inspect`` and the timeline as a page."""
