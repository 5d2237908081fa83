"""Instants of a timeline: parses and makes their file names and times.

Source: docs/format.md#instants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import IntEnum
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hudi_hive.errors import InvalidOptionError

COMMIT: Final = "commit"
DELTA_COMMIT: Final = "deltacommit"
REPLACE_COMMIT: Final = "replacecommit"
COMPACTION: Final = "compaction"
LOG_COMPACTION: Final = "logcompaction"
CLUSTERING: Final = "clustering"
CLEAN: Final = "clean"
ROLLBACK: Final = "rollback"
RESTORE: Final = "restore"
SAVEPOINT: Final = "savepoint"
INDEXING: Final = "indexing"
SCHEMA_COMMIT: Final = "schemacommit"

COMPLETED_WRITE_ACTIONS: Final = frozenset({COMMIT, DELTA_COMMIT, REPLACE_COMMIT})
"""Actions that make data visible once completed."""
WRITE_ACTIONS: Final = COMPLETED_WRITE_ACTIONS | {COMPACTION, LOG_COMPACTION, CLUSTERING}
"""The same with the names that compaction, log compaction and clustering bear while pending."""
ACTIONS: Final = WRITE_ACTIONS | {CLEAN, ROLLBACK, RESTORE, SAVEPOINT, INDEXING, SCHEMA_COMMIT}
"""All actions of the table versions that we read."""

METADATA_BOOTSTRAP_INSTANT: Final = "00000000000001"
"""Requested time of a bootstrap's commit that has written skeletons, alone or beside whole files."""
FULL_BOOTSTRAP_INSTANT: Final = "00000000000002"
"""Requested time of a bootstrap's commit that has written whole files."""

_COMPARABLE: Final = {COMPACTION: COMMIT, LOG_COMPACTION: DELTA_COMMIT, CLUSTERING: REPLACE_COMMIT}


class State(IntEnum):
    """The state of an instant; of several files of one instant the greatest state counts."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


class InstantOrder(NamedTuple):
    """The sort key of instants, which is unique within a timeline.

    Attributes:
        requested: requested time.
        action: the action under which all states of the instant agree.
        state: number of the state.
    """

    requested: str
    action: str
    state: int


@dataclass(frozen=True, slots=True)
class Instant:
    """One action on the timeline.

    Args:
        requested: requested time, the instant's identity: digits, ``yyyyMMddHHmmssSSS`` most often.
        action: the action as in the file name (that of a completed compaction is ``commit``).
        state: the highest state reached.
        completed: completion time; null while pending and in timeline layout 1, which keeps none.
        file_name: name of the file that stands for the state.
        path: that file relative to the table's base path; of an archived instant the archive's file.
    """

    requested: str
    action: str
    state: State
    completed: str | None
    file_name: str
    path: str

    @property
    def comparable_action(self) -> str:
        """The action under which all states of the instant agree."""
        return comparable_action(self.action)

    @property
    def is_completed(self) -> bool:
        """Whether the action is complete."""
        return self.state is State.COMPLETED

    @property
    def is_write(self) -> bool:
        """Whether the action is one that writes data, complete or not."""
        return self.action in WRITE_ACTIONS

    @property
    def sort_key(self) -> InstantOrder:
        """The instant's place in the order of the timeline."""
        return InstantOrder(self.requested, self.comparable_action, int(self.state))

    def __str__(self) -> str:
        return f"{self.requested}.{self.action} ({self.state.name})"


def comparable_action(action: str) -> str:
    """The action that an action is completed as: compaction as commit, clustering as replacecommit."""
    return _COMPARABLE.get(action, action)


def _suffixes() -> dict[str, tuple[str, State]]:
    result: dict[str, tuple[str, State]] = {}
    for action in ACTIONS:
        result[f"{action}.requested"] = (action, State.REQUESTED)
        result[f"{action}.inflight"] = (action, State.INFLIGHT)
        result[action] = (action, State.COMPLETED)
    del result["savepoint.requested"]  # a savepoint starts inflight
    for action in _COMPARABLE:
        del result[action]  # completes under its comparable action
    del result["commit.inflight"]
    result["inflight"] = (COMMIT, State.INFLIGHT)  # the odd one
    return result


_SUFFIXES: Final = _suffixes()
_SUFFIX_OF: Final = {value: suffix for suffix, value in _SUFFIXES.items()}
_NAME: Final = {1: re.compile(r"([0-9]+)()\.([a-z.]+)"), 2: re.compile(r"([0-9]+)(?:_([0-9]+))?\.([a-z.]+)")}


def parse_instant_name(name: str, layout: int, folder: str = "") -> Instant | None:
    """Parse the name of a file in the timeline folder; None if it is not that of an instant.

    Args:
        name: file name without folder.
        layout: timeline layout version, 1 or 2.
        folder: folder of the file relative to the table's base path, for :attr:`Instant.path`.
    """
    match = _NAME[layout].fullmatch(name)
    if match is None:
        return None
    requested, completed, suffix = match.groups()
    action_and_state = _SUFFIXES.get(suffix)
    if action_and_state is None:
        return None
    action, state = action_and_state
    if completed and state is not State.COMPLETED:
        return None
    return Instant(requested, action, state, completed or None, name, f"{folder}/{name}" if folder else name)


def instant_file_name(requested: str, action: str, state: State, *, completed: str | None = None) -> str:
    """Make the file name of an instant's state; the inverse of :func:`parse_instant_name`.

    Args:
        requested: requested time.
        action: the action as the file of this state names it.
        state: the state.
        completed: completion time of a completed instant in layout 2.

    Raises:
        InvalidOptionError: the action has no such state.
    """
    suffix = _SUFFIX_OF.get((action, state))
    if suffix is None:
        raise InvalidOptionError(f"no instant file of action {action!r} in state {state.name}", instant=requested)
    time = f"{requested}_{completed}" if completed and state is State.COMPLETED else requested
    return f"{time}.{suffix}"


# -- times -------------------------------------------------------------------------------------------------------

_DIGITS = re.compile(r"[0-9]+")
_TEXT = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T](?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_FORMS = "yyyyMMddHHmmssSSS, yyyyMMddHHmmss, yyyy-MM-dd or yyyy-MM-dd HH:mm:ss[.SSS]"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def normalise_instant(value: str | date | datetime, timezone: str = "LOCAL") -> str:
    """Convert a time as users write it to an instant time of 17 digits.

    Accepted are 17 digits, 14 digits (to the second, meaning its last millisecond, ``…999``), ``yyyy-MM-dd`` (its first
    millisecond), ``yyyy-MM-dd HH:mm:ss`` (``…999``) with an optional fraction, the same with ``T`` and an optional zone
    (``Z``, ``+hh:mm``), ``date`` and ``datetime`` objects. Times without a zone are in the table's own; those with one
    are converted to it. All zeros (``0``, ``000`` …) is before everything; 20 digits and the fixed instants of
    bootstrap and of the metadata table, which begin with ``0000``, stay as they are (docs/format.md#instants,
    docs/format.md#snapshot-and-time-travel).

    Args:
        value: the time.
        timezone: the table's ``hoodie.table.timeline.timezone``: ``LOCAL``, ``UTC`` or an IANA name.

    Raises:
        InvalidOptionError: the value is no time.
    """
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(zone_of(timezone))
        return _format(moment)
    if isinstance(value, date):
        return _format(datetime(value.year, value.month, value.day))
    text = value.strip()
    if _DIGITS.fullmatch(text):
        return _normalise_digits(text, value)
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _not_a_time(value)
    try:
        moment = datetime.fromisoformat(f"{match['date']} {match['time'] or '00:00:00'}")
        if match["time"]:
            fraction = match["fraction"] or "999"
            moment += timedelta(milliseconds=int(fraction[:3].ljust(3, "0")))
        if match["zone"]:
            offset = "+00:00" if match["zone"] == "Z" else match["zone"]
            moment = datetime.fromisoformat(moment.isoformat() + offset).astimezone(zone_of(timezone))
    except (ValueError, OverflowError) as error:
        raise _not_a_time(value) from error
    return _format(moment)


def _normalise_digits(text: str, original: str) -> str:
    if not text.strip("0"):
        return "0" * 17
    if text.startswith("0000"):
        return text
    if len(text) not in (14, 17, 20):
        raise _not_a_time(original)
    try:
        datetime.strptime(text[:14], "%Y%m%d%H%M%S")
    except ValueError as error:
        raise _not_a_time(original) from error
    return text + "999" if len(text) == 14 else text


def instant_to_millis(instant: str, timezone: str = "LOCAL") -> int:
    """Convert an instant time to milliseconds since the epoch.

    Args:
        instant: 14 digits (``…999`` milliseconds), 17, or more, of which the first 17 count.
        timezone: zone the table's instants are in: ``LOCAL``, ``UTC`` or an IANA name.

    The fixed instants of bootstraps stand for as many milliseconds as their number says, as in Hudi.

    Raises:
        InvalidOptionError: the digits are no date.
    """
    if instant in (METADATA_BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT):
        return int(instant)
    digits = instant + "999" if len(instant) == 14 else instant[:17]
    try:
        if len(digits) != 17 or not _DIGITS.fullmatch(digits):
            raise ValueError
        moment = datetime.strptime(digits[:14], "%Y%m%d%H%M%S") + timedelta(milliseconds=int(digits[14:]))
    except ValueError as error:
        raise _not_a_time(instant) from error
    zone = zone_of(timezone)
    aware = moment.astimezone() if zone is None else moment.replace(tzinfo=zone)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def millis_to_instant(millis: int, timezone: str = "LOCAL") -> str:
    """Convert milliseconds since the epoch to an instant time of 17 digits; see :func:`instant_to_millis`."""
    return _format((_EPOCH + timedelta(milliseconds=millis)).astimezone(zone_of(timezone)))


def zone_of(timezone: str) -> tzinfo | None:
    """The time zone of ``hoodie.table.timeline.timezone``; None for the machine's own, as in ``datetime.astimezone``.

    Raises:
        InvalidOptionError: no zone of that name.
    """
    name = timezone.strip()
    if name.upper() == "LOCAL":
        return None
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidOptionError(f"unknown timeline time zone {timezone!r}", remedy="use LOCAL or UTC") from error


def _format(moment: datetime) -> str:
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}".rjust(17, "0")


def _not_a_time(value: str) -> InvalidOptionError:
    return InvalidOptionError(f"{value!r} is not an instant time", remedy=f"write it as {_FORMS}")
