"""Declares options: their names and values, which faces accept them, and what becomes of them there.

An option is declared once. A face that accepts it honours it (it changes a result), or takes it as harmless for a
reason that is written down, or refuses it by name with a remedy, but for values that say what is done anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Generic, TypeVar, overload

from hudi_hive.errors import InvalidOptionError, MissingSecretError
from hudi_hive.options.parsers import Parser
from hudi_hive.secret_references import is_reference, secret_behind

T = TypeVar("T")
_D = TypeVar("_D")
_UNSET: Final[Any] = object()

TABLE: Final = "<table>"
"""Stands for a table's name in the name of an option, as ``hoodie.<table>.consume.mode``."""

OLDEST_TABLE_VERSION: Final = 6
"""The oldest table version that is written; Hudi 0.14 and 0.15 write it."""

_FREE_PART: Final = re.compile(r"<[a-z]+>")


class Face(StrEnum):
    """Who accepts options."""

    WRITE = "write"
    READ = "read"
    STREAM = "stream"
    SINK = "stream sink"
    SYNC = "sync"
    INPUT_FORMAT = "input format"
    LOCK = "lock"
    METASTORE = "metastore"
    STORAGE = "storage"


class Outcome(StrEnum):
    """What becomes of an option at a face that accepts it."""

    HONOURED = "honoured"
    HARMLESS = "harmless"
    REFUSED = "refused"


@dataclass(frozen=True)
class Refused:
    """Why an option that is declared is not supported.

    Attributes:
        remedy: what to do in place of it.
        but_for: values, in small letters, that say what is done anyway; they are accepted.
    """

    remedy: str
    but_for: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Option(Generic[T]):
    """One option.

    Attributes:
        name: the name that messages and documents use; ``<table>`` in it stands for a table's name.
        parser: how its text is read.
        default: the value without it.
        summary: what it does, in one line.
        honoured_by: faces where it changes a result.
        harmless: faces that accept it though it changes nothing, and the reason why that is right.
        refused: faces that refuse it by name.
        aliases: its other names in Hudi's releases.
        since: the table version from which it means something in Hudi.
    """

    name: str
    parser: Parser[T]
    default: T
    summary: str
    honoured_by: tuple[Face, ...] = ()
    harmless: Mapping[Face, str] = field(default_factory=dict)
    refused: Mapping[Face, Refused] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    since: int = OLDEST_TABLE_VERSION

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the one of messages first."""
        return (self.name, *self.aliases)

    @property
    def faces(self) -> tuple[Face, ...]:
        """Faces that accept the option, or refuse it by name."""
        return (*self.honoured_by, *self.harmless, *self.refused)

    def outcome(self, face: Face) -> Outcome:
        """What becomes of the option at a face that it is declared for."""
        if face in self.honoured_by:
            return Outcome.HONOURED
        return Outcome.HARMLESS if face in self.harmless else Outcome.REFUSED

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """The pattern of an option's names where one part of them is free; the group is that part."""
        match = _FREE_PART.search(self.name)
        if match is None:
            return None
        return re.compile(
            f"{re.escape(self.name[: match.start()])}(.+){re.escape(self.name[match.end() :])}", re.DOTALL
        )

    @property
    def is_of_tables(self) -> bool:
        """Whether each table has an option of its own of this kind."""
        return TABLE in self.name

    def matches(self, name: str) -> bool:
        """Whether a name is one that the option's pattern describes."""
        return self.pattern is not None and self.pattern.fullmatch(name) is not None

    def answers_to(self, name: str) -> bool:
        """Whether a name is one of the option's."""
        return name in self.names or self.matches(name)

    def table_of(self, name: str) -> str | None:
        """The table whose option a name is; None for a name that is none of the option's."""
        match = None if self.pattern is None else self.pattern.fullmatch(name)
        return None if match is None else match.group(1)

    def of_table(self, table: str) -> str:
        """The name of the option for one table."""
        return self.name.replace(TABLE, table)

    # -- values ------------------------------------------------------------------------------------------------------

    def parse(self, text: str, name: str | None = None) -> T:
        """The value of a text.

        Raises:
            InvalidOptionError: the text does not fit.
        """
        return self.parser(name or self.name, text)

    def present_in(self, options: Mapping[str, str]) -> list[str]:
        """The names under which some options have this one."""
        return [name for name in self.names if name in options]

    @overload
    def of(self, options: Mapping[str, str], *, table: str | None = ...) -> T: ...
    @overload
    def of(self, options: Mapping[str, str], default: _D, *, table: str | None = ...) -> T | _D: ...
    def of(self, options: Mapping[str, str], default: Any = _UNSET, *, table: str | None = None) -> Any:
        """The option's value among others.

        Args:
            options: names and texts.
            default: the value without it, in place of the option's own.
            table: the table's name, for an option of one table.

        Raises:
            InvalidOptionError: the text does not fit, or two names of the option have different values.
            MissingSecretError: it came without its secret from another process.
        """
        names = self.present_in(options) if table is None else [n for n in (self.of_table(table),) if n in options]
        values = [self.parse(_text_behind(name, options[name]), name) for name in names]
        if any(value != values[0] for value in values):
            raise InvalidOptionError(
                f"options {' and '.join(names)} mean the same and have different values", remedy="give one of them"
            )
        if values:
            return values[0]
        return self.default if default is _UNSET else default

    def check(self, face: Face, name: str, text: str) -> None:
        """Read the text for its errors, and refuse it where the face does not support it.

        Args:
            face: the face that is asked.
            name: the option as the user gave it.
            text: its text.

        Raises:
            InvalidOptionError: the option is not supported, or its text does not fit.
        """
        refused = self.refused.get(face)
        if refused is None:
            self.parse(text, name)
        elif text.strip().lower() not in refused.but_for:
            raise InvalidOptionError(f"option {name}={text.strip()} is not supported", remedy=refused.remedy)

    # -- fields of settings ------------------------------------------------------------------------------------------

    @overload
    def field(self, *, repr: bool = ..., stand_ins: tuple[str, ...] = ...) -> T: ...
    @overload
    def field(self, default: _D, *, repr: bool = ..., stand_ins: tuple[str, ...] = ...) -> T | _D: ...
    def field(self, default: Any = _UNSET, *, repr: bool = True, stand_ins: tuple[str, ...] = ()) -> Any:
        """A dataclass field that the option sets; see :func:`hudi_hive.options.registry.fill`.

        Args:
            default: the value without it, in place of the option's own.
            repr: whether the field is shown in the dataclass's text; not for secrets.
            stand_ins: other names whose text counts where none of its own is given, the first one given first.
        """
        return field(
            default=self.default if default is _UNSET else default,
            repr=repr,
            metadata={"option": self, "stand_ins": stand_ins},
        )

    def required_field(self) -> Any:  # noqa: ANN401 - as dataclasses.field
        """A dataclass field without a default that the option sets."""
        return field(metadata={"option": self, "stand_ins": ()})


def _text_behind(name: str, text: str) -> str:
    """The text of an option that may come from a pickle, which has references in place of secrets."""
    if not is_reference(text):
        return text
    secret = secret_behind(text)
    if is_reference(secret):
        raise MissingSecretError(
            f"pickles have no secrets, and this process has none for {name}", remedy=f"give {name}"
        )
    return str(secret)
