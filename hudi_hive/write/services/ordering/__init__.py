"""The order in which clustering writes rows: by columns, or along a space-filling curve."""

from __future__ import annotations

from hudi_hive.write.services.ordering.row_order import RowOrder

__all__ = ["RowOrder"]
