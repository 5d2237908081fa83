"""Instants: file names of every action and state in both layouts, and the forms of instant times."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError
from hudi_hive.timeline import Instant, State, instant_to_millis, millis_to_instant, normalise_instant
from hudi_hive.timeline.instants.instant import ACTIONS, instant_file_name, parse_instant_name

T, C = "20250101000000000", "20250101000001000"
PLAIN = ["deltacommit", "replacecommit", "clean", "rollback", "restore", "indexing", "schemacommit"]
PENDING_ONLY = {"compaction": "commit", "logcompaction": "deltacommit", "clustering": "replacecommit"}

NAMES = [
    ("commit.requested", "commit", State.REQUESTED),
    ("inflight", "commit", State.INFLIGHT),
    ("commit", "commit", State.COMPLETED),
    ("savepoint.inflight", "savepoint", State.INFLIGHT),
    ("savepoint", "savepoint", State.COMPLETED),
    *[(f"{action}.requested", action, State.REQUESTED) for action in [*PLAIN, *PENDING_ONLY]],
    *[(f"{action}.inflight", action, State.INFLIGHT) for action in [*PLAIN, *PENDING_ONLY]],
    *[(action, action, State.COMPLETED) for action in PLAIN],
]


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(("suffix", "action", "state"), NAMES)
def test_names_of_instants_are_parsed(layout, suffix, action, state):
    completed = C if layout == 2 and state is State.COMPLETED else None
    name = f"{T}_{C}.{suffix}" if completed else f"{T}.{suffix}"
    found = parse_instant_name(name, layout, ".hoodie")
    assert found == Instant(T, action, state, completed, name, f".hoodie/{name}")
    assert found.comparable_action == PENDING_ONLY.get(action, action)
    assert found.is_completed == (state is State.COMPLETED)
    assert instant_file_name(T, action, state, completed=completed) == name


def test_every_action_has_names():
    assert {action for _, action, _ in NAMES} == ACTIONS


@pytest.mark.parametrize("time", ["20250101000000", "20250101000000000", "20250101000000000010", "00000000000000"])
def test_times_of_any_length(time):
    assert parse_instant_name(f"{time}.deltacommit", 1).requested == time


def test_completed_without_completion_time_is_an_upgraded_one():
    assert parse_instant_name(f"{T}.commit", 2).completed is None


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.properties",
        "hoodie.properties.backup",
        ".20250101000000000.commit.crc",
        f"{T}.commit.crc",
        f"{T}.commit.tmp",
        f"{T}.commit.requested.tmp",
        f"{T}.commit.inflight",
        f"{T}.savepoint.requested",
        f"{T}.compaction",
        f"{T}.clustering",
        f"{T}.COMMIT",
        f"{T}commit",
        f"{T}.",
        f"{T}.frobnicate",
        f"x{T}.commit",
        f"-{T}.commit",
        "²0250101000000000.commit",
        f"{T}.commit\n",
        "",
    ],
)
def test_names_that_are_no_instants(name):
    assert parse_instant_name(name, 1) is None
    assert parse_instant_name(name, 2) is None


def test_completion_times_are_of_completed_instants_of_layout_2():
    assert parse_instant_name(f"{T}_{C}.commit", 1) is None
    assert parse_instant_name(f"{T}_{C}.commit.requested", 2) is None
    assert parse_instant_name(f"{T}_.commit", 2) is None


def test_no_file_name_for_a_state_that_is_not():
    with pytest.raises(InvalidOptionError, match="savepoint"):
        instant_file_name(T, "savepoint", State.REQUESTED)


@given(st.text(max_size=30), st.sampled_from([1, 2]))
def test_any_name_is_an_instant_or_none(name, layout):
    found = parse_instant_name(name, layout)
    assert found is None or found.file_name == name


# -- times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("20250131235958123", "20250131235958123"),
        (" 20250131235958123 ", "20250131235958123"),
        ("20250131235958", "20250131235958999"),
        ("2025-01-31", "20250131000000000"),
        ("2025-01-31 23:59:58", "20250131235958999"),
        ("2025-01-31 23:59:58.1", "20250131235958100"),
        ("2025-01-31 23:59:58.123", "20250131235958123"),
        ("2025-01-31 23:59:58,123", "20250131235958123"),
        ("2025-01-31T23:59:58.123456", "20250131235958123"),
        ("2025-01-31T23:59:58", "20250131235958999"),
        ("2025-01-31T23:59:58.123Z", "20250131235958123"),
        ("2025-01-31T23:59:58.123+02:00", "20250131215958123"),
        ("2025-01-31T23:59:58.123-0130", "20250201012958123"),
        (dt.date(2025, 1, 31), "20250131000000000"),
        (dt.datetime(2025, 1, 31, 23, 59, 58, 123999), "20250131235958123"),
        (dt.datetime(2025, 1, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=2))), "20250131210000000"),
        ("0", "0" * 17),
        ("000", "0" * 17),
        ("00000000000000", "0" * 17),
        ("00000000000001", "00000000000001"),
        ("00000000000000010", "00000000000000010"),
        ("20250131235958123010", "20250131235958123010"),
    ],
)
def test_times_become_instants(value, expected):
    assert normalise_instant(value, "UTC") == expected


def test_normalise_to_the_tables_zone():
    assert normalise_instant("2025-07-01T12:00:00.000Z", "Europe/Oslo") == "20250701140000000"
    assert normalise_instant("2025-07-01 12:00:00.000", "Europe/Oslo") == "20250701120000000"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "now",
        "earliest",
        "1",
        "20250131",
        "2025013123595",
        "202501312359581",
        "20251331235958123",
        "20250230000000000",
        "20250131245958123",
        "2025-1-31",
        "2025-02-30",
        "2025-01-31 24:00:00",
        "2025-01-31 10:00",
        "2025-01-31 10:00:00.",
        "2025-01-31Z",
        "2025-01-31T10:00:00+99:00",
        "٢٠٢٥٠١٣١٢٣٥٩٥٨",
        "2025-01-31; x",
    ],
)
def test_what_is_no_time(value):
    with pytest.raises(InvalidOptionError, match="yyyyMMddHHmmssSSS"):
        normalise_instant(value)


def test_overflowing_zone_is_refused():
    with pytest.raises(InvalidOptionError):
        normalise_instant("9999-12-31T23:59:59-12:00", "UTC")
    with pytest.raises(InvalidOptionError, match="zone"):
        normalise_instant("2025-01-01T00:00:00Z", "Mars/Olympus")


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_our_error(text):
    try:
        result = normalise_instant(text, "UTC")
    except InvalidOptionError:
        return
    assert result.isdecimal() and normalise_instant(result, "UTC") == result


@pytest.mark.parametrize(
    ("instant", "zone", "millis"),
    [
        ("19700101000000000", "UTC", 0),
        ("19700101000000", "UTC", 999),
        ("19691231235959999", "UTC", -1),
        ("20250101000000123", "utc", 1735689600123),
        ("20250101000000123010", "UTC", 1735689600123),
        ("20250701120000000", "Europe/Oslo", 1751364000000),
    ],
)
def test_instants_become_milliseconds(instant, zone, millis):
    assert instant_to_millis(instant, zone) == millis


@pytest.mark.parametrize("instant", ["", "x", "2025", "00000000000003", "20251301000000000", "2025010100000000x"])
def test_millis_of_no_date(instant):
    with pytest.raises(InvalidOptionError):
        instant_to_millis(instant)


@given(st.datetimes(dt.datetime(1971, 1, 1), dt.datetime(2200, 1, 1)), st.sampled_from(["UTC", "Asia/Kolkata"]))
def test_millis_there_and_back(moment, zone):
    instant = normalise_instant(moment, zone)
    assert millis_to_instant(instant_to_millis(instant, zone), zone) == instant


def test_local_zone_is_the_machines():
    moment = dt.datetime(2025, 3, 4, 5, 6, 7, 89000)
    assert instant_to_millis("20250304050607089", "LOCAL") == round(moment.timestamp() * 1000)
    assert millis_to_instant(round(moment.timestamp() * 1000)) == "20250304050607089"
