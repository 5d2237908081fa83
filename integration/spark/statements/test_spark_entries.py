"""What CREATE TABLE and the writes after it leave in a metastore: the entries that real Hudi's own SQL makes."""

from __future__ import annotations

import re

import pytest

from integration.support.catalog_entries import differences, entries_of, recorded, statements
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

OFTEN = frozenset({"cow_np", "mor_pt", "mor_ctas", "ext_np", "over_np", "commented", "called"})
TABLES = frozenset(re.sub("_r[ot]$", "", name) for name in recorded())


def table_of(text: str) -> str:
    """The table that a statement is about, in lower case."""
    return re.search(r"\b(?:TABLE|INTO|OVERWRITE|FROM|UPDATE|table =>)\s+'?(\w+)", text)[1].lower()


@pytest.fixture
def database(new_session, metastore, tmp_path):
    """A session in a new database below the folder of the test."""
    session = new_session()
    session.sql(f"CREATE DATABASE entries LOCATION '{tmp_path}/entries.db'")
    session.sql("USE entries")
    yield session
    for name in metastore.tables("entries"):
        metastore.drop_table("entries", name)
    metastore.drop_database("entries")


@pytest.mark.parametrize("tables", with_long_cases([OFTEN], [OFTEN, TABLES - OFTEN]), ids=len)
def test_entries_are_those_that_real_hudi_makes(database, metastore, tmp_path, tables):
    for text in statements():
        if text.startswith(("SET", "RESET")) or table_of(text) in tables:
            database.sql(text.replace("${folder}", str(tmp_path)))
    ours = entries_of(metastore, "entries", tmp_path)
    theirs = {name: entry for name, entry in recorded().items() if re.sub("_r[ot]$", "", name) in tables}
    assert differences(ours, theirs) == []


def test_columns_and_tables_keep_their_comments(database, metastore):
    database.sql(
        "CREATE TABLE t (id INT COMMENT 'key', v STRING) USING hudi COMMENT 'all' TBLPROPERTIES (primaryKey = 'id')"
    )
    database.sql("INSERT INTO t VALUES (1, 'a')")
    database.sql("ALTER TABLE t ADD COLUMNS (more INT COMMENT 'later')")
    database.sql("INSERT INTO t VALUES (2, 'b', 3)")
    shown = {row.col_name: (row.data_type, row.comment) for row in database.sql("DESCRIBE EXTENDED t").collect()}
    assert (shown["id"], shown["more"], shown["Comment"][0]) == (("int", "key"), ("int", "later"), "all")
    comments = {one.name: one.comment for one in metastore.table("entries", "t").sd.cols}
    assert (comments["id"], comments["more"]) == ("key", "later")
