"""The table as of a moment: what is shown, and which moments are refused."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, TimeTravelError
from tests.support.fixture_tables import VERSIONS, expected, fixture_names, unzip_fixture


def spelled(instant: str) -> list:
    """An instant's millisecond in every spelling that keeps it."""
    moment = dt.datetime.strptime(instant + "000", "%Y%m%d%H%M%S%f")
    text = moment.isoformat(sep=" ", timespec="milliseconds")
    return [instant, text, text.replace(" ", "T"), moment]


@pytest.mark.parametrize("version", VERSIONS)
def test_as_of_in_all_spellings(version):
    table = HudiTable.open(unzip_fixture(f"v{version}_cow_nonpart"))
    for instant, rows in zip(table.timeline.write_instants(), (30, 35, 31), strict=True):
        for as_of in spelled(instant.requested):
            scan = table.scan(as_of=as_of)
            assert scan.query.as_of == instant.requested
            assert scan.to_arrow().num_rows == scan.count() == rows
        assert table.scan(options={"as.of.instant": instant.requested}).count() == rows
        # Seconds mean their last millisecond.
        assert table.scan(as_of=instant.requested[:14]).query.as_of == instant.requested[:14] + "999"


@pytest.fixture
def honolulu(monkeypatch):
    """A machine whose local time is ten hours behind UTC."""
    monkeypatch.setenv("TZ", "Pacific/Honolulu")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("zone", "instant"), [("UTC", "20300101120000000"), ("LOCAL", "20300101020000000")])
def test_times_with_a_zone_become_the_tables_own(tmp_path, honolulu, zone, instant):
    path = unzip_fixture("v8_cow_nonpart", tmp_path)
    properties = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if "timeline.timezone" not in line]
    properties.write_text("\n".join([*lines, f"hoodie.table.timeline.timezone={zone}", ""]))
    table = HudiTable.open(path)
    moment = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)
    for spelling in (moment, "2030-01-01T12:00:00.000Z", "2030-01-01 14:00:00.000+02:00"):
        assert table.scan(as_of=spelling).query.as_of == instant
        assert table.scan(options={"as.of.instant": str(spelling)}).query.as_of[:14] == instant[:14]
        query = table.scan(begin=spelling, end=spelling).query
        assert (query.begin, query.end) == (instant, instant)


@pytest.mark.parametrize("words", [{"as_of": 20250101000000000}, {"begin": 2025}, {"begin": "0", "end": 1.5}])
def test_numbers_are_no_times(words):
    with pytest.raises(InvalidOptionError, match="is not a time"):
        HudiTable.open(unzip_fixture("v8_cow_nonpart")).scan(**words)


@pytest.mark.parametrize("version", VERSIONS)
def test_between_two_commits_is_the_earlier_one(version):
    table = HudiTable.open(unzip_fixture(f"v{version}_cow_nonpart"))
    second = table.timeline.write_instants()[1].requested
    assert table.scan(as_of=str(int(second) - 1)).count() == 30
    assert table.scan(as_of="2999-01-01").count() == 31


@pytest.mark.parametrize("name", [*fixture_names("cow_nonpart"), *fixture_names("mor_empty")])
def test_before_the_first_commit_a_table_has_no_rows(name):
    table = HudiTable.open(unzip_fixture(name))
    assert not table.timeline.completed({"clean"})
    past = table.scan(as_of="2020-01-01").to_arrow()
    assert (past.num_rows, past.schema) == (0, table.scan().to_arrow().schema)
    assert table.scan(as_of="2020-01-01", row_filter="_hoodie_record_key = 'a'").to_arrow().num_rows == 0


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_behind_the_cleaner_is_refused(name):
    table = HudiTable.open(unzip_fixture(name))
    clean = table.timeline.completed({"clean"})[-1]
    retained = table.timeline.clean_metadata(clean).earliest_retained
    for instant in table.timeline.write_instants():
        scan = table.scan(as_of=instant.requested)
        if instant.requested >= retained:
            assert scan.count() > 0
            continue
        with pytest.raises(TimeTravelError, match="cleaned") as caught:
            scan.to_arrow()
        assert retained in caught.value.remedy


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_archived_commits_can_be_shown_unless_cleaned(name):
    table = HudiTable.open(unzip_fixture(name))
    archived = [c["requested"] for c in expected(name)["archived_commits"] if c["action"] == "commit"]
    cleans = table.timeline.completed({"clean"})
    retained = table.timeline.clean_metadata(cleans[-1]).earliest_retained if cleans else None
    for number, requested in enumerate(sorted(set(archived))):
        if retained is not None and requested < retained:
            with pytest.raises(TimeTravelError):
                table.scan(as_of=requested).to_arrow()
        else:
            assert table.scan(as_of=requested).count() == number + 1


@pytest.mark.parametrize("name", [*fixture_names("cow_crash_leftover"), *fixture_names("cow_crash_mdt")])
def test_at_or_after_a_pending_commit_is_refused(name):
    table = HudiTable.open(unzip_fixture(name))
    pending = table.timeline.pending()[0].requested
    with pytest.raises(TimeTravelError, match="not completed") as caught:
        table.scan(as_of=pending).to_arrow()
    assert caught.value.instant == pending
    before = table.scan(as_of=str(int(pending) - 1)).to_arrow()
    assert before.equals(table.scan().to_arrow())


def test_replaced_file_groups_are_back_in_the_past():
    """insert_overwrite hides what it replaced only from its own instant on."""
    for name in fixture_names("cow_cdc"):
        table = HudiTable.open(unzip_fixture(name))
        overwrite = next(i for i in table.timeline.write_instants() if i.action == "replacecommit")
        before = table.scan(as_of=str(int(overwrite.requested) - 1)).to_arrow()
        after = table.scan(as_of=overwrite.requested).to_arrow()
        files = [set(t.column("_hoodie_file_name").to_pylist()) for t in (before, after)]
        replaced = table.timeline.replaced_file_groups().column("file_id").to_pylist()
        assert any(file.startswith(tuple(replaced)) for file in files[0])
        assert not any(file.startswith(tuple(replaced)) for file in files[1])
