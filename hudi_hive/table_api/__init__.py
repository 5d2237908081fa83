"""``HudiTable`` and ``Scan``: the Python API of the package."""

from __future__ import annotations

from hudi_hive.table_api.scan import Scan
from hudi_hive.table_api.table import HudiTable

__all__ = [
    "HudiTable",
    "Scan",
]
