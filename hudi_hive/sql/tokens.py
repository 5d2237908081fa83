"""Rewrites the text of statements by DuckDB's tokens: what Hive, Spark and Trino write, and DuckDB's grammar lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import SqlError

_MOMENTS: Final = {
    b"TIMESTAMP": b"TIMESTAMP",
    b"SYSTEM_TIME": b"TIMESTAMP",
    b"VERSION": b"VERSION",
    b"SYSTEM_VERSION": b"VERSION",
}
_TYPES: Final = frozenset({b"TIMESTAMP", b"DATE"})


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a statement.

    Attributes:
        begin, end: bytes of the statement's UTF-8 text; spaces and comments behind the token belong to none.
        text: the bytes.
        is_identifier: whether it is a name, and no keyword.
    """

    begin: int
    end: int
    text: bytes
    is_identifier: bool

    @property
    def word(self) -> bytes:
        """The text in upper case."""
        return self.text.upper()

    @property
    def is_literal(self) -> bool:
        """Whether it is a text or a number."""
        return self.text[:1] == b"'" or self.text[:1].isdigit()


def tokens(sql: str) -> list[Token]:
    """The tokens of a statement without its comments."""
    import duckdb

    data = sql.encode()
    starts = duckdb.tokenize(sql)  # counts bytes
    ends = [*(begin for begin, _ in starts[1:]), len(data)]
    parts = []
    for (begin, kind), end in zip(starts, ends, strict=False):  # of no token there is an end, too
        if kind != duckdb.token_type.comment:
            text = data[begin:end].rstrip()
            parts.append(Token(begin, begin + len(text), text, kind == duckdb.token_type.identifier))
    return parts


def to_duckdb(sql: str) -> str:
    """The statement in DuckDB's grammar: schemas called ``default``, and time travel as Spark and Trino write it.

    ``t FOR TIMESTAMP AS OF '…'`` (``VERSION``, ``SYSTEM_TIME``, ``SYSTEM_VERSION``; Spark may leave FOR out) becomes
    ``t AT (TIMESTAMP => '…')``.

    Raises:
        SqlError: the moment is no text or number.
    """
    return _replaced(sql, [*_quoted_defaults(sql), *_moments(tokens(sql))])


def _replaced(sql: str, changes: list[tuple[int, int, bytes]]) -> str:
    data, result, end = sql.encode(), [], 0
    for begin, after, text in sorted(changes):
        result += [data[end:begin], text]
        end = after
    return b"".join([*result, data[end:]]).decode()


def _moments(parts: list[Token]) -> Iterator[tuple[int, int, bytes]]:
    words = [token.word for token in parts]
    for index, word in enumerate(words):
        if word not in _MOMENTS or words[index + 1 : index + 3] != [b"AS", b"OF"]:
            continue
        spelled = index > 0 and words[index - 1] == b"FOR"
        value = index + 3
        if words[value : value + 1] and words[value] in _TYPES:
            value += 1
        if value >= len(parts) or not parts[value].is_literal:
            if not spelled:
                continue  # an expression under the name ``of``
            raise SqlError(
                f"{word.decode()} AS OF takes a text or a number, not an expression",
                remedy="FOR TIMESTAMP AS OF '2024-05-01 12:00', FOR VERSION AS OF 20240501120000000",
            )
        begin, literal = parts[index - 1 if spelled else index].begin, parts[value]
        after = _after_alias(parts, value + 1)
        yield begin, literal.end, b""
        # DuckDB has the alias first. At one place, what is put in behind what is taken out comes later.
        yield parts[after - 1].end, parts[after - 1].end, b" AT (" + _MOMENTS[word] + b" => " + literal.text + b")"


def _after_alias(parts: list[Token], at: int) -> int:
    """The token behind an alias, which may have names of columns."""
    alias = at + 1 if at < len(parts) and parts[at].word == b"AS" else at
    if alias >= len(parts) or not parts[alias].is_identifier:
        return at
    after = alias + 1
    if after < len(parts) and parts[after].text == b"(":
        close = next((number for number in range(after, len(parts)) if parts[number].text == b")"), None)
        after = after if close is None else close + 1
    return after


def _quoted_defaults(sql: str) -> Iterator[tuple[int, int, bytes]]:
    """``default.t``, as Hive and Spark write it: DEFAULT is a word of its own in DuckDB's grammar."""
    data = sql.encode()
    for token in tokens(sql):
        begin = token.begin
        after = data[begin + 7 :]
        if data[begin : begin + 7].lower() != b"default" or re.match(rb"[\w\x80-\xff]", after):
            continue
        before = re.split(rb"\W+", data[:begin].rstrip())[-1].lower()
        if re.match(rb"\s*\.", after) or before in (b"from", b"in"):
            yield begin, begin + 7, b'"default"'
