"""One commit of a writer, from the requested instant to the completed one; and the first commit of a new table."""

from __future__ import annotations

from hudi_hive.write.commit.new_table import discarded_on_failure, in_place_of
from hudi_hive.write.commit.transaction import Transaction, metadata_changes

__all__ = [
    "Transaction",
    "discarded_on_failure",
    "in_place_of",
    "metadata_changes",
]
