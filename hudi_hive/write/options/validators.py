"""Pre-commit validators: which of Hudi's classes check a write before its commit, and by which queries.

Source: Hudi's ``HoodiePreCommitValidatorConfig`` and ``SqlQueryPreCommitValidator``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import Option, locks

_PACKAGE: Final = "org.apache.hudi.client.validator."


class Validator(StrEnum):
    """A kind of validator, by the name of its class."""

    EQUALITY = "SqlQueryEqualityPreCommitValidator"
    INEQUALITY = "SqlQueryInequalityPreCommitValidator"
    SINGLE_RESULT = "SqlQuerySingleResultPreCommitValidator"


_OPTIONS: Final[dict[Validator, Option[tuple[str, ...]]]] = {
    Validator.EQUALITY: locks.EQUALITY_QUERIES,
    Validator.INEQUALITY: locks.INEQUALITY_QUERIES,
    Validator.SINGLE_RESULT: locks.SINGLE_VALUE_QUERIES,
}


@dataclass(frozen=True, slots=True)
class ValidatorQuery:
    """One query of a validator.

    Attributes:
        validator: what is made of its rows.
        sql: the query; ``<TABLE_NAME>`` stands for the table.
        value: the text of the value that it must have; None where rows before and after are compared.
    """

    validator: Validator
    sql: str
    value: str | None = None

    def on(self, name: str) -> str:
        """The query on a table or view.

        Args:
            name: of the table.
        """
        return self.sql.replace("<TABLE_NAME>", name)


@dataclass(frozen=True, slots=True)
class ValidatorSettings:
    """The validators of a write, and their queries."""

    classes: tuple[str, ...] = locks.VALIDATORS.field()
    equality: tuple[str, ...] = locks.EQUALITY_QUERIES.field()
    inequality: tuple[str, ...] = locks.INEQUALITY_QUERIES.field()
    single_result: tuple[str, ...] = locks.SINGLE_VALUE_QUERIES.field()

    def queries(self) -> tuple[ValidatorQuery, ...]:
        """The queries of all validators, in their order.

        Raises:
            InvalidOptionError: a class that there is not here, one without a query, or a query without its value.
        """
        return tuple(query for name in self.classes for query in self._queries_of(name))

    def _queries_of(self, name: str) -> Iterator[ValidatorQuery]:
        kind = name.removeprefix(_PACKAGE)
        if kind not in list(Validator):
            raise InvalidOptionError(
                f"option {locks.VALIDATORS}={name} is not supported: there is no such validator here",
                remedy=f"there are {', '.join(Validator)}, of {_PACKAGE.rstrip('.')}",
            )
        validator = Validator(kind)
        option = _OPTIONS[validator]
        texts = {
            Validator.EQUALITY: self.equality,
            Validator.INEQUALITY: self.inequality,
            Validator.SINGLE_RESULT: self.single_result,
        }[validator]
        if not texts:
            raise InvalidOptionError(f"{kind} has no queries", remedy=f"give them by {option}")
        for text in texts:
            sql, *values = text.split("#")
            if len(values) != (validator is Validator.SINGLE_RESULT):
                if validator is Validator.SINGLE_RESULT:
                    raise InvalidOptionError(f"option {option}: {text.strip()!r} is no query#value")
                sql, values = text, []
            yield ValidatorQuery(validator, sql.strip(), values[0] if values else None)
