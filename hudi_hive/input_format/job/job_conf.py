"""The configuration of a Hadoop job, as a mapping that never changes (docs/format/rules.md#job-configuration)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import HOODIE_PREFIX
from hudi_hive.options import Face, Option, OptionSet, as_text, jobs, read
from hudi_hive.redaction import redact_options
from hudi_hive.storage import HadoopOptions, join_paths, split_paths

T = TypeVar("T")

INPUT_DIR = jobs.INPUT_DIR.name
INPUT_RECURSIVE = jobs.INPUT_RECURSIVE.name
SPLIT_MIN_SIZE = jobs.SPLIT_MIN_SIZE.name

_JOB_KEYS: Final = OptionSet("Hive job", Face.INPUT_FORMAT)
_HUDI: Final = HOODIE_PREFIX

# Hadoop's deprecated names that still are in use, by the names that replaced them.
_DEPRECATED = {
    alias: option.name
    for option in (
        *(jobs.INPUT_DIR, jobs.INPUT_RECURSIVE, jobs.DFS_BLOCK_SIZE),
        *(jobs.SPLIT_MIN_SIZE, jobs.SPLIT_MAX_SIZE, jobs.SPLIT_MIN_SIZE_NODE, jobs.SPLIT_MIN_SIZE_RACK),
    )
    for alias in option.aliases
}


def job_value(conf: Mapping[str, str], option: Option[T], *, table: str | None = None) -> T:
    """The value of an option among a job's keys; a blank text is as none.

    Args:
        conf: the job's keys.
        option: a declared key of jobs.
        table: the table's name, for a key of one table.

    Raises:
        InvalidOptionError: a text that the option does not take.
    """
    names = option.names if table is None else (option.of_table(table),)
    return option.of({name: conf[name] for name in names if conf.get(name, "").strip()}, table=table)


def is_in_job(conf: Mapping[str, str], option: Option[Any]) -> bool:
    """Whether a job has the key of an option, and not a blank one."""
    return any(conf.get(name, "").strip() for name in option.names)


def check_job(conf: Mapping[str, str]) -> None:
    """Refuse keys of Hudi that no job has, or that are not honoured; Hadoop's and Hive's own are left alone.

    Args:
        conf: the job's keys.

    Raises:
        InvalidOptionError: a mistyped key, one that is not supported in jobs, or a text that a key does not take.
    """
    _JOB_KEYS.check(
        {
            key: text
            for key, text in conf.items()
            if text.strip() and (key.startswith(_HUDI) or key == read.AS_OF.name or key in _JOB_KEYS)
        }
    )


class JobConf(Mapping[str, str]):
    """Keys and values of a job. Values are text; numbers and booleans given are written as Hadoop does.

    Deprecated names (``mapred.input.dir`` …) are kept under the names that replaced them. A conf never changes:
    :meth:`with_` gives a copy.

    Args:
        values: keys and values; None as a value leaves the key out.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> None:
        self._values = HadoopOptions()
        self._put(dict(values))

    def _put(self, values: Mapping[str, object]) -> None:
        for key, value in values.items():
            name = _DEPRECATED.get(key, key)
            if value is None:
                self._values.pop(name, None)
            else:
                self._values[name] = as_text(name, value)

    def with_(self, values: Mapping[str, object] | None = None, **named: object) -> JobConf:
        """A copy with more or other values; None removes a key."""
        copy = JobConf(self._values)
        copy._put({**(values or {}), **named})
        return copy

    def __getitem__(self, key: str) -> str:
        return str(self._values[_DEPRECATED.get(key, key)])

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

    def value(self, option: Option[T], *, table: str | None = None) -> T:
        """The value of a declared key; see :func:`job_value`."""
        return job_value(self, option, table=table)

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
