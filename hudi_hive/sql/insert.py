"""``INSERT INTO table [(columns)] query``: parses the statement; the query is run like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import SqlError
from hudi_hive.sql.tokens import Token, tokens

_QUERIES: Final = frozenset({b"SELECT", b"WITH", b"VALUES", b"FROM", b"TABLE", b"("})
_USAGE: Final = "INSERT INTO [schema.]table [(column, …)] SELECT … or VALUES …"


@dataclass(frozen=True, slots=True)
class Insert:
    """An insert.

    Attributes:
        schema: database of the table; empty when the statement does not say.
        name: the table.
        columns: those that the query's columns go into; None for all of the table's.
        query: the statement behind them.
    """

    schema: str
    name: str
    columns: tuple[str, ...] | None
    query: str


def is_insert(sql: str) -> bool:
    """Whether a statement begins with INSERT."""
    first = _tokens(sql)[:1]
    return bool(first) and first[0].word == b"INSERT"


def parse_insert(sql: str) -> Insert:
    """Parse an insert.

    Raises:
        SqlError: it is none, or one of a kind that is not done: INSERT OVERWRITE, of a PARTITION, BY NAME …
    """
    parsed = _tokens(sql)
    words = [token.word for token in parsed]
    if words[:2] != [b"INSERT", b"INTO"]:
        what = " ".join(word.decode() for word in words[:2])
        raise SqlError(f"{what} is not supported", remedy=_USAGE)
    at = 3 if words[2:3] == [b"TABLE"] else 2
    parts = [_name(parsed, at)]
    at += 1
    while words[at : at + 1] == [b"."]:
        parts.append(_name(parsed, at + 1))
        at += 2
    if len(parts) > 2:
        raise SqlError(f"{'.'.join(parts)}: tables have names of two parts", remedy="leave the first out")
    columns = None
    if words[at : at + 1] == [b"("] and (at + 1 >= len(words) or words[at + 1] not in _QUERIES):
        columns, at = _columns(parsed, at + 1)
    if at >= len(words) or words[at] not in _QUERIES:
        text = sql.encode()[parsed[at].begin :].decode() if at < len(parsed) else ""
        raise SqlError(f"no query behind the table of the INSERT: {' '.join(text.split()[:4])}", remedy=_USAGE)
    schema = parts[0] if len(parts) == 2 else ""
    return Insert(schema, parts[-1], columns, sql.encode()[parsed[at].begin :].decode())


def _tokens(sql: str) -> list[Token]:
    try:
        return tokens(sql)
    except UnicodeError as error:
        raise SqlError(f"the statement is not Unicode text: {error}") from error


def _columns(parsed: list[Token], at: int) -> tuple[tuple[str, ...], int]:
    """Names up to the closing parenthesis, and the token behind it."""
    names = []
    while True:
        names.append(_name(parsed, at))
        word = parsed[at + 1].word if at + 1 < len(parsed) else b""
        if word == b")":
            return tuple(names), at + 2
        if word != b",":
            raise SqlError("the columns of the INSERT are no list of names", remedy=_USAGE)
        at += 2


def _name(parsed: list[Token], at: int) -> str:
    if at >= len(parsed):
        raise SqlError("the INSERT ends too early", remedy=_USAGE)
    text = parsed[at].text.decode()
    if text.startswith('"') and text.endswith('"') and len(text) > 2:
        return text[1:-1].replace('""', '"')
    if not text.isidentifier():
        raise SqlError(f"{text!r} is no name of a table or column", remedy=_USAGE)
    return text
