"""Writes to a table of ``FirstValueAvroPayload`` whose ordering values tie, and what real Hudi shows behind them."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

PAYLOAD: Final = "org.apache.hudi.common.model.FirstValueAvroPayload"
COLUMNS: Final = ("id", "name", "ts")
DDL: Final = "id int, name string, ts int, _hoodie_is_deleted boolean"
SCHEMA: Final = pa.schema(
    [("id", pa.int32()), ("name", pa.string()), ("ts", pa.int32()), ("_hoodie_is_deleted", pa.bool_())]
)


def _rows(*rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(SCHEMA.names, (*row, False)[:4], strict=True)) for row in rows]


WRITES: Final = (
    _rows(*((number, "a", 5) for number in range(1, 10))),
    _rows((1, "b", 5), (2, "b", 6), (3, "b", 4), (4, "b", 5, True), (5, "b", 6, True), (6, "b", 4, True)),
    _rows(
        (1, "c", 5), (2, "c", 6), (3, "c", 5), (4, "c", 5), (5, "c", 6), (6, "c", 4), (10, "c", 1), (7, "c", 6, True)
    ),
    _rows((2, "d", 6, True), (10, "d", 1), (10, "d", 2), (7, "d", 6), (8, "d", 5)),
    _rows((8, "e", 7), (9, "e", 5, True), (5, "e", 7)),
)
"""Upserts; the fourth value of a row is ``_hoodie_is_deleted``."""

_COPY: Final = ("1a5 2b6 3a5 4a5 6a5 7a5 8a5 9a5", "1a5 2b6 3a5 4a5 5e7 6a5 7d6 8e7 9a5 10d2")
_LOGS: Final = "1a5 3a5 4a5 5e7 6a5 7d6 8e7 10d2"
SHOWN: Final = {
    (6, "COPY_ON_WRITE"): _COPY,
    (8, "COPY_ON_WRITE"): _COPY,
    (6, "MERGE_ON_READ"): ("1a5 2b6 3a5 7a5 8a5 9a5", _LOGS),
    (8, "MERGE_ON_READ"): ("1a5 2b6 3a5 6a5 7a5 8a5 9a5", _LOGS),
}
"""Table version, type -> rows behind the second write and behind the last, as Hudi 0.15.0 and 1.0.2 read them."""


def text(rows: list[dict[str, Any]]) -> str:
    """Rows as :data:`SHOWN` has them."""
    return " ".join(f"{row['id']}{row['name']}{row['ts']}" for row in sorted(rows, key=lambda one: one["id"]))
