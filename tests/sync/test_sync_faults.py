"""A sync that dies at any of its calls loses nothing and can be run again; nor do two syncs at once lose anything.

Also run on a real metastore.
"""

from __future__ import annotations

import itertools

import pytest

from hudi_hive.errors import MetastoreServerError, SchemaSyncError, TableChangedError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync.diff.concurrency import conflicts_detected, retry_on_conflict
from hudi_hive.testing import FakeMetastore
from tests.support.faults.sync_faults import Stage, Story, check_threads, die_everywhere, meet_everywhere, stories
from tests.support.running.long import with_long_cases

KINDS = ("cow", "mor")
# Three names take three times the calls, most of them alike: what is new is where one ends.
ALL = [*(("cow", name) for name in stories("cow")), *(("mor", name) for name in ("first", "everything", "moved"))]
_ALIKE = [("mor", "first"), ("mor", "moved")]
_WAYS = (False, True)
DEATHS = [
    (*case, lost)
    for at, case in enumerate(ALL)
    for lost in _WAYS
    if case not in _ALIKE and (case[1] == "everything" or lost == _WAYS[at % 2])
]
"""Each story, and whether the call or its answer is lost: both where all is changed."""
MEETINGS = [(kind, name) for kind in KINDS for name in ("first", "everything")]
ORDERS = [("new", "new"), ("old", "new"), ("new", "old")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri) as client:
        yield client


@pytest.mark.parametrize(
    ("kind", "name", "answer_lost"),
    with_long_cases(DEATHS, [(*case, lost) for case, lost in itertools.product(ALL, _WAYS)]),
)
def test_a_sync_that_died_anywhere_can_be_run_again(client, tmp_path, kind, name, answer_lost):
    # With three names every third call, and both ways to die at other ones.
    stage = Stage(client, tmp_path, stories(kind)[name])
    step = 1 if kind == "cow" else 3
    first = 2 if kind == "mor" and answer_lost else 1
    deaths = die_everywhere(stage, answer_lost=answer_lost, first=first, step=step)
    assert deaths == list(range(first, first + len(deaths) * step, step))
    assert len(deaths) >= (2 if name == "commits" else 3)


@pytest.mark.parametrize(
    ("kind", "name", "first", "second"),
    with_long_cases(
        [*((*case, *order) for case in MEETINGS[:2] for order in ORDERS), (*MEETINGS[3], *ORDERS[1])],
        [(*case, *order) for case, order in itertools.product(MEETINGS, ORDERS)],
    ),
)
def test_two_syncs_that_meet_anywhere_lose_nothing(client, tmp_path, kind, name, first, second):
    stage = Stage(client, tmp_path, stories(kind)[name])
    assert meet_everywhere(stage, first=first, second=second, step=2 if kind == "cow" else 5) >= 5


@pytest.mark.parametrize(("kind", "name"), MEETINGS)
def test_many_threads_at_once(server, client, tmp_path, kind, name):
    stage = Stage(client, tmp_path, stories(kind)[name])
    check_threads(stage, server.uri)


@pytest.mark.parametrize(("times", "drops"), [(1, 0), (2, 1)])
def test_a_metastore_in_trouble_is_no_reason_to_drop_a_table(server, client, tmp_path, times, drops):
    stage = Stage(client, tmp_path, Story("cow_part", "01", "03", {"recreate_on_error": True}))
    stage.prepare()
    server.inject("refuse", method="add_partitions_req", times=times)
    report = stage.sync()
    assert report.calls["drop_table"] == drops if drops else "drop_table" not in report.calls
    assert set(stage.state()["cow_part"]["partitions"]) == {("DE",), ("FR",), ("IT",), ("US",)}


@pytest.mark.parametrize(
    ("error", "tries", "compared_in_full"),
    [
        (TableChangedError("x"), 6, [False, True, True, True, True, True]),
        (MetastoreServerError("x"), 3, [False, True, True]),
        (SchemaSyncError("x"), 2, [False, False]),
        (ValueError("x"), 1, [False]),
    ],
)
def test_what_may_be_the_fault_of_another_sync_is_tried_again(error, tries, compared_in_full):
    full, pauses = [], []

    def once(number, changed):
        assert number == len(full)
        full.append(changed)
        with conflicts_detected():
            raise error

    with pytest.raises(type(error)) as caught:
        retry_on_conflict(once, pause=pauses.append)
    assert caught.value is error
    assert full == compared_in_full
    assert len(pauses) == tries - 1
    assert all(0 < pause <= 2 for pause in pauses)
