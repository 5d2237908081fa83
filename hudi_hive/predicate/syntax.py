"""Nodes of the untyped tree of a row filter, before names and types are resolved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Literal, TypeAlias

LiteralValue: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | time | None

ComparisonOperator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "<=>"]


@dataclass(frozen=True, slots=True)
class Name:
    """A column name in parts; ``text`` as it was written, for messages."""

    parts: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time or on the wall clock: nanoseconds since the epoch; no zone given means UTC."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Value:
    """A literal; ``text`` as it was written."""

    value: Timestamp | LiteralValue
    text: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of a column, with literals for its other arguments; ``text`` as it was written."""

    function: str
    column: Name
    arguments: tuple[Value, ...]
    text: str


Operand: TypeAlias = Name | Value | FunctionCall


@dataclass(frozen=True, slots=True)
class Compare:
    """``left operator right``."""

    operator: ComparisonOperator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class InList:
    """``operand IN (items)``."""

    operand: Operand
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class NullTest:
    """``operand IS NULL``."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class LikeTest:
    """``operand LIKE pattern``, or ``ILIKE``; ``escape`` makes the next character of the pattern plain."""

    operand: Operand
    pattern: Value
    escape: str
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class TruthTest:
    """``operand IS TRUE``, or ``IS FALSE`` for the value false."""

    operand: Syntax
    value: bool


@dataclass(frozen=True, slots=True)
class Negation:
    """``NOT operand``."""

    operand: Syntax


@dataclass(frozen=True, slots=True)
class AllOf:
    """Operands joined by ``AND``."""

    operands: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Operands joined by ``OR``."""

    operands: tuple[Syntax, ...]


Syntax: TypeAlias = (
    Name | Value | FunctionCall | Compare | InList | NullTest | LikeTest | TruthTest | Negation | AllOf | AnyOf
)
