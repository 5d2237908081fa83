"""Instants and file slices as tables: the rows that Hudi's own functions gave, and patterns of partition paths."""

from __future__ import annotations

import json

import pyarrow.compute as pc
import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table import MetaClient
from hudi_hive.table.core.overview import glob_regex, instant_rows, slice_rows
from tests.support.fixture_tables import DATA, unzip_fixture

CALLS = {
    f"{path.stem}: {call}": (call, answer)
    for path in sorted((DATA / "functions").glob("*.json"))
    for call, answer in json.loads(path.read_text()).items()
}
TIMELINE, VIEW = "hudi_query_timeline", "hudi_filesystem_view"
TOTALS = slice(5, None)


def parsed(call):
    """Function, fixture, arguments behind it."""
    function, _, rest = call.rstrip(")").partition("(")
    name, *arguments = (text.strip(" '") for text in rest.split(","))
    return function, name, arguments


def calls(function):
    return [name for name, (call, _) in CALLS.items() if call.startswith(function)]


@pytest.mark.parametrize("name", calls(TIMELINE))
def test_instants_are_those_of_hudi(name):
    call, answer = CALLS[name]
    _, fixture, arguments = parsed(call)
    found = instant_rows(MetaClient.load(unzip_fixture(fixture)), archived=arguments == ["true"])
    assert found.column_names == [column for column, _ in answer["columns"]]
    assert found.column("Timestamp").to_pylist() == sorted(found.column("Timestamp").to_pylist())
    rows = [list(row.values()) for row in found.to_pylist()]
    wanted = answer["rows"]
    if fixture.startswith("v6"):
        for row in rows:
            row[3] = None
    active = {row[0] for row in CALLS[name.replace(", 'true'", "")][1]["rows"]}
    for row in (*rows, *wanted):
        if row[0] not in active:
            # Hudi does not load the metadata of archived instants, and counts nothing; here they are what they were.
            assert row in wanted or row[TOTALS][0] > 0
            row[TOTALS] = []
    # Of archived instants of version 6 it shows every state; here an instant is shown once.
    states = {"COMPLETED"} if fixture.startswith("v6") and arguments else {row[2] for row in wanted}
    assert sorted(map(str, rows)) == sorted(str(row) for row in wanted if row[2] in states)


def expected_slices(name):
    """Hudi's rows, but for what is named here, and those rows of ours that differ for that reason."""
    call, answer = CALLS[name]
    _, fixture, arguments = parsed(call)
    rows = answer["rows"]
    if "crash" in fixture:
        # Hudi counts the files of commits that did not complete.
        return "uncommitted", rows
    if fixture == "v6_cow_cdc":
        # Release 1.0.2 goes by the times at which the files of version 6 were unpacked.
        return "unpacked", rows
    if not arguments and any(MetaClient.load(unzip_fixture(fixture)).partition_paths()):
        # Without a pattern Hudi looks into no folder.
        return "partitioned", rows
    return None, rows


@pytest.mark.parametrize("name", calls(VIEW))
def test_slices_are_those_of_hudi(name):
    call, answer = CALLS[name]
    _, fixture, arguments = parsed(call)
    client = MetaClient.load(unzip_fixture(fixture))
    found = slice_rows(client, "file:<table>", *arguments)
    assert found.column_names == [column for column, _ in answer["columns"]]
    rows = [list(row.values()) for row in found.to_pylist()]
    gap, wanted = expected_slices(name)
    if gap is None:
        assert sorted(map(str, rows)) == sorted(map(str, wanted))
    elif gap == "partitioned":
        assert wanted == []
        assert len(rows) == client.file_system_view().file_slices().num_rows > 0
    elif gap == "unpacked":
        assert [row[:5] for row in rows if row[6] != row[7]] == []
        assert sorted(str(row[:5]) for row in rows) == sorted(str(row[:5]) for row in wanted) or not arguments
    else:
        assert all(row[5] <= 1 for row in rows)


def test_only_selected_partitions_are_listed():
    client = MetaClient.load(unzip_fixture("v9_cow_wide_250"))
    partitions = client.partition_paths()
    found = slice_rows(client, client.base_path, "p00[0-3]")
    assert pc.unique(found.column("Partition_Path")).to_pylist() == ["p000", "p001", "p002", "p003"]
    assert len(partitions) == 250


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not_fit"),
    [
        ("2024/*", ["2024/01"], ["2024", "2024/01/02", "2023/01"]),
        ("2024/0?/{01,1*}", ["2024/01/01", "2024/02/17"], ["2024/01/02", "2024/10/01"]),
        ("a[bc]d", ["abd", "acd"], ["add", "abcd"]),
        ("a[^b-d]", ["ae", "a^"], ["ab", "ac"]),
        ("city=a.b+c", ["city=a.b+c"], ["city=axb+c"]),
        (r"a\*", ["a*"], ["ab"]),
        ("a,b}", ["a,b}"], ["a"]),
    ],
)
def test_globs_match_paths(pattern, fits, does_not_fit):
    wanted = glob_regex(pattern)
    assert [path for path in (*fits, *does_not_fit) if wanted.fullmatch(path)] == fits


@pytest.mark.parametrize("pattern", ["a[b", "{a,b", "[z-a]"])
def test_patterns_that_cannot_be_read(pattern):
    with pytest.raises(InvalidOptionError, match="pattern"):
        glob_regex(pattern)
