"""Parses the SQL text of row filters to untyped trees.

The subset: comparisons (``= == != <> < <= > >= <=>``), ``AND OR NOT``, ``[NOT] IN (literals)``, ``[NOT] BETWEEN … AND
…``, ``IS [NOT] NULL | TRUE | FALSE``, ``[NOT] LIKE | ILIKE 'pattern' [ESCAPE 'c']``, parentheses. Literals: numbers
(``1 1L 1.5 1.5BD 1e3 1.5D``), ``'text'`` (a quote is doubled, a backslash stands for itself), ``X'00ff'``, ``TRUE FALSE
NULL``, ``DATE '…'``, ``TIMESTAMP '…'``. Names: bare, ``"quoted"`` or back-ticked, dotted for fields of structs. In the
place of a column a function of one (:mod:`hudi_hive.predicate.functions`), its other arguments literals: ``year(at)``,
``date_format(at, 'yyyy-MM')``. Key words in any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, cast

from hudi_hive.errors import PredicateError
from hudi_hive.predicate.literals import parse_date, parse_timestamp
from hudi_hive.predicate.syntax import (
    AllOf,
    AnyOf,
    Compare,
    ComparisonOperator,
    FunctionCall,
    InList,
    LikeTest,
    Name,
    Negation,
    NullTest,
    Operand,
    Syntax,
    TruthTest,
    Value,
)

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LlDdFfSsYy])?(?![\w.]))
    |(?P<hex>[xX]'[^']*')
    |(?P<string>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    |(?P<word>[^\W\d]\w*)
    |(?P<symbol><=>|<>|!=|==|<=|>=|[=<>(),.\-+])""",
    re.VERBOSE,
)

_RESERVED: Final = frozenset(
    {"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "TRUE", "FALSE", "ESCAPE", "CASE"}
    | {"WHEN", "SELECT", "FROM", "WHERE", "EXISTS"}
)

_SAME: Final = {"==": "=", "<>": "!="}

_MAX_DEPTH: Final = 200
_MAX_DIGITS: Final = 400  # a double in full has up to 309 before the point
_MAX_LENGTH: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def parse_sql(text: str) -> Syntax:
    """Parse a filter.

    Raises:
        PredicateError: with the position (1 is the first character) and what was expected there.
    """
    if len(text) > _MAX_LENGTH:
        raise PredicateError(f"row filter has {len(text):,} characters; at most {_MAX_LENGTH:,} are read")
    return _Parser(text).parse()


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            what = "unterminated quote" if text[position] in "'\"`" else f"unexpected {text[position]!r}"
            raise PredicateError(f"row filter: {what} at position {position + 1} of {_shown(text)}")
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match.group(), position))
        position = match.end()
    tokens.append(_Token("end", "", len(text)))
    return tokens


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:200] + "…")


class _Parser:
    """Recursive descent: or → and → not → test → operand."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._index = 0
        self._depth = 0

    def parse(self) -> Syntax:
        if self._token.kind == "end":
            raise PredicateError("row filter is empty", remedy="give None for no filter")
        result = self._or()
        if self._token.kind != "end":
            raise self._expected("the end of the filter, AND or OR")
        return result

    # -- tokens --------------------------------------------------------------------------------------------------

    @property
    def _token(self) -> _Token:
        return self._tokens[self._index]

    def _next(self) -> _Token:
        token = self._token
        self._index += 1
        return token

    def _is_word(self, *words: str) -> bool:
        return self._token.kind == "word" and self._token.text.upper() in words

    def _take_word(self, *words: str) -> bool:
        if self._is_word(*words):
            self._index += 1
            return True
        return False

    def _take_symbol(self, *symbols: str) -> str | None:
        if self._token.kind == "symbol" and self._token.text in symbols:
            return self._next().text
        return None

    def _need_word(self, word: str) -> None:
        if not self._take_word(word):
            raise self._expected(word)

    def _need_symbol(self, symbol: str) -> None:
        if self._take_symbol(symbol) is None:
            raise self._expected(repr(symbol))

    def _expected(self, what: str) -> PredicateError:
        token = self._token
        found = "the end" if token.kind == "end" else repr(token.text)
        return PredicateError(
            f"row filter: expected {what}, found {found} at position {token.position + 1} of {_shown(self._text)}"
        )

    # -- boolean expressions -------------------------------------------------------------------------------------

    def _or(self) -> Syntax:
        operands = [self._and()]
        while self._take_word("OR"):
            operands.append(self._and())
        return operands[0] if len(operands) == 1 else AnyOf(tuple(operands))

    def _and(self) -> Syntax:
        operands = [self._not()]
        while self._take_word("AND"):
            operands.append(self._not())
        return operands[0] if len(operands) == 1 else AllOf(tuple(operands))

    def _not(self) -> Syntax:
        self._enter()
        try:
            if self._take_word("NOT"):
                return Negation(self._not())
            return self._test()
        finally:
            self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise PredicateError(f"row filter is nested deeper than {_MAX_DEPTH} levels")

    def _test(self) -> Syntax:
        if self._take_symbol("("):
            left: Syntax = self._or()
            self._need_symbol(")")
            if not isinstance(left, (Name, Value, FunctionCall)):
                return self._truth_tests(left)
        else:
            left = self._operand()
        operator = self._take_symbol("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>")
        if operator is not None:
            return Compare(cast(ComparisonOperator, _SAME.get(operator, operator)), left, self._operand())
        negated = self._take_word("NOT")
        test = self._keyword_test(left)
        if test is None:
            if negated:
                raise self._expected("IN, BETWEEN or LIKE")
            return self._truth_tests(left)
        return Negation(test) if negated else test

    def _keyword_test(self, left: Operand) -> Syntax | None:
        if self._take_word("IN"):
            self._need_symbol("(")
            items = [self._literal()]
            while self._take_symbol(","):
                items.append(self._literal())
            self._need_symbol(")")
            return InList(left, tuple(items))
        if self._take_word("BETWEEN"):
            low = self._operand()
            self._need_word("AND")
            return AllOf((Compare(">=", left, low), Compare("<=", left, self._operand())))
        if self._is_word("LIKE", "ILIKE"):
            return self._like(left)
        if self._is_word("RLIKE"):
            raise PredicateError("row filter: RLIKE is not supported", remedy="use LIKE, or a pyarrow expression")
        return None

    def _like(self, left: Operand) -> Syntax:
        ignore_case = self._next().text.upper() == "ILIKE"
        pattern = self._literal()
        escape = "\\"
        if self._take_word("ESCAPE"):
            character = self._literal().value
            if not isinstance(character, str) or len(character) != 1:
                raise PredicateError("row filter: ESCAPE takes one character")
            escape = character
        return LikeTest(left, pattern, escape, ignore_case)

    def _truth_tests(self, left: Syntax) -> Syntax:
        while self._take_word("IS"):
            negated = self._take_word("NOT")
            test: Syntax
            if self._take_word("NULL"):
                if not isinstance(left, (Name, Value, FunctionCall)):
                    raise PredicateError("row filter: IS NULL takes a column, not a condition")
                test = NullTest(left)
            elif self._is_word("TRUE", "FALSE"):
                test = TruthTest(left, self._next().text.upper() == "TRUE")
            else:
                raise self._expected("NULL, TRUE or FALSE")
            left = Negation(test) if negated else test
        return left

    # -- operands ------------------------------------------------------------------------------------------------

    def _operand(self) -> Operand:
        token = self._token
        if self._take_symbol("("):
            self._enter()
            inner = self._operand()
            self._need_symbol(")")
            self._depth -= 1
            return inner
        if token.kind == "quoted" or (token.kind == "word" and not self._starts_literal()):
            return self._name_or_call()
        return self._literal()

    def _starts_literal(self) -> bool:
        word = self._token.text.upper()
        if word in ("TRUE", "FALSE", "NULL"):
            return True
        return word in ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ") and (
            self._tokens[self._index + 1].kind == "string"
        )

    def _name(self) -> Name:
        start = self._token.position
        parts = [self._name_part()]
        while self._take_symbol("."):
            parts.append(self._name_part())
        return Name(tuple(parts), self._since(start))

    def _since(self, start: int) -> str:
        last = self._tokens[self._index - 1]
        return self._text[start : last.position + len(last.text)]

    def _name_or_call(self) -> Name | FunctionCall:
        start = self._token.position
        name = self._name()
        if len(name.parts) > 1 or self._take_symbol("(") is None:
            return name
        column = self._name()
        arguments = []
        while self._take_symbol(","):
            arguments.append(self._literal())
        self._need_symbol(")")
        return FunctionCall(name.parts[0], column, tuple(arguments), self._since(start))

    def _name_part(self) -> str:
        token = self._token
        if token.kind == "quoted":
            quote = token.text[0]
            part = self._next().text[1:-1].replace(quote * 2, quote)
            if not part:
                raise PredicateError(f"row filter: empty name at position {token.position + 1}")
            return part
        if token.kind == "word" and token.text.upper() not in _RESERVED:
            return self._next().text
        raise self._expected("a column name")

    def _literal(self) -> Value:
        start = self._token.position
        sign = self._take_symbol("-", "+")
        token = self._token
        if token.kind == "number":
            number = _number(self._next().text)
            return Value(-number if sign == "-" else number, self._text[start : token.position + len(token.text)])
        if sign is not None:
            raise self._expected("a number")
        if token.kind == "string":
            return Value(_unquoted(self._next().text), token.text)
        if token.kind == "hex":
            return self._hex()
        if token.kind == "word":
            word = token.text.upper()
            if word in ("TRUE", "FALSE", "NULL"):
                self._index += 1
                return Value({"TRUE": True, "FALSE": False, "NULL": None}[word], token.text)
            if self._starts_literal():
                self._index += 1
                text = _unquoted(self._next().text)
                return Value(parse_date(text) if word == "DATE" else parse_timestamp(text), f"{word} '{text}'")
        raise self._expected("a literal")

    def _hex(self) -> Value:
        text = self._next().text
        try:
            return Value(bytes.fromhex(text[2:-1]), text)
        except ValueError as error:
            raise PredicateError(f"row filter: {text} is not an even number of hexadecimal digits") from error


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")


def _number(text: str) -> int | float | Decimal:
    if len(text) > _MAX_DIGITS:
        raise PredicateError(f"row filter: a number has {len(text):,} characters; at most {_MAX_DIGITS} are read")
    upper = text.upper()
    if upper.endswith("BD"):
        return Decimal(text[:-2])
    if upper[-1] in "DF":
        return float(text[:-1])
    digits = text[:-1] if upper[-1] in "LSY" else text
    if digits.isdigit():
        return int(digits)
    if digits is not text:
        raise PredicateError(f"row filter: {text!r} is not a whole number")
    return float(text) if "E" in upper else Decimal(text)
