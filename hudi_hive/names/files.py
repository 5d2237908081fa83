"""What marks files that Hudi did not write, where the metadata of a table names them (``ExternalFilePathUtil``).

See ``docs/format.md#external-files``.
"""

from __future__ import annotations

from typing import Final

EXTERNAL_FILE_SUFFIX: Final = "_hudiext"
"""Ends the names of such files, in commit metadata and in the metadata table."""
