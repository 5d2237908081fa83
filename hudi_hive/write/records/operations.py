"""Kinds of changes of records by key, as mutations of Hudi tables number them."""

from __future__ import annotations

from typing import Final

OPERATION: Final = "_hudi_hive_operation"
"""Column of changes that says what each of them is: :data:`INSERT`, :data:`UPDATE` or :data:`DELETE`.

Among prepared rows of an upsert: a deletion, or a row of which an update changed some columns only."""

INSERT: Final = 0
UPDATE: Final = 1
DELETE: Final = 2
