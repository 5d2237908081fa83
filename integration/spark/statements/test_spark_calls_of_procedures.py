"""``CALL`` of Hudi's procedures: how calls are written, and what they give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_hive.errors import HudiHiveError, SparkError
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

TABLE = "v8_cow_part_mdt"


@pytest.fixture(scope="module")
def session(new_session):
    """A session with a table of real Hudi's in its catalog."""
    made = new_session()
    made.sql(f"CREATE TABLE called USING hudi LOCATION '{unzip_fixture(TABLE)}'")
    yield made
    made.sql("DROP TABLE called")


def test_ways_to_write_a_call(session):
    newest = session.sql("CALL show_commits(table => 'called', limit => 1)").collect()
    assert len(newest) == 1 and newest[0].action == "commit"
    for text in (
        "CALL show_commits('called', 1)",
        "CALL system.SHOW_COMMITS(`table` => 'default.called', LIMIT => '1')",
        f"call spark_catalog.system.show_commits(path => '{unzip_fixture(TABLE)}', limit => 2 - 1) ;",
        "EXECUTE IMMEDIATE 'CALL show_commits(table => ?, limit => 1)' USING 'called'",
        "BEGIN DECLARE n INT DEFAULT 1; CALL show_commits(table => 'called', limit => n); END",
    ):
        assert session.sql(text).collect() == newest, text
    assert session.sql("CALL show_commits(table => :name, limit => 1)", {"name": "called"}).collect() == newest
    session.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
    assert session.sql("CALL show_commits(table => 'called', limit => 1)").collect() == newest
    session.conf.unset("spark.sql.ansi.enforceReservedKeywords")
    sizes = [
        session.sql(f"CALL stats_file_sizes(path => '{unzip_fixture('v8_cow_nonpart')}', partition_path => '{glob}')")
        for glob in ("", "/*")
    ]
    assert sizes[0].collect() == sizes[1].collect() and sizes[0].count() > 1  # there are no partitions to choose from
    assert "show_commits" in session.sql("CALL help").first().result
    assert "Call show_commits" in session.sql("EXPLAIN CALL show_commits('called')").first().plan


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("show_commits(table => 'called', limt => 1)", "no argument 'limt'; did you mean limit?"),
        ("show_commits(table => 'called', table => 'called')", "table is given twice"),
        ("show_commits('called', 1, 2)", "3 arguments are too many"),
        ("show_commits(limit => 1)", "table must be given"),
        ("show_commits(table => 'called', 1)", "without a name stands behind"),
        ("show_commits(table => NULL)", "table is NULL"),
        ("show_commits(table => 'called', filter => 'nothing > 3')", "filter 'nothing > 3' cannot be applied"),
        ("stats_file_sizes('called', '/*/*')", "has 2 levels, the partitions have 1"),
        ("show_nothing()", "no procedure 'show_nothing'"),
        ("show_commits(table => 'nowhere')", "no Hudi table nowhere"),
    ],
)
def test_calls_that_are_refused(session, call, message):
    with pytest.raises(SparkError, match=message):
        session.sql(f"CALL {call}")


ANSWERS = json.loads((Path(__file__).parents[2] / "data" / "procedures" / "answers.json").read_text())
OFTEN = ("v8_mor_rollback",)


@pytest.mark.parametrize("name", with_long_cases(OFTEN, ANSWERS))
def test_same_answers_as_real_hudi(new_session, name, thorough):
    session, base = new_session(), str(unzip_fixture(name))
    session.sql(f"CREATE TABLE {name} USING hudi LOCATION '{base}'")
    found = []
    for text, expected in list(ANSWERS[name].items())[:: 1 if thorough else 3]:
        call = text.replace("{t}", name).replace("{path}", base)
        try:
            rows = session.sql(f"CALL {call}")
            shown = sorted(repr(list(row)) for row in rows.collect())
            answer = {"columns": [list(item) for item in rows.dtypes], "rows": shown}
        except HudiHiveError as error:
            answer = {"fails": str(error)}
        if "fails" in expected or "fails" in answer:
            same = ("fails" in expected) == ("fails" in answer)
        else:
            theirs = [repr(row).replace("{path}", base) for row in expected["rows"]]
            same = answer == {"columns": expected["columns"], "rows": sorted(theirs)}
        if not same:
            found.append(f"{call}\n  ours   {answer}\n  theirs {expected}")
    session.sql(f"DROP TABLE {name}")
    assert not found, "\n".join(found)
