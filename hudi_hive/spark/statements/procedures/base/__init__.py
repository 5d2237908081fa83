"""What a procedure is: its parameters, its columns, its function, and the call that the function is given."""

from __future__ import annotations

from hudi_hive.spark.statements.procedures.base.declaration import (
    FILTER,
    PATH,
    TABLE,
    TABLE_OR_PATH,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    completion_time,
    java_order,
    limited,
)

__all__ = [
    "FILTER",
    "PATH",
    "TABLE",
    "TABLE_OR_PATH",
    "Parameter",
    "Procedure",
    "ProcedureCall",
    "Rows",
    "completion_time",
    "java_order",
    "limited",
]
