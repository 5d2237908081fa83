"""Parses the keys ``hoodie.<table>.consume.*`` of a Hive job.

The start of an incremental range is exclusive and its end inclusive. Times are compared as the table's version asks:
requested times in version 6, completion times in versions 8 and 9 (see :mod:`hudi_hive.input_format.incremental`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format.job.job_conf import is_in_job, job_value
from hudi_hive.options import HollowCommitPolicy, Option, jobs, read
from hudi_hive.table import TableConfig
from hudi_hive.timeline import normalise_instant

MAX_COMMITS_ALL = -1
DEFAULT_MAX_COMMITS = 1
"""As Hudi: one commit a query, unless the job asks for more or gives an end of the range."""


@dataclass(frozen=True, slots=True)
class ConsumeOptions:
    """The keys of one table, checked.

    Attributes:
        incremental: ``consume.mode`` is INCREMENTAL.
        start: exclusive start of an incremental range, as digits.
        end: inclusive end, or None for the newest commit (``consume.end.timestamp``; Hive's own path has no such key).
        max_commits: at most so many commits after the start; -1 for all.
        commit: time travel to exactly this instant (``consume.commit``).
        snapshot_time: time travel to any moment (``consume.snapshot.time``; ``as.of.instant`` for all tables of a job).
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
    holes_policy: HollowCommitPolicy | None = None
    full_scan_fallback: bool = False
    filter_rows: bool = True

    @classmethod
    def parse(cls, conf: Mapping[str, str], config: TableConfig) -> ConsumeOptions:
        """Parse the options of the table with the given properties.

        Raises:
            InvalidOptionError: a key has a value that it does not take, or incremental mode has no start.
        """
        keys = _Keys(conf, config)
        incremental = job_value(conf, jobs.CONSUME_MODE, table=keys.qualified)
        start, end = keys.time(jobs.CONSUME_START, keys.qualified), keys.time(jobs.CONSUME_END, keys.qualified)
        if incremental and start is None:
            raise InvalidOptionError(
                f"incremental mode without a start: {jobs.CONSUME_START.of_table(keys.qualified)} is not set",
                remedy="set it to the last commit that was read, or to 0 for the beginning",
            )
        commit, snapshot_time = keys.time(jobs.CONSUME_COMMIT), keys.snapshot_time(incremental=incremental)
        if commit is not None and snapshot_time is not None and commit != snapshot_time:
            raise InvalidOptionError(
                f"{jobs.CONSUME_COMMIT.of_table(config.name)} and {jobs.CONSUME_SNAPSHOT_TIME.of_table(config.name)}, "
                f"or {read.AS_OF}, ask for different times",
                remedy="set one",
            )
        max_commits = job_value(conf, jobs.CONSUME_MAX_COMMITS, table=keys.qualified)
        if max_commits is None:
            max_commits = DEFAULT_MAX_COMMITS if end is None else MAX_COMMITS_ALL
        return cls(
            incremental=incremental,
            start=start,
            end=end,
            max_commits=max_commits,
            commit=commit,
            snapshot_time=snapshot_time,
            pending_commits=job_value(conf, jobs.CONSUME_PENDING_COMMITS, table=config.name),
            stop_at_compaction=job_value(conf, jobs.STOP_AT_COMPACTION, table=config.name),
            holes_policy=job_value(conf, read.HOLLOW_POLICY) if is_in_job(conf, read.HOLLOW_POLICY) else None,
            full_scan_fallback=job_value(conf, read.FULL_SCAN_FALLBACK),
            filter_rows=job_value(conf, jobs.CONSUME_FILTER_ROWS, table=config.name),
        )


class _Keys:
    """The keys of one table: mode, start, end and maximum carry the database when the job says so."""

    def __init__(self, conf: Mapping[str, str], config: TableConfig) -> None:
        self._conf = conf
        self._config = config
        self.qualified = qualified_name(conf, config)

    def time(self, option: Option[str | None], table: str | None = None) -> str | None:
        """The time that a key gives, as digits."""
        table = table or self._config.name
        text = job_value(self._conf, option, table=table)
        return None if text is None else parse_time(text, option.of_table(table), self._config.timezone)

    def snapshot_time(self, *, incremental: bool) -> str | None:
        """The time of a snapshot of the past: the table's own, or that of all tables of the job."""
        own, of_all = self.time(jobs.CONSUME_SNAPSHOT_TIME), job_value(self._conf, read.AS_OF)
        if of_all is None:
            return own
        if incremental:
            raise InvalidOptionError(
                f"{read.AS_OF} does not go with {jobs.CONSUME_MODE.of_table(self.qualified)}=INCREMENTAL",
                remedy=f"{jobs.CONSUME_END.of_table(self.qualified)} bounds the range",
            )
        time = parse_time(of_all, read.AS_OF.name, self._config.timezone)
        if own is not None and own != time:
            raise InvalidOptionError(
                f"{jobs.CONSUME_SNAPSHOT_TIME.of_table(self._config.name)} and {read.AS_OF} ask for different times",
                remedy="set one",
            )
        return time


def qualified_name(conf: Mapping[str, str], config: TableConfig) -> str:
    """The name in a table's incremental keys: ``db.table`` if the job uses databases and the table has one."""
    if config.database and job_value(conf, jobs.USE_DATABASE):
        return f"{config.database}.{config.name}"
    return config.name


def incremental_names(conf: Mapping[str, str]) -> list[str]:
    """The table names that a job's keys read incrementally, in the order of the keys.

    Raises:
        InvalidOptionError: the mode of a table is neither INCREMENTAL nor SNAPSHOT.
    """
    names = [jobs.CONSUME_MODE.table_of(key) for key in conf]
    return [name for name in names if name is not None and job_value(conf, jobs.CONSUME_MODE, table=name)]


def time_travel_names(conf: Mapping[str, str]) -> list[tuple[str, str]]:
    """Key and table name of all time travel keys."""
    options = (jobs.CONSUME_COMMIT, jobs.CONSUME_SNAPSHOT_TIME)
    pairs = [(key, option.table_of(key)) for key, value in conf.items() if value.strip() for option in options]
    return [(key, name) for key, name in pairs if name is not None]


def parse_time(text: str, key: str, timezone: str = "LOCAL") -> str:
    """Parse an instant of a job key: digits stay unchanged (Hudi compares them as text), dates become 17 digits.

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
