"""Declarations of procedures, and one call of one of them.

Source: Hudi's ``Procedure``, ``ProcedureParameter``, ``BaseProcedure`` and ``HoodieProcedures``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import SparkError
from hudi_hive.formats.hash import string_hashes
from hudi_hive.spark.bridge import store_options
from hudi_hive.spark.catalog import HudiTableEntry, SessionHook
from hudi_hive.spark.scan import location_of
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, Timeline
from hudi_hive.timeline.instants import millis_to_instant

Rows = Iterable[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a procedure.

    Attributes:
        name: as calls write it.
        kind: its type in SQL: ``string``, ``int``, ``bigint``, ``boolean`` or ``double``.
        required: a call must name it.
        default: its value where a call does not.
        own: real Hudi 1.0.2 does not have it here; such ones are given by name only.
    """

    name: str
    kind: str = "string"
    required: bool = False
    default: Any = None
    own: bool = False


TABLE: Final = Parameter("table", required=True)
"""The table by its name, where Hudi takes no path."""

PATH: Final = Parameter("path", own=True)
"""The table by its path, where Hudi takes the name alone."""

FILTER: Final = Parameter("filter", default="", own=True)
"""A condition on the rows, as SQL text (releases from 1.1 on have it)."""

TABLE_OR_PATH: Final = (Parameter("table"), Parameter("path"))


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure that ``CALL`` runs.

    Attributes:
        name: the last part of the name that calls use.
        columns: names and types of its rows, as a DDL text.
        run: gives the rows, as JSON values in the columns' order; None where there are none.
        parameters: in their order.
        description: one sentence for ``help`` and the documentation.
        changes: the names of tables are those of tables that may be changed: it does more than read.
    """

    name: str
    columns: str
    run: Callable[[ProcedureCall], Rows | None]
    parameters: tuple[Parameter, ...] = ()
    description: str = ""
    changes: bool = False

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """The parameters that can be given by their position: Hudi's own."""
        return tuple(one for one in self.parameters if not one.own)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of a name, whatever its case."""
        return next((one for one in self.parameters if one.name.lower() == name.lower()), None)

    def takes(self, name: str) -> bool:
        """Whether there is a parameter of this name."""
        return self.parameter(name) is not None


@dataclass(frozen=True)
class ProcedureCall:
    """One call of a procedure.

    Attributes:
        hook: of the session.
        procedure: which one.
        values: parameter -> its value of the parameter's type, only of those that the call names.
    """

    hook: SessionHook
    procedure: Procedure
    values: Mapping[str, Any] = field(default_factory=dict)

    def value(self, name: str) -> Any:  # noqa: ANN401
        """The value of a parameter, or its default."""
        parameter = self.procedure.parameter(name)
        assert parameter is not None, name
        return self.values.get(parameter.name, parameter.default)

    def text(self, name: str) -> str | None:
        """The value of a text; an empty one is none."""
        value = self.value(name)
        return None if value is None or value == "" else str(value)

    def number(self, name: str) -> int:
        """The value of a whole number.

        Raises:
            SparkError: the call gives NULL.
        """
        value = self.value(name)
        if value is None:
            raise SparkError(f"CALL {self.procedure.name}: {name} is NULL", remedy=f"give {name} a number")
        return int(value)

    def flag(self, name: str) -> bool:
        """The value of a boolean; NULL is false."""
        return bool(self.value(name))

    # -- the table -----------------------------------------------------------------------------------------------------

    @cached_property
    def entry(self) -> HudiTableEntry | None:
        """The catalog's entry of the table; None of a table by its path.

        Raises:
            SparkError: there is no such table, or it is none of Hudi's.
        """
        name = self.text("table") if self.procedure.takes("table") else None
        return None if name is None else self.entry_of(name)

    def entry_of(self, name: str) -> HudiTableEntry:
        """The catalog's entry of a table.

        Args:
            name: of the table, perhaps behind that of its database.

        Raises:
            SparkError: there is no such table, or it is none of Hudi's.
        """
        parser = self.hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
        identifier = parser.parseTableIdentifier(name)
        database = identifier.database()
        entry = self.hook.find(None if database.isEmpty() else str(database.get()), str(identifier.table()))
        if entry is None:
            raise SparkError(
                f"CALL {self.procedure.name}: there is no Hudi table {name}",
                remedy="give table => 'database.table' of a Hudi table in the catalog, or path => '…'",
            )
        return entry

    @cached_property
    def location(self) -> str:
        """The base path of the table as Hadoop writes it.

        Raises:
            SparkError: neither ``table`` nor ``path`` is given, or there is no such table.
        """
        if self.entry is not None:
            return self.entry.location
        path = self.text("path") if self.procedure.takes("path") else None
        if path is None:
            raise SparkError(
                f"CALL {self.procedure.name}: which table is not said",
                remedy="give table => 'database.table' or path => '…'",
            )
        return location_of(path)

    @cached_property
    def store_options(self) -> dict[str, Any]:
        """Options of the storage that the table is on."""
        return store_options(self.hook.session, self.location)

    @cached_property
    def client(self) -> MetaClient:
        """The table as it is when the procedure runs.

        Raises:
            TableNotFoundError: there is no table at the path.
        """
        return MetaClient.load(self.location, self.store_options)


def completion_time(timeline: Timeline, instant: Instant) -> str | None:
    """When an instant was completed; None of a pending one. Up to version 6 it is when its file was written."""
    modified = timeline.mtime_ms(instant)
    if instant.completed is not None or not instant.is_completed or modified is None:
        return instant.completed
    return millis_to_instant(modified, timeline.timezone)


def limited(call: ProcedureCall, rows: Rows) -> Rows:
    """The first rows, as many as the call's ``limit`` says; all where it is NULL or none of the parameters.

    Raises:
        SparkError: the limit is negative.
    """
    limit = call.value("limit") if call.procedure.takes("limit") else None
    if limit is not None and int(limit) < 0:
        raise SparkError(f"CALL {call.procedure.name}: limit is {limit}", remedy="give a limit of 0 or more")
    return rows if limit is None else islice(rows, int(limit))


def java_order(texts: Sequence[str], *, copied: bool = False) -> list[str]:
    """Texts in the order of a ``java.util.HashMap``, which some procedures of Hudi show and cut off by their limit.

    Args:
        texts: in the order in which they came into the map.
        copied: from another map at once; the table of such a one may be larger.
    """
    size = 16
    while len(texts) + copied > size * 3 // 4:
        size *= 2
    codes = string_hashes(pa.array(texts, pa.string())).tolist()
    places = [(code & 0xFFFFFFFF) for code in codes]
    order = sorted(range(len(texts)), key=lambda at: ((places[at] ^ (places[at] >> 16)) & (size - 1), at))
    return [texts[at] for at in order]
