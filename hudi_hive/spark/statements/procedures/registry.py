"""All procedures by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.spark.statements.procedures.act import ACTING_PROCEDURES
from hudi_hive.spark.statements.procedures.base import Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.spark.statements.procedures.show import SHOW_PROCEDURES

_COLUMN: Final = re.compile(r"(?:`([^`]*)`|(\w+)) (\w+)")


@cache
def procedures() -> Mapping[str, Procedure]:
    """Name -> procedure, sorted by name."""
    every = (HELP, *ACTING_PROCEDURES, *SHOW_PROCEDURES)
    return MappingProxyType({one.name: one for one in sorted(every, key=lambda one: one.name)})


def _help(call: ProcedureCall) -> Rows:
    """All procedures, or what one of them takes and gives, as the one text that Hudi makes of it."""
    name = call.value("cmd")
    if name is None:
        lines = ["synopsis", "\tcall [command]([key1]=>[value1],[key2]=>[value2])", "commands and description"]
        lines += [f"\t{one.name}\t{one.description}" for one in procedures().values()]
        lines.append("You can use 'call help(cmd=>[command])' to view the detailed parameters of the command")
        return [["".join(f"{line}\n" for line in lines)]]
    procedure = find_procedure(str(name).strip())
    types = {"int": "integer", "bigint": "long"}
    parameters = [
        (one.name, types.get(one.kind, one.kind), _shown(one.default), _shown(one.required))
        for one in procedure.positional
    ]
    columns = [(name, types.get(kind, kind), "true", "{}") for name, kind in columns_of(procedure)]
    lines = ["parameters:", *_table(("param", "type_name", "default_value", "required"), parameters)]
    lines += ["outputType:", *_table(("name", "type_name", "nullable", "metadata"), columns)]
    return [["".join(f"{line}\n" for line in lines)]]


def find_procedure(name: str) -> Procedure:
    """The procedure of a name, whatever its case.

    Raises:
        SparkError: there is none.
    """
    procedure = procedures().get(name.lower())
    if procedure is None:
        near = get_close_matches(name.lower(), procedures(), 3)
        hint = f"{', '.join(near)}, or see" if near else "see"
        raise SparkError(f"there is no procedure {name!r}", remedy=f"{hint} CALL help() for all procedures")
    return procedure


def columns_of(procedure: Procedure) -> list[tuple[str, str]]:
    """Names and types of a procedure's columns."""
    return [(name or quoted, kind) for quoted, name, kind in _COLUMN.findall(procedure.columns)]


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return ["".join(f"\t{cell:<30}" for cell in row) for row in (header, *rows)]


def _shown(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


HELP = Procedure(
    "help",
    "result string",
    _help,
    (Parameter("cmd"),),
    "Lists all procedures, or the parameters and columns of one.",
)
