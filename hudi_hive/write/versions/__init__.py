"""Upgrades and downgrades of a table's version: properties, layout of the timeline, archive.

In come a table, options and a version, out comes what was done. A death at any call leaves a table that readers read,
and that the same call brings to the version asked for.

Source: docs/format.md#changes-of-the-table-version.
"""

from __future__ import annotations

from hudi_hive.write.versions.change import VersionChange, change_version, upgrade_for_write

__all__ = ["VersionChange", "change_version", "upgrade_for_write"]
