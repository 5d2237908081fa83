"""Reads and writes Java ``Properties`` text: ``hoodie.properties`` and partition metafiles.

Source: docs/format.md#table-properties.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from hudi_hive.errors import InvalidPropertiesError

_BLANK = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
# A key runs to the first separator that is not escaped: "=", ":" or a blank.
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.?)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_SIMPLE_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_TO_ESCAPE = re.compile(r"[^ -~]|[\\=:#!]")
_WRITTEN_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}


def parse_properties(data: bytes, *, path: str | None = None) -> dict[str, str]:
    r"""Parse the keys and values of a Java properties file.

    The text is ISO-8859-1; ``\uXXXX`` and the other escapes are undone, lines that end in an odd number of backslashes
    go on in the next one, lines that begin with ``#`` or ``!`` are remarks. Of a key that occurs twice the last counts.

    Args:
        data: the file's bytes.
        path: named in errors.

    Raises:
        InvalidPropertiesError: a ``\u`` escape without four hexadecimal digits, or half of a surrogate pair.
    """
    result: dict[str, str] = {}
    for line in _logical_lines(data.decode("latin-1")):
        key_end = _match_end(_KEY, line, 0)
        value_start = _match_end(_SEPARATOR, line, key_end)
        result[_unescape(line[:key_end], path)] = _unescape(line[value_start:], path)
    return result


def format_properties(mapping: Mapping[str, str], comments: Iterable[str] = ()) -> bytes:
    """Format a mapping as a properties file, which Java and :func:`parse_properties` read back alike.

    Args:
        mapping: keys and values, written in this order.
        comments: remark lines put first, each behind ``#``.
    """
    lines = ["#" + _escape_unprintable(part) for comment in comments for part in _LINE_END.split(comment)]
    lines.extend(f"{_escape(key, is_key=True)}={_escape(value, is_key=False)}" for key, value in mapping.items())
    return "".join(line + "\n" for line in lines).encode("latin-1")


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with continuations joined, remarks and blank lines left out."""
    pending: list[
        str
    ] = []  # what lines that go on hold; joined once, so that many of them cost no more than their size
    continued = False
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANK)
        if not continued and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = backslashes % 2 == 1  # what went before ends in an even number of them, so this line alone decides
        pending.append(line[:-1] if continued else line)
        if not continued:
            yield "".join(pending)
            pending = []
    if continued:
        yield "".join(pending)


def _match_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def _unescape(text: str, path: str | None) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        escaped = match.group(1)
        if escaped.startswith("u"):
            if len(escaped) != 5:
                raise InvalidPropertiesError("malformed \\u escape in properties", path=path)
            return chr(int(escaped[1:], 16))
        return _SIMPLE_ESCAPES.get(escaped, escaped)

    result = _ESCAPE.sub(replace, text)
    if any("\ud800" <= character <= "\udfff" for character in result):
        # Java writes characters beyond the basic plane as two \u escapes, a UTF-16 surrogate pair.
        try:
            result = result.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as error:
            raise InvalidPropertiesError("half of a surrogate pair in properties", path=path) from error
    return result


def _escape(text: str, *, is_key: bool) -> str:
    if not text.startswith(" ") and not (is_key and " " in text) and _TO_ESCAPE.search(text) is None:
        return text
    pieces: list[str] = []
    for position, character in enumerate(text):
        if (character == " " and (is_key or position == 0)) or character in "\\=:#!":
            pieces.append("\\" + character)
        else:
            pieces.append(_WRITTEN_ESCAPES.get(character) or _escape_unprintable(character))
    return "".join(pieces)


def _escape_unprintable(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    pieces: list[str] = []
    for character in text:
        if " " <= character <= "~":
            pieces.append(character)
            continue
        units = character.encode("utf-16-be", "surrogatepass")
        pieces.extend(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
    return "".join(pieces)
