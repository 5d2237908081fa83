"""Parses paths of Hadoop jobs: escaped comma lists, glob patterns, schemes and authorities.

Percent signs are never decoded: a partition folder may be called ``at=x%3Ay``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hudi_hive.errors import InvalidOptionError, PathNotFoundError
from hudi_hive.metrics import IoCounters
from hudi_hive.redaction import redact
from hudi_hive.storage.storage import Storage
from hudi_hive.storage.stores import Credentials, PathKind, PathStatus

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(//[^/]*)?(/.*|$)", re.DOTALL)
_GLOB_CHARACTERS = frozenset("*?[{")
_MOST_ALTERNATIVES = 10_000
_LONGEST_GLOB = 8192  # characters of a glob with braces: each pattern that they stand for is a copy of most of it
_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"


# -- comma lists ---------------------------------------------------------------------------------------------------


def split_paths(text: str) -> list[str]:
    r"""The paths of a comma list: ``\,`` is a comma of a path, ``\\`` a backslash; blanks around paths do not count.

    A comma between the braces of a glob (``{a,b}``) does not split either, so that a list typed by hand works.
    """
    paths: list[str] = []
    current: list[str] = []
    depth = 0
    position = 0
    balanced = text.count("{") == text.count("}")
    while position < len(text):
        char = text[position]
        following = text[position + 1 : position + 2]
        if char == "\\" and following in (",", "\\"):
            current.append(following)
            position += 2
            continue
        if balanced and char in "{}":
            depth += 1 if char == "{" else -1
        if char == "," and depth <= 0:
            paths.append("".join(current))
            current = []
        else:
            current.append(char)
        position += 1
    paths.append("".join(current))
    return [path.strip() for path in paths if path.strip()]


def join_paths(paths: Iterable[str]) -> str:
    """Join paths to a comma list; the inverse of :func:`split_paths`."""
    return ",".join(path.replace("\\", "\\\\").replace(",", "\\,") for path in paths)


# -- one path ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HadoopPath:
    """A path taken apart into scheme with authority, and the rest.

    ``prefix`` is as the caller wrote it (``""`` for a plain local path), ``path`` is absolute, without a double or
    trailing slash.
    """

    prefix: str
    path: str

    @classmethod
    def parse(cls, text: str) -> HadoopPath:
        """Take a path apart; a relative one is below the working directory.

        Raises:
            InvalidOptionError: the path is empty or has ``..`` in it.
        """
        match = _SCHEME.fullmatch(text)
        if match is None:
            if not text:
                raise InvalidOptionError("empty input path", remedy="give a folder, a file or a glob")
            return cls("", _normalise(os.path.join(os.getcwd(), text), text))
        scheme, authority, path = match.group(1).lower(), match.group(2) or "", match.group(3)
        if scheme == "file":
            # file:///a and file://localhost/a are the same folder; Hadoop writes it file:/a
            return cls("file:", _normalise(path or "/", text))
        return cls(f"{scheme}:{authority}", _normalise(path or "/", text))

    @property
    def is_local(self) -> bool:
        """Whether the path is on the local file system."""
        return self.prefix in ("", "file:")

    @property
    def store(self) -> str:
        """Identifier of the file system: empty for local paths, however they are written."""
        return "" if self.is_local else self.prefix

    @property
    def key(self) -> str:
        """The path relative to its file system's root."""
        return self.path.strip("/")

    def child(self, relative: str) -> HadoopPath:
        """The path of a child of this path."""
        return HadoopPath(self.prefix, f"{self.path.rstrip('/')}/{relative}") if relative else self

    def at(self, key: str) -> HadoopPath:
        """Another path of the same file system, with the same prefix."""
        return HadoopPath(self.prefix, f"/{key}")

    def __str__(self) -> str:
        return f"{self.prefix}{self.path}"

    def __repr__(self) -> str:
        return f"HadoopPath({redact(str(self))!r})"


def _normalise(path: str, text: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        # Resolving ".." by text is wrong under symbolic links, and object stores do not know it.
        if _SCHEME.fullmatch(text):
            raise InvalidOptionError("input path has .. in it", path=text, remedy="give the path without ..")
        parts = [part for part in os.path.abspath(path).split("/") if part]
    return "/" + "/".join(parts)


# -- file systems --------------------------------------------------------------------------------------------------


class Stores:
    """One :class:`~hudi_hive.storage.Storage` per file system of a job, rooted at the file system's root.

    Args:
        storage_options: as for ``Storage``; for the file systems that are not local.
        counters: where the I/O of all of them is counted.
    """

    def __init__(self, storage_options: Mapping[str, Any] | None = None, counters: IoCounters | None = None) -> None:
        self.counters = counters if counters is not None else IoCounters()
        self._options = Credentials(storage_options or {})
        self._stores: dict[str, Storage] = {}

    def of(self, path: HadoopPath) -> Storage:
        """The storage of the file system of a path."""
        storage = self._stores.get(path.store)
        if storage is None:
            if path.is_local:
                storage = Storage("/", counters=self.counters)
            else:
                storage = Storage(path.prefix + "/", self._options, counters=self.counters)
            self._stores[path.store] = storage
        return storage


# -- globs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExpandedPath:
    """An existing file or folder that an input path named.

    Attributes:
        path: where it is.
        is_dir: whether it is a folder.
        hidden: a wildcard matched a name with a leading ``_``: no data, unless it lies in a Hudi table.
        size, mtime_ms: of a file: bytes, milliseconds since the epoch.
    """

    path: HadoopPath
    is_dir: bool
    hidden: bool = False
    size: int = 0
    mtime_ms: int | None = None


def is_glob(text: str) -> bool:
    """Whether a path has wildcards (``* ? [ ] { }``) that are not escaped."""
    return any(char in _GLOB_CHARACTERS for char in re.sub(r"\\.", "", text))


def _literal(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def is_hidden(name: str) -> bool:
    """Whether a name is hidden: a leading dot or underscore, except Hive's folder of null partition values."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name and name != _DEFAULT_PARTITION)


def expand(texts: Iterable[str], stores: Stores) -> list[ExpandedPath]:
    """Expand input paths to the existing files and folders, in the given order, each once.

    Wildcards work in every part of a path and never match names with a leading dot.

    Raises:
        PathNotFoundError: a path does not exist, or a glob matches nothing.
    """
    results: list[list[ExpandedPath] | None] = []
    plain: dict[str, list[tuple[int, HadoopPath, str]]] = {}
    for text in texts:
        if is_glob(text):
            matches = _expand_glob(text, stores)
            if not matches:
                raise PathNotFoundError(
                    "the glob matches nothing", path=text, remedy="check the path and its wildcards"
                )
            results.append(matches)
        else:
            path = HadoopPath.parse(_literal(text))
            plain.setdefault(path.store, []).append((len(results), path, text))
            results.append(None)
    for group in plain.values():
        statuses = stores.of(group[0][1]).statuses([path.key for _, path, _ in group])
        for (index, path, text), status in zip(group, statuses, strict=True):
            if status.kind is PathKind.MISSING:
                raise PathNotFoundError("input path does not exist", path=text)
            results[index] = [_expanded_path(path, status)]
    unique: dict[tuple[str, str], ExpandedPath] = {}
    for group_matches in results:
        for match in group_matches or ():
            unique.setdefault((match.path.store, match.path.key), match)
    return list(unique.values())


def _expanded_path(path: HadoopPath, status: PathStatus, hidden: bool = False) -> ExpandedPath:
    if status.kind is PathKind.FOLDER:
        return ExpandedPath(path, True, hidden)
    return ExpandedPath(path, False, hidden, status.size, status.mtime_ms or 0)


def _expand_glob(text: str, stores: Stores) -> list[ExpandedPath]:
    unique: dict[str, ExpandedPath] = {}
    for pattern in expand_braces(text):
        for match in _expand_pattern(pattern, stores):
            unique.setdefault(match.path.key, match)
    return list(unique.values())


def _expand_pattern(pattern: str, stores: Stores) -> list[ExpandedPath]:
    """Matches of one pattern without braces, sorted; one listing per folder whose names a wildcard is matched with."""
    parsed = HadoopPath.parse(pattern)
    storage = stores.of(parsed)
    level = [ExpandedPath(parsed.at(""), True)]
    trailing = ""
    for part in parsed.path.strip("/").split("/"):
        if not any(char in _GLOB_CHARACTERS for char in re.sub(r"\\.", "", part)):
            trailing = f"{trailing}/{_literal(part)}".strip("/")
            continue
        matcher = compile_glob(part, pattern)
        following: list[ExpandedPath] = []
        for folder in level:
            if folder.is_dir:
                base = folder.path.child(trailing)
                following += _matching(storage, parsed, base.key, matcher, folder.hidden)
        level = following
        trailing = ""
    if not trailing:
        return level
    folders = [folder for folder in level if folder.is_dir]
    paths = [folder.path.child(trailing) for folder in folders]
    statuses = storage.statuses([path.key for path in paths])
    return [
        _expanded_path(path, status, folder.hidden)
        for folder, path, status in zip(folders, paths, statuses, strict=True)
        if status.kind is not PathKind.MISSING
    ]


def _matching(
    storage: Storage, like: HadoopPath, key: str, matcher: re.Pattern[str], hidden: bool
) -> list[ExpandedPath]:
    try:
        listing = storage.list(key, missing_ok=True)
    except PathNotFoundError:
        return []  # a file where the pattern wants a folder
    matches: list[ExpandedPath] = []
    rows = zip(*(listing.column(name).to_pylist() for name in listing.column_names), strict=True)
    for path, size, mtime_ms, is_dir in sorted(rows):
        name = path.rpartition("/")[2]
        if not name.startswith(".") and matcher.fullmatch(name):
            mine = hidden or is_hidden(name)
            matches.append(
                ExpandedPath(like.at(path), is_dir, mine, 0 if is_dir else size, None if is_dir else mtime_ms)
            )
    return matches


def expand_braces(pattern: str) -> list[str]:
    """Expand alternatives in braces, also nested ones: ``a{b,c}`` gives ``ab`` and ``ac``.

    Raises:
        InvalidOptionError: a brace is not closed, or the alternatives are too many.
    """
    if len(pattern) > _LONGEST_GLOB and "{" in pattern:
        raise InvalidOptionError(f"a glob of {len(pattern):,} characters with braces", path=pattern[:200])
    result: dict[str, None] = {}
    left = [pattern]
    while left:
        following = left.pop()
        alternatives = _first_alternatives(following)
        if alternatives is None:
            result[following] = None
        else:
            left += reversed(alternatives)
        if len(result) + len(left) > _MOST_ALTERNATIVES:
            raise InvalidOptionError(
                f"the glob stands for more than {_MOST_ALTERNATIVES:,} patterns",
                path=pattern[:200],
                remedy="use wildcards, or several paths",
            )
    return list(result)


def _first_alternatives(pattern: str) -> list[str] | None:
    """The pattern with each alternative of its first braces in their place; None if it has no braces."""
    start = _find(pattern, 0, "{")
    if start < 0:
        return None
    depth, position, cuts = 0, start, [start]
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            position += 1
        elif char == "{":
            depth += 1
        elif char == "," and depth == 1:
            cuts.append(position)
        elif char == "}":
            depth -= 1
            if depth == 0:
                break
        position += 1
    else:
        raise InvalidOptionError("a brace of the glob is not closed", path=pattern, remedy="write \\{ for a real brace")
    cuts.append(position)
    before, behind = pattern[:start], pattern[position + 1 :]
    return [before + pattern[left + 1 : right] + behind for left, right in pairwise(cuts)]


def _find(text: str, position: int, char: str) -> int:
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == char:
            return position
        position += 1
    return -1


def compile_glob(part: str, pattern: str) -> re.Pattern[str]:
    r"""Compile a path part with ``*``, ``?``, ``[abc]``, ``[a-c]``, ``[^a]`` and ``\`` escapes to a regular expression.

    Raises:
        InvalidOptionError: a bracket is not closed or its range is empty.
    """
    out: list[str] = []  # of the characters since the last star
    runs: list[str] = []
    position = 0
    while position < len(part):
        char = part[position]
        if char == "\\" and position + 1 < len(part):
            position += 1
            out.append(re.escape(part[position]))
        elif char == "*":
            runs.append("".join(out))
            out = []
        elif char == "?":
            out.append(".")
        elif char == "[":
            end = part.find("]", position + 2)
            if end < 0:
                raise InvalidOptionError("a bracket of the glob is not closed", path=pattern, remedy="write \\[")
            body = part[position + 1 : end]
            negated = body[0] in "^!"
            body = re.sub(r"([\\\[\]^&~|])", r"\\\1", body[1:] if negated else body)
            out.append(f"[{'^' if negated else ''}{body}]")
            position = end
        else:
            out.append(re.escape(char))
        position += 1
    try:
        # What stands between two stars is matched at its first place for good: another one could only leave less for
        # the rest. So a name is gone over once, however many stars there are.
        first, *middle = runs or [""]
        stars = "".join(f"(?>.*?{run})" for run in middle) + (".*" if runs else "")
        return re.compile(first + stars + "".join(out), re.DOTALL)
    except re.error as error:
        raise InvalidOptionError(f"the glob cannot be understood: {error}", path=pattern) from error
