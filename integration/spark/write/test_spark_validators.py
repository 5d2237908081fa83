"""Pre-commit validators: commits that they let pass and refuse are those of Hudi 1.0.2, refused ones leave nothing."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CommitValidationError, InvalidOptionError
from hudi_hive.spark import write
from hudi_hive.write.commit import WriteTransaction
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

CLASSES = "org.apache.hudi.client.validator."
EQUAL, UNEQUAL, SINGLE = (
    f"{CLASSES}SqlQuery{kind}PreCommitValidator" for kind in ("Equality", "Inequality", "SingleResult")
)
LISTED = "hoodie.precommit.validators"
OF_EQUAL, OF_UNEQUAL, OF_SINGLE = (
    f"{LISTED}.{kind}.sql.queries" for kind in ("equality", "inequality", "single.value")
)
COUNT = "select count(*) from <TABLE_NAME>"
TABLE = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
}
UPDATE, INSERT = [(1, "A", "x", 2)], [(4, "d", "x", 2)]


def equal(query):
    return {LISTED: EQUAL, OF_EQUAL: query}


def unequal(query):
    return {LISTED: UNEQUAL, OF_UNEQUAL: query}


def single(queries):
    return {LISTED: SINGLE, OF_SINGLE: queries}


PASSES = [
    (UPDATE, equal(COUNT)),
    (INSERT, unequal(COUNT)),
    (INSERT, single(f"{COUNT}#3;select name from <TABLE_NAME> where id=4#d;")),  # one partition, not all four rows
    (INSERT, {**equal("select 1 from <TABLE_NAME> where id=1"), OF_UNEQUAL: COUNT, LISTED: f"{EQUAL},{UNEQUAL}"}),
    (INSERT, single("select id from <TABLE_NAME> order by id#1")),  # the first of several rows
    (INSERT, equal("select id from <TABLE_NAME>")),  # more rows after than before
    (INSERT, single("select avg(ts) from <TABLE_NAME>#1.3333333333333333;select max(id)>3 from <TABLE_NAME>#true")),
]
FAILS = [
    (INSERT, equal(COUNT), r"same rows after the commit; before it \[2\], after it \[3\]"),
    (UPDATE, unequal(COUNT), r"other rows after the commit; before it \[2\], after it \[2\]"),
    (INSERT, single(f"{COUNT}#4"), "has to have the value 4; it has 3"),
    (INSERT, single("select cast(null as string) from <TABLE_NAME> where id=4#null"), "it has null"),
    (INSERT, single("select id from <TABLE_NAME> where id=99#1"), r"has to have one value, 1; it has \[\]"),
    (UPDATE, equal("select 1 from <TABLE_NAME>"), "same rows"),  # of rows that are not distinct, as in Hudi
    (INSERT, equal("select nothing from <TABLE_NAME>"), "cannot be run: .*nothing"),
]


@pytest.fixture(scope="module")
def rows(spark):
    return lambda data: spark.createDataFrame(data, "id int, name string, p string, ts long")


@pytest.fixture
def table(rows, tmp_path, made):
    """A table of three rows in two partitions, with a metadata table; merge-on-read if so told."""

    def make(kind="COPY_ON_WRITE", version="8"):
        path = made / f"{kind}-{version}"
        if not path.exists():
            of_table = {"hoodie.datasource.write.table.type": kind, "hoodie.write.table.version": version}
            write(rows([(1, "a", "x", 1), (2, "b", "x", 1), (3, "c", "y", 1)]), path, {**TABLE, **of_table})
        return shutil.copytree(path, tmp_path / "t", dirs_exist_ok=True)

    return make


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("validated")


def names(path):
    shown = HudiTable.open(path).scan(selected_fields=["id", "name"]).to_arrow()
    return dict(sorted(zip(shown["id"].to_pylist(), shown["name"].to_pylist(), strict=True)))


def state(path):
    """Rows, completed writes, and the names of all files of the table but of rollbacks and the metadata table."""
    client = HudiTable.open(path).client
    files = [str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
    files = [name for name in files if "rollback" not in name and "/metadata/" not in name and "/.aux" not in name]
    return names(path), [one.requested for one in client.timeline.write_instants()], sorted(files)


@pytest.mark.parametrize(("data", "options"), with_long_cases(PASSES[:4], PASSES))
def test_a_commit_that_satisfies_the_queries_passes(rows, table, data, options):
    path = table()
    write(rows(data), path, {**TABLE, **options})
    assert names(path) == {1: "a", 2: "b", 3: "c", data[0][0]: data[0][1]}


@pytest.mark.parametrize(("data", "options", "message"), with_long_cases(FAILS[:3], FAILS))
def test_a_commit_that_does_not_leaves_the_table_as_it_was(rows, table, data, options, message):
    path = table()
    before = state(path)
    with pytest.raises(CommitValidationError, match=message) as refused:
        write(rows(data), path, {**TABLE, **options})
    assert state(path) == before
    assert refused.value.path.endswith(str(path)) and refused.value.instant
    assert not HudiTable.open(path).timeline.pending()
    listing = HudiTable.open(path).scan(options={"hoodie.metadata.enable": "true"}).to_arrow()
    assert sorted(listing["id"].to_pylist()) == [1, 2, 3]


@pytest.mark.parametrize(
    ("operation", "value"),  # what is left of the partition x
    with_long_cases(
        [("bulk_insert", 3)],
        [("bulk_insert", 3), ("insert_overwrite", 1), ("insert_overwrite_table", 1), ("delete", 1)],
    ),
)
def test_each_operation_is_validated(rows, table, operation, value):
    options, path = {**TABLE, "hoodie.datasource.write.operation": operation}, table()
    data = UPDATE if operation == "delete" else INSERT
    with pytest.raises(CommitValidationError, match=f"it has {value}"):
        write(rows(data), path, {**options, **single(f"{COUNT}#9")})
    assert names(path) == {1: "a", 2: "b", 3: "c"}
    write(rows(data), path, {**options, **single(f"{COUNT}#{value}")})


@pytest.mark.parametrize("version", with_long_cases(["6"], ["6", "8"]))
def test_log_files_are_merged(rows, table, version):
    path = table("MERGE_ON_READ", version)
    query = "select name from <TABLE_NAME> where id = 1"
    before = state(path)
    with pytest.raises(CommitValidationError, match="has to have the value a; it has A"):
        write(rows(UPDATE), path, {**TABLE, **single(f"{query}#a")})
    with pytest.raises(CommitValidationError, match=r"before it \[a\], after it \[A\]"):
        write(rows(UPDATE), path, {**TABLE, **equal(query)})
    assert state(path)[:2] == before[:2]
    write(rows(UPDATE), path, {**TABLE, **single(f"{query}#A")})
    assert names(path) == {1: "A", 2: "b", 3: "c"}


def test_before_the_first_commit_there_are_no_rows(rows, tmp_path):
    path = tmp_path / "t"
    with pytest.raises(CommitValidationError, match=r"before it \[0\], after it \[1\]"):
        write(rows(INSERT), path, {**TABLE, **equal(COUNT)})
    assert not path.exists()
    options = {LISTED: f"{EQUAL},{UNEQUAL},{SINGLE}", OF_EQUAL: f"{COUNT} where name is null"}
    write(rows(INSERT), path, {**TABLE, **options, OF_UNEQUAL: COUNT, OF_SINGLE: f"{COUNT}#1"})
    assert names(path) == {4: "d"}


def test_what_cannot_be_carried_out_is_refused_by_name_before_anything_is_written(rows, table):
    path = table()
    before = state(path)
    for options, message in (
        ({LISTED: "x.y.Own"}, "x.y.Own"),
        ({LISTED: EQUAL}, "has no queries"),
        (single(COUNT), "is no query#value"),
        (
            {**equal(COUNT), "hoodie.partition.ttl.inline": "true", "hoodie.partition.ttl.strategy.days.retain": "9"},
            "ttl",
        ),
    ):
        with pytest.raises(InvalidOptionError, match=message):
            write(rows(INSERT), path, {**TABLE, **options})
    assert state(path) == before


def test_a_write_that_is_done_again_after_a_conflict_is_validated_again(rows, table, monkeypatch):
    path = table()
    begin = WriteTransaction.begin

    def late(transaction):
        """Others write behind this one's beginning."""
        monkeypatch.setattr(WriteTransaction, "begin", begin)
        begin(transaction)
        HudiTable.open(path).upsert(pa.table({"id": pa.array([1], "int32"), "name": ["z"], "p": ["x"], "ts": [5]}))

    monkeypatch.setattr(WriteTransaction, "begin", late)
    several = {
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
        "hoodie.write.num.retries.on.conflict.failures": "1",
        "hoodie.write.concurrency.early.conflict.detection.enable": "true",
    }
    names_of_1 = "select name from <TABLE_NAME> where id = 1"
    write(rows([(1, "A", "x", 9)]), path, {**TABLE, **several, **single(f"{names_of_1}#A")})
    assert names(path) == {1: "A", 2: "b", 3: "c"}
    assert len(HudiTable.open(path).timeline.write_instants()) == 3
    with pytest.raises(CommitValidationError, match=r"before it \[A\], after it \[B\]"):
        write(rows([(1, "B", "x", 10)]), path, {**TABLE, **several, **equal(names_of_1)})
    assert not HudiTable.open(path).timeline.pending()


@pytest.mark.long
def test_statements_are_validated_by_the_settings_of_their_session(spark, table):
    path = table()
    spark.sql(f"CREATE TABLE validated USING hudi LOCATION '{path}'")
    try:
        for name, text in equal(COUNT).items():
            spark.conf.set(name, text)
        with pytest.raises(CommitValidationError, match=r"before it \[2\], after it \[3\]"):
            spark.sql("INSERT INTO validated VALUES (4, 'd', 2, 'x')").collect()
        with pytest.raises(CommitValidationError, match=r"before it \[2\], after it \[1\]"):
            spark.sql("DELETE FROM validated WHERE id = 1").collect()
        spark.sql("UPDATE validated SET name = 'u' WHERE id = 1").collect()
        spark.sql("ALTER TABLE validated ADD COLUMNS (more int)").collect()  # changes no rows
        assert names(path) == {1: "u", 2: "b", 3: "c"}
    finally:
        for name in equal(COUNT):
            spark.conf.unset(name)
        spark.sql("DROP TABLE validated")
