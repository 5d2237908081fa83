"""``CALL`` of Hudi's procedures: their declarations, what they do, and the statement as a Spark command.

In comes a parsed ``CALL``, out goes a plan whose rows are the procedure's. A procedure is declared in a module of
``show`` (those that only read) or beside it, and is listed in ``registry``.
"""

from __future__ import annotations

from hudi_hive.spark.statements.procedures.base import Parameter
from hudi_hive.spark.statements.procedures.calls import call_plan, parsable_call, parsed_call, selected_call
from hudi_hive.spark.statements.procedures.registry import columns_of, procedures

__all__ = [
    "Parameter",
    "call_plan",
    "columns_of",
    "parsable_call",
    "parsed_call",
    "procedures",
    "selected_call",
]
