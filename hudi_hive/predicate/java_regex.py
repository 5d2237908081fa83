r"""Regular expressions of ``java.util.regex`` as RE2 has them, where both certainly match the same: in linear time.

Taken are characters and their escapes, ``.``, classes without nesting, ``\d`` ``\w`` ``\s`` and their negations,
``^`` and ``$``, groups, alternatives, and greedy and lazy quantifiers. Left out are flags, look-arounds, references,
word boundaries, possessive quantifiers, what repeats a group that may match nothing, and ``$`` before anything else.

Before the line terminator that ends a text ``$`` matches, too, which RE2 has not: so each place where it may match is
marked by a character that the texts do not have, which is taken out of the results.

Source: the documentation of ``java.util.regex.Pattern`` and ``Matcher.appendReplacement``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PredicateError

_Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LAST: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)
_MARK: Final = chr(_LAST)
_TERMINATORS: Final[_Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
_TERMINATED: Final = r"(\r\n|[\n\r\x{85}\x{2028}\x{2029}])\z"
_DIGITS: Final[_Ranges] = ((0x30, 0x39),)
_WORD: Final[_Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACES: Final[_Ranges] = ((0x09, 0x0D), (0x20, 0x20))
_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{([0-9]{1,4})(?:(,)([0-9]{1,4})?)?\})\??")
_REPLACEMENT: Final = re.compile(r"(?s:\\(?P<escaped>.)|\$(?P<digits>[0-9]+)|(?P<text>[^\\$]+))")
_HEXADECIMAL: Final = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")
_MOST_CHARACTERS: Final = 1000
_MOST_ATOMS: Final = 1000
_DEEPEST: Final = 50
_MOST_REFERENCES: Final = 9


def extracts(pattern: str, group: int) -> bool:
    """Whether :func:`extract` takes a pattern and the number of a group."""
    return _regex(pattern, (group,)) is not None


def extract(texts: pa.Array, pattern: str, group: int) -> pa.Array:
    """What a group of the first match in each text holds; empty without a match, or where the group has no part in it.

    Args:
        texts: an array of strings.
        pattern: of ``java.util.regex``; see :func:`extracts`.
        group: the group's number; 0 is the whole match.
    """
    regex = _regex(pattern, (group,))
    assert regex is not None

    def run(marked: pa.Array, expression: str) -> pa.Array:
        groups = pc.extract_regex(marked, expression)
        return pc.if_else(pc.is_valid(marked), pc.coalesce(groups.field("g0"), ""), pa.scalar(None, pa.string()))

    return regex.run(texts, run)


def replaces(pattern: str, replacement: str) -> bool:
    """Whether :func:`replace_all` takes a pattern and a replacement."""
    return _replacing(pattern, replacement) is not None


def replace_all(texts: pa.Array, pattern: str, replacement: str) -> pa.Array:
    """Replace each match in each text.

    Args:
        texts: an array of strings.
        pattern: of ``java.util.regex``.
        replacement: of ``Matcher.appendReplacement``; see :func:`replaces`.
    """
    replacing = _replacing(pattern, replacement)
    assert replacing is not None
    rewrite = replacing.rewrite
    return replacing.regex.run(texts, lambda marked, each: pc.replace_substring_regex(marked, each, rewrite))


# -- expressions of RE2 ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Regex:
    """A pattern whose ``groups`` count: in RE2 the first of them is called ``g0``, and so on."""

    pattern: str
    groups: tuple[int, ...]

    def expression(self, mark: str) -> str:
        """The pattern for texts that have marks where ``$`` may match, or for any without ``$`` in it."""
        expression = _Translator(self.pattern, self.groups, ord(mark)).outline().expression
        return f"(?P<g{self.groups.index(0)}>{expression})" if 0 in self.groups else expression

    def run(self, texts: pa.Array, step: Callable[[pa.Array, str], pa.Array]) -> pa.Array:
        if "$" not in self.pattern:
            return step(texts, self.expression(_MARK))
        mark = _mark_beside(texts)
        marked = pc.replace_substring_regex(texts, _TERMINATED, mark + r"\1")
        marked = pc.binary_join_element_wise(marked, mark, "")
        return _taken_out(step(marked, self.expression(mark)), mark)


@dataclass(frozen=True, slots=True)
class _Replacing:
    """A pattern, and what replaces it as RE2 has it."""

    regex: _Regex
    rewrite: str


def _taken_out(texts: pa.Array, mark: str) -> pa.Array:
    return pc.replace_substring_regex(texts, _character(ord(mark)), "")


def _mark_beside(texts: pa.Array) -> str:
    """A character that no text has."""
    if not pc.any(pc.match_substring(texts, _MARK), min_count=0).as_py():
        return _MARK
    characters = {character for text in pc.unique(texts).drop_null().to_pylist() for character in text}
    for number in range(_LAST, 0xFFFF, -1):
        if chr(number) not in characters:
            return chr(number)
    raise PredicateError("texts with every character there is cannot be matched", remedy="leave the function out")


@lru_cache(maxsize=256)
def _outline(pattern: str) -> _Outline | None:
    try:
        return _Translator(pattern, (), _LAST).outline()
    except _NotCertainError:
        return None


@lru_cache(maxsize=256)
def _regex(pattern: str, groups: tuple[int, ...]) -> _Regex | None:
    """A pattern and groups of it; None if it is not certain to mean the same here."""
    outline = _outline(pattern)
    if outline is None or not all(0 <= group <= outline.groups for group in groups):
        return None
    regex = _Regex(pattern, groups)
    try:
        regex.run(pa.array([""]), lambda marked, expression: pc.replace_substring_regex(marked, expression, ""))
    except (_NotCertainError, pa.ArrowInvalid):  # a group that counts is repeated, or it is too large for RE2
        return None
    return regex


@lru_cache(maxsize=256)
def _replacing(pattern: str, replacement: str) -> _Replacing | None:
    """A pattern and its replacement; None if they are not certain to mean the same here.

    Behind a match Java looks for an empty one where RE2 does not, which nobody sees if it is replaced by nothing; but
    a mark that one match took is not there for the next one, so a pattern with ``$`` must not match nothing.
    """
    outline = _outline(pattern)
    parts = None if outline is None else _replacement_parts(replacement, outline.groups)
    if outline is None or parts is None or (outline.may_be_empty and (replacement or "$" in pattern)):
        return None
    groups = tuple(sorted({part for part in parts if isinstance(part, int) and part}))
    regex = _regex(pattern, groups) if len(groups) <= _MOST_REFERENCES else None
    if regex is None:
        return None
    texts = (
        part.replace("\\", r"\\") if isinstance(part, str) else rf"\{groups.index(part) + 1 if part else 0}"
        for part in parts
    )
    return _Replacing(regex, "".join(texts))


def _replacement_parts(replacement: str, groups: int) -> list[str | int] | None:
    """Texts and numbers of groups; None for one that Java refuses, or that names groups."""
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        match = _REPLACEMENT.match(replacement, at)
        if match is None:
            return None
        at = match.end()
        if match["digits"] is None:
            parts.append(match["text"] or match["escaped"])
            continue
        number, digits = int(match["digits"][0]), match["digits"][1:]
        # More digits belong to it as long as there is such a group.
        while digits and number * 10 + int(digits[0]) <= groups:
            number, digits = number * 10 + int(digits[0]), digits[1:]
        if number > groups:
            return None
        parts += [number, digits]
    return parts


# -- the language ------------------------------------------------------------------------------------------------------


class _NotCertainError(Exception):
    """The pattern has something that may not mean the same here."""


@dataclass(frozen=True, slots=True)
class _Outline:
    """A whole pattern."""

    expression: str
    groups: int
    may_be_empty: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern.

    Attributes:
        text: in RE2.
        atoms: how many there are with all repetitions.
        may_be_empty: whether it may match nothing.
        captures: it has a group whose contents count.
        ends: it has ``$``.
        repeats: it may be repeated.
    """

    text: str
    atoms: int
    may_be_empty: bool = False
    captures: bool = False
    ends: bool = False
    repeats: bool = True


class _Translator:
    """Recursive descent: alternatives → sequence → repeated atom → atom."""

    def __init__(self, pattern: str, captured: Sequence[int], mark: int) -> None:
        self._pattern = pattern
        self._captured = captured
        self._mark = mark
        self._at = 0
        self._groups = 0
        self._has_end = "$" in pattern  # if only as a character, marks do no harm
        self._depth = 0

    def outline(self) -> _Outline:
        if len(self._pattern) > _MOST_CHARACTERS or any(ord(one) >= _SURROGATES[0] for one in self._pattern):
            raise _NotCertainError
        part = self._alternatives()
        if self._at < len(self._pattern):
            raise _NotCertainError
        return _Outline(part.text, self._groups, part.may_be_empty)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise _NotCertainError
        self._at += 1
        return self._pattern[self._at - 1]

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        return _sized(
            "|".join(part.text for part in parts),
            sum(part.atoms for part in parts),
            any(part.may_be_empty for part in parts),
            parts,
        )

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            if parts and parts[-1].ends:
                raise _NotCertainError
            parts.append(self._repeated())
        if not parts:
            raise _NotCertainError
        texts = "".join(part.text for part in parts)
        return _sized(texts, sum(part.atoms for part in parts), all(part.may_be_empty for part in parts), parts)

    def _repeated(self) -> _Part:
        atom = self._atom()
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None:
            return atom
        self._at = match.end()
        if not atom.repeats or atom.may_be_empty or self._peek() in ("*", "+", "?", "{"):
            raise _NotCertainError
        least, most = _bounds(match)
        if most is not None and (most < least or most == 0):
            raise _NotCertainError
        atoms = atom.atoms * max(least, most or 1)
        return _sized(atom.text + match.group(), atoms, not least, [atom])

    def _atom(self) -> _Part:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._of(self._class())
        if character == ".":
            return self._of(_complement(_TERMINATORS))
        if character == "^":
            return _Part("^", 1, may_be_empty=True, repeats=False)
        if character == "$":
            return _Part(_character(self._mark), 1, may_be_empty=True, ends=True, repeats=False)
        if character == "\\":
            return self._of(self._escape())
        if character in "*+?{}]":
            raise _NotCertainError
        return self._of(((ord(character), ord(character)),))

    def _group(self) -> _Part:
        head = "(?:"
        if self._peek() == "?":
            if self._pattern[self._at : self._at + 2] != "?:":
                raise _NotCertainError
            self._at += 2
        else:
            self._groups += 1
            if self._groups in self._captured:
                head = f"(?P<g{self._captured.index(self._groups)}>"
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotCertainError
        inner = self._alternatives()
        self._depth -= 1
        if self._next() != ")":
            raise _NotCertainError
        # Java may leave what an inner group held in a round that is taken back.
        repeats = not (inner.captures or inner.ends)
        captures = inner.captures or head != "(?:"
        return _Part(f"{head}{inner.text})", inner.atoms, inner.may_be_empty, captures, inner.ends, repeats)

    def _escape(self) -> _Ranges:
        """What an escape stands for, whose backslash is behind."""
        character = self._next()
        if character.lower() in _CLASSES:
            ranges = _CLASSES[character.lower()]
            return ranges if character.islower() else _complement(ranges)
        number = ord(_CONTROLS.get(character, character))
        if (match := _HEXADECIMAL.match(self._pattern, self._at - 1)) is not None:
            self._at, number = match.end(), int(match[1] or match[2], 16)
        elif number > 0x7F or (character.isalnum() and character not in _CONTROLS):
            raise _NotCertainError
        if number >= _SURROGATES[0]:
            raise _NotCertainError
        return ((number, number),)

    def _class(self) -> _Ranges:
        is_negated = self._peek() == "^"
        self._at += is_negated
        ranges: list[tuple[int, int]] = []
        while not ranges or self._peek() != "]":
            ranges += self._item(is_first=not ranges)
        self._at += 1
        joined = _joined(ranges)
        return _complement(joined) if is_negated else joined

    def _item(self, *, is_first: bool) -> _Ranges:
        """One character, range or escape of a class."""
        character = self._next()
        is_last = self._pattern[self._at : self._at + 1] == "]"
        if character in "[]^" or self._pattern[self._at - 1 : self._at + 1] == "&&":
            raise _NotCertainError
        if character == "-" and not (is_first or is_last):
            raise _NotCertainError
        low = self._escape() if character == "\\" else ((ord(character), ord(character)),)
        if self._peek() != "-" or self._pattern[self._at + 1 : self._at + 2] == "]":
            return low
        self._at += 1
        end = self._next()
        high = self._escape() if end == "\\" else ((ord(end), ord(end)),)
        (first, other), last = low[0], high[-1][1]
        is_range = len(low) == len(high) == 1 and first == other and high[0][0] == last
        if not is_range or end in "[]-&^" or character == "-" or first > last:
            raise _NotCertainError
        return ((first, last),)

    def _of(self, ranges: _Ranges) -> _Part:
        """One character of ranges; a mark may stand before one that may begin the line terminator that ends a text."""
        if self._has_end:
            ranges = _without(ranges, self._mark)
        if not ranges:
            raise _NotCertainError
        text = "".join(f"{_character(low)}-{_character(high)}" for low, high in ranges)
        if self._has_end and any(low <= end and start <= high for low, high in ranges for start, end in _TERMINATORS):
            return _Part(f"(?:{_character(self._mark)}?[{text}])", 1)
        return _Part(f"[{text}]", 1)


def _sized(text: str, atoms: int, may_be_empty: bool, parts: Iterable[_Part]) -> _Part:
    if atoms > _MOST_ATOMS:
        raise _NotCertainError
    parts = list(parts)
    captures, ends = any(part.captures for part in parts), any(part.ends for part in parts)
    return _Part(text, atoms, may_be_empty, captures, ends, repeats=False)


def _bounds(match: re.Match[str]) -> tuple[int, int | None]:
    text = match.group()
    if text[0] != "{":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[text[0]]
    least = int(match[1])
    if match[2] is None:
        return least, least
    return least, int(match[3]) if match[3] is not None else None


def _character(number: int) -> str:
    return rf"\x{{{number:x}}}"


def _joined(ranges: Iterable[tuple[int, int]]) -> _Ranges:
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], high))
        else:
            result.append((low, high))
    return tuple(result)


def _complement(ranges: _Ranges) -> _Ranges:
    """All other characters: texts in UTF-8 have no surrogates."""
    rest: _Ranges = ((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, _LAST))
    for low, high in ranges:
        rest = _without(rest, low, high)
    return rest


def _without(ranges: _Ranges, first: int, last: int | None = None) -> _Ranges:
    last = first if last is None else last
    parts = [part for low, high in ranges for part in ((low, min(high, first - 1)), (max(low, last + 1), high))]
    return tuple((low, high) for low, high in parts if low <= high)
