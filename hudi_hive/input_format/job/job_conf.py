"""The configuration of a Hadoop job, as a mapping that never changes (docs/format/rules.md#job-configuration)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from hudi_hive.errors import InvalidOptionError
from hudi_hive.redaction import redact_options
from hudi_hive.storage import join_paths, split_paths

T = TypeVar("T")

INPUT_DIR = "mapreduce.input.fileinputformat.inputdir"
INPUT_RECURSIVE = "mapreduce.input.fileinputformat.input.dir.recursive"
SPLIT_MIN_SIZE = "mapreduce.input.fileinputformat.split.minsize"

# Hadoop's deprecated names that still are in use, by the names that replaced them.
_DEPRECATED = {
    "mapred.input.dir": INPUT_DIR,
    "mapreduce.input.dir": INPUT_DIR,
    "mapred.input.dir.recursive": INPUT_RECURSIVE,
    "mapred.min.split.size": SPLIT_MIN_SIZE,
    "dfs.block.size": "dfs.blocksize",
}

_SIZE = re.compile(r"([+-]?\d+)\s*([kmgtpe]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


class JobConf(Mapping[str, str]):
    """Keys and values of a job. Values are text; numbers and booleans given are written as Hadoop does.

    Deprecated names (``mapred.input.dir`` …) are kept under the names that replaced them. A conf never changes:
    :meth:`with_` gives a copy.

    Args:
        values: keys and values; None as a value leaves the key out.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> None:
        self._values: dict[str, str] = {}
        self._put(dict(values))

    def _put(self, values: Mapping[str, object]) -> None:
        for key, value in values.items():
            name = _DEPRECATED.get(key, key)
            if value is None:
                self._values.pop(name, None)
            elif isinstance(value, bool):
                self._values[name] = "true" if value else "false"
            else:
                self._values[name] = str(value)

    def with_(self, values: Mapping[str, object] | None = None, **named: object) -> JobConf:
        """A copy with more or other values; None removes a key."""
        copy = JobConf(self._values)
        copy._put({**(values or {}), **named})
        return copy

    def __getitem__(self, key: str) -> str:
        return self._values[_DEPRECATED.get(key, key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"JobConf({redact_options(self._values)!r})"

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._values == dict(other)

    # -- typed values ------------------------------------------------------------------------------------------------

    def get_bool(self, key: str, default: bool) -> bool:
        """``true`` or ``false`` in any case.

        Raises:
            InvalidOptionError: another word.
        """
        text = self.get(key, "").strip().lower()
        if text not in ("", "true", "false"):
            raise InvalidOptionError(f"{key} must be true or false, not {self[key]!r}")
        return text == "true" if text else default

    def get_int(self, key: str, default: int) -> int:
        """A whole number, decimal or ``0x…``.

        Raises:
            InvalidOptionError: no number.
        """
        text = self.get(key, "").strip()
        if not text:
            return default
        try:
            return int(text, 16 if re.match(r"[+-]?0[xX]", text) else 10)
        except ValueError as error:
            raise InvalidOptionError(f"{key} must be a whole number, not {text!r}") from error

    def get_bytes(self, key: str, default: int) -> int:
        """A number of bytes, with a binary suffix k, m, g, t, p or e.

        Raises:
            InvalidOptionError: no size.
        """
        text = self.get(key, "").strip()
        if not text:
            return default
        match = _SIZE.fullmatch(text)
        if match is None:
            raise InvalidOptionError(f"{key} must be a number of bytes, not {text!r}")
        return int(match.group(1)) << (10 * _UNITS[match.group(2).lower()])

    def get_strings(self, key: str) -> tuple[str, ...]:
        """The words of a comma list, trimmed, without empty ones."""
        return tuple(word for word in (part.strip() for part in self.get(key, "").split(",")) if word)

    def get_choice(self, key: str, choices: Mapping[str, T], default: T) -> T:
        """The value that a word, in any case, stands for.

        Raises:
            InvalidOptionError: no such word.
        """
        text = self.get(key, "").strip().upper()
        if not text:
            return default
        if text not in choices:
            raise InvalidOptionError(f"{key} must be one of {', '.join(choices)}, not {self[key]!r}")
        return choices[text]

    # -- input paths -------------------------------------------------------------------------------------------------

    @property
    def input_paths(self) -> tuple[str, ...]:
        """The job's input paths, un-escaped, globs as they are.

        Raises:
            InvalidOptionError: the job has none.
        """
        paths = split_paths(self.get(INPUT_DIR, ""))
        if not paths:
            raise InvalidOptionError("the job has no input paths", remedy=f"set {INPUT_DIR}")
        return tuple(paths)

    def with_input_paths(self, paths: Iterable[str]) -> JobConf:
        """A copy with these input paths, commas and backslashes in them escaped."""
        return self.with_({INPUT_DIR: join_paths(paths)})
