"""Makes bootstrapped tables of folders of Parquet files: skeletons beside a bootstrap index, or whole base files.

Source: docs/format.md#bootstrapped-tables.
"""

from __future__ import annotations

from hudi_hive.write.bootstrap.run import BootstrapReport, bootstrap

__all__ = ["BootstrapReport", "bootstrap"]
