"""What a Hive job's keys ``hoodie.<table>.consume.*`` ask of one table.

The start of an incremental range is exclusive and its end inclusive. Times are compared as the table's version asks:
requested times in version 6, completion times in versions 8 and 9 (see :mod:`hudi_hive.input_format.incremental`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table import TableConfig
from hudi_hive.timeline import normalise_instant

USE_DATABASE = "hoodie.incremental.use.database"
HOLES_POLICY = "hoodie.read.timeline.holes.resolution.policy"
FULL_SCAN_FALLBACK = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"

MAX_COMMITS_ALL = -1
DEFAULT_MAX_COMMITS = 1
"""As Hudi: one commit a query, unless the job asks for more or gives an end of the range."""

HOLES_POLICIES = ("FAIL", "BLOCK", "USE_TRANSITION_TIME")

_CONSUME_KEY = re.compile(r"hoodie\.(.+)\.consume\.(.+)", re.DOTALL)
_CONSUME_NAMES = frozenset(
    {
        "mode",
        "start.timestamp",
        "end.timestamp",
        "max.commits",
        "commit",
        "snapshot.time",
        "pending.commits",
        "filter.rows",
    }
)
# LATEST is the name that SNAPSHOT had in early releases.
_MODES = {"INCREMENTAL": True, "SNAPSHOT": False, "LATEST": False}


@dataclass(frozen=True, slots=True)
class ConsumeOptions:
    """The keys of one table, checked.

    Attributes:
        incremental: ``consume.mode`` is INCREMENTAL.
        start: exclusive start of an incremental range, as digits.
        end: inclusive end, or None for the newest commit (``consume.end.timestamp``; Hive's own path has no such key).
        max_commits: at most so many commits after the start; -1 for all.
        commit: time travel to exactly this instant (``consume.commit``).
        snapshot_time: time travel to any moment (``consume.snapshot.time``).
        pending_commits: files of inflight commits count in a snapshot.
        stop_at_compaction: an incremental range ends before the first pending compaction.
        holes_policy: what to do when an incomplete commit is older than a completed one; None when the job
            does not say.
        full_scan_fallback: read the whole table when files of the range are gone.
        filter_rows: keep only the rows that the commits of the range wrote.
    """

    incremental: bool = False
    start: str | None = None
    end: str | None = None
    max_commits: int = DEFAULT_MAX_COMMITS
    commit: str | None = None
    snapshot_time: str | None = None
    pending_commits: bool = False
    stop_at_compaction: bool = True
    holes_policy: str | None = None
    full_scan_fallback: bool = False
    filter_rows: bool = True

    @classmethod
    def parse(cls, conf: Mapping[str, str], config: TableConfig) -> ConsumeOptions:
        """The options of the table with these properties.

        Raises:
            InvalidOptionError: a key has a value that it does not take, or incremental mode has no start.
        """
        keys = _Keys(conf, config)
        incremental = keys.incremental()
        start = keys.time("start.timestamp", qualified=True)
        end = keys.time("end.timestamp", qualified=True)
        if incremental and start is None:
            raise InvalidOptionError(
                f"incremental mode without a start: {keys.name('start.timestamp', True)} is not set",
                remedy="set it to the last commit that was read, or to 0 for the beginning",
            )
        commit, snapshot_time = keys.time("commit"), keys.time("snapshot.time")
        if commit is not None and snapshot_time is not None and commit != snapshot_time:
            raise InvalidOptionError(
                f"{keys.name('commit')} and {keys.name('snapshot.time')} ask for different times", remedy="set one"
            )
        return cls(
            incremental=incremental,
            start=start,
            end=end,
            max_commits=keys.max_commits(DEFAULT_MAX_COMMITS if end is None else MAX_COMMITS_ALL),
            commit=commit,
            snapshot_time=snapshot_time,
            pending_commits=keys.flag("consume.pending.commits", False),
            stop_at_compaction=keys.flag("ro.stop.at.compaction", True),
            holes_policy=holes_policy(conf),
            full_scan_fallback=parse_flag(conf, FULL_SCAN_FALLBACK, False),
            filter_rows=keys.flag("consume.filter.rows", True),
        )


class _Keys:
    """Look-up of one table's keys: mode, start, end and maximum carry the database when the job says so."""

    def __init__(self, conf: Mapping[str, str], config: TableConfig) -> None:
        self._conf = conf
        self._table = config.name
        self._timezone = config.timezone
        self._qualified = qualified_name(conf, config)

    def name(self, name: str, qualified: bool = False) -> str:
        return f"hoodie.{self._qualified if qualified else self._table}.consume.{name}"

    def time(self, name: str, *, qualified: bool = False) -> str | None:
        key = self.name(name, qualified)
        text = self._conf.get(key, "").strip()
        return parse_time(text, key, self._timezone) if text else None

    def incremental(self) -> bool:
        return is_incremental(self._conf, self._qualified)

    def max_commits(self, default: int) -> int:
        key = self.name("max.commits", True)
        text = self._conf.get(key, "").strip()
        try:
            value = int(text) if text else default
        except ValueError:
            value = 0
        if value < MAX_COMMITS_ALL or value == 0:
            raise InvalidOptionError(f"{key} must be a positive number or -1 for all, not {text!r}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        return parse_flag(self._conf, f"hoodie.{self._table}.{name}", default)


def qualified_name(conf: Mapping[str, str], config: TableConfig) -> str:
    """The name that a table's incremental keys carry: ``db.table`` if the job says so and the table has a database."""
    if config.database and parse_flag(conf, USE_DATABASE, False):
        return f"{config.database}.{config.name}"
    return config.name


def is_incremental(conf: Mapping[str, str], name: str) -> bool:
    """Whether ``hoodie.<name>.consume.mode`` is INCREMENTAL.

    Raises:
        InvalidOptionError: the mode is neither INCREMENTAL nor SNAPSHOT.
    """
    key = f"hoodie.{name}.consume.mode"
    text = conf.get(key, "").strip().upper()
    if text and text not in _MODES:
        raise InvalidOptionError(f"{key} must be INCREMENTAL or SNAPSHOT, not {conf[key]!r}")
    return _MODES.get(text, False)


def incremental_names(conf: Mapping[str, str]) -> list[str]:
    """The table names that a job's keys ask to read incrementally, in the order of the keys.

    Raises:
        InvalidOptionError: a ``hoodie.<table>.consume.*`` key that does not exist, or a mode that does not.
    """
    names: list[str] = []
    for key in conf:
        match = _CONSUME_KEY.fullmatch(key)
        if match is None:
            continue
        if match.group(2) not in _CONSUME_NAMES:
            raise InvalidOptionError(
                f"unknown option {key}", remedy="known: hoodie.<table>.consume." + ", ".join(sorted(_CONSUME_NAMES))
            )
        if match.group(2) == "mode" and is_incremental(conf, match.group(1)):
            names.append(match.group(1))
    return names


def time_travel_names(conf: Mapping[str, str]) -> list[tuple[str, str]]:
    """Key and table name of all keys that ask for a snapshot of the past."""
    found: list[tuple[str, str]] = []
    for key, value in conf.items():
        match = _CONSUME_KEY.fullmatch(key)
        if match is not None and match.group(2) in ("commit", "snapshot.time") and value.strip():
            found.append((key, match.group(1)))
    return found


def parse_time(text: str, key: str, timezone: str = "LOCAL") -> str:
    """An instant of a job key: digits stay as they are (Hudi compares them as text), dates become 17 digits.

    ``earliest`` is the beginning.

    Raises:
        InvalidOptionError: neither digits nor a date.
    """
    text = text.strip()
    if text.lower() == "earliest":
        return "0"
    if text.isascii() and text.isdigit():
        return text
    try:
        return normalise_instant(text, timezone)
    except InvalidOptionError as error:
        raise InvalidOptionError(f"{key}: {error.message}", remedy=error.remedy) from error


def parse_flag(conf: Mapping[str, str], key: str, default: bool) -> bool:
    """A boolean key.

    Raises:
        InvalidOptionError: neither true nor false.
    """
    text = conf.get(key, "").strip().lower()
    if text not in ("", "true", "false"):
        raise InvalidOptionError(f"{key} must be true or false, not {conf[key]!r}")
    return text == "true" if text else default


def holes_policy(conf: Mapping[str, str]) -> str | None:
    """The policy for holes in the timeline, or None when the job does not say.

    Raises:
        InvalidOptionError: no such policy.
    """
    text = conf.get(HOLES_POLICY, "").strip().upper()
    if text and text not in HOLES_POLICIES:
        raise InvalidOptionError(
            f"{HOLES_POLICY} is {conf[HOLES_POLICY]!r}", remedy="use one of " + ", ".join(HOLES_POLICIES)
        )
    return text or None
