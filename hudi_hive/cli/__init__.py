"""The command line ``hudi-hive``, which prints its results as tables, JSON or CSV.

Exit codes: 0 done, 1 an error (one line on stderr, with the remedy), 2 wrong usage.
"""

from __future__ import annotations

from hudi_hive.cli.main import cli

__all__ = ["cli"]
