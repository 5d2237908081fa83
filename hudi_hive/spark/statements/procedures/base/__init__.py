"""What a procedure is: its parameters, its columns, its function, and the call that the function is given."""

from __future__ import annotations

from hudi_hive.spark.statements.procedures.base.declaration import (
    PATH,
    TABLE,
    TABLE_OR_PATH,
    Call,
    Parameter,
    Procedure,
    Rows,
    limited,
)

__all__ = [
    "PATH",
    "TABLE",
    "TABLE_OR_PATH",
    "Call",
    "Parameter",
    "Procedure",
    "Rows",
    "limited",
]
