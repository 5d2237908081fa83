"""The script of statements: real Hudi's recorded answers, and ours over tables that we synced, are the same."""

from __future__ import annotations

import json

import pytest

from integration.conftest import DATABASE
from integration.long.spark_statements import (
    RELEASES,
    answer,
    differences,
    first_line,
    in_order,
    recorded,
    same,
    statements,
)
from integration.long.spark_statements import tables as tables_of
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

VERSIONS = sorted(RELEASES)
# Each statement for one version, every fourth one in each run; `python -m integration.long.spark_statements --recorded`
# runs all for all versions.
ALL = [(VERSIONS[index % 3], name) for index, name in enumerate(statements("v9"))]
CASES = with_long_cases(ALL[::4], ALL)


@pytest.fixture(scope="module")
def session(spark, synced):
    """A session made later than the one that was enabled, with the tables' database as the current one."""
    for version in VERSIONS:
        for name in tables_of(version):
            synced(name)
    made = spark.newSession()
    made.sql(f"USE {DATABASE}")
    return made


@pytest.mark.parametrize(("version", "name"), CASES)
def test_same_answer_as_real_hudi(session, version, name):
    wanted = recorded(version)[name]
    try:
        found = answer(session.sql(statements(version)[name]), in_order(name))
    except Exception as error:
        found = {"error": first_line(error)}
    if name in differences(version):
        assert not same(found, wanted), "not a difference any more"
        assert "error" not in found
        return
    assert found.get("error") == wanted.get("error")
    assert found["columns"] == wanted["columns"]
    assert found["rows"] == wanted["rows"], json.dumps([r for r in found["rows"] if r not in wanted["rows"]])[:1000]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_statement_is_recorded(version):
    answers = recorded(version)
    assert list(answers) == list(statements(version))
    # A statement that finds nothing shows nothing: these are the ones that are meant to.
    empty = {name for name, item in answers.items() if not item.get("rows") and "error" not in item}
    assert empty <= {"table without a commit"}
    assert {name for name, item in answers.items() if "error" in item} <= set(differences(version))
