"""Secondary and expression indexes are made of all rows, and kept in step by each write and service."""

from __future__ import annotations

import datetime as dt
import shutil
import tarfile

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import MetadataTableError, SchemaError, UnknownColumnError
from tests.support.column_indexes import refuse_differences
from tests.support.fixture_tables import DATA
from tests.support.running.long import long_case, with_long_cases

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("rider", pa.string()),
        ("num", pa.int64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(10, 2)),
        ("city", pa.string()),
        ("ver", pa.int32()),
    ]
)
RIDERS = ("Ann", "b$x", None, "z\\", "", "ünï", "\0nul")


def row(number, ver=1, **changed):
    moment = dt.datetime(2000 + number, 1 + number % 12, 3, number % 24, tzinfo=dt.UTC)
    made = {
        "id": f"k{number:03}",
        "rider": RIDERS[number % 7],
        "num": number if number % 5 else None,
        "day": moment.date(),
        "at": moment if number % 6 else None,
        "city": ("oslo", "rome")[number % 2],
        "ver": ver,
    }
    return {**made, **changed}


def rows(*made):
    return pa.Table.from_pylist(list(made), SCHEMA)


@pytest.fixture(params=with_long_cases(("9 MERGE_ON_READ",), ("8 COPY_ON_WRITE", "9 COPY_ON_WRITE", "8 MERGE_ON_READ")))
def path(request, made, tmp_path):
    if request.param not in made:
        made[request.param] = make(request.param, tmp_path / "made")
    return shutil.copytree(made[request.param], tmp_path / "t")


@pytest.fixture(scope="module")
def made():
    """Tables with all indexes, made once, by version and type."""
    return {}


def make(case, path):
    number, _, kind = case.partition(" ")
    version = int(number)
    fields = {"record_keys": ["id"], "partition_fields": ["city"], "ordering_fields": ["ver"]}
    table = HudiTable.create(path, name="t", version=version, table_type=kind, **fields)
    table.insert(rows(*map(row, range(20))))
    table.metadata.create_index("by_rider", "rider")
    table.metadata.create_index("by_day", "day")
    table.metadata.create_index("y", "at", "column_stats", {"expr": "year"})
    table.metadata.create_index("ym", "at", "column_stats", {"expr": "date_format", "format": "yyyy-MM"})
    table.metadata.create_index("lo", "rider", "bloom_filters", {"expr": "lower"})
    return path


def test_writes_and_services_keep_indexes_in_step(path):
    def done(table):
        assert len(refuse_differences(path)) == 5
        return HudiTable.open(path)

    table = done(HudiTable.open(path))
    table.upsert(rows(row(3, 2, rider="moved"), row(4, 2, rider=None, at=None), row(30), row(2, 2, rider="Ann")))
    table = done(table)
    table.delete(pa.table({"id": ["k005", "k006"], "city": ["rome", "oslo"]}))
    table = done(table)
    if table.client.config.is_merge_on_read:
        table.compact()
        table = done(table)
    table.insert_overwrite(rows(row(41, city="rome"), row(3, 3, city="rome", rider="over")))
    table = done(table)
    table.insert(rows(row(50, city="bergen"), row(51, city="bergen")))
    table.delete_partitions(["bergen"])
    table = done(table)
    table.cluster()
    table = done(table)
    table.upsert(rows(row(3, 4, rider="undone")))
    table.rollback(max(i.requested for i in HudiTable.open(path).client.timeline.write_instants()))
    table = done(table)
    often = {"hoodie.metadata.compact.max.delta.commits": "2"}
    for number in range(3):  # the metadata table is compacted on the way
        moment = dt.datetime(1990 + number, 1, 1, tzinfo=dt.UTC)
        table.upsert(rows(row(2, 5 + number, rider=f"r{number}", at=moment)), often)
    table = done(table)
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    table = done(table)
    found = table.scan(row_filter="rider = 'r2'")
    assert found.to_arrow().column("id").to_pylist() == ["k002"]
    if not (table.client.config.is_merge_on_read and table.client.config.version == 9):
        assert found.plan().slices.num_rows == 1


@pytest.mark.parametrize("name", ["v8_mor_secondary", long_case("v9_mor_secondary"), "v9_cow_secondary"])
def test_indexes_that_hudi_made_are_kept_in_step(name, tmp_path):
    with tarfile.open(DATA / "column_indexes" / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path)
    path = tmp_path / name
    refuse_differences(path)
    table = HudiTable.open(path)
    schema = pa.schema([field for field in table.scan().to_arrow().schema if not field.name.startswith("_hoodie")])
    blank = dict.fromkeys(schema.names)
    changed = [
        {**blank, "id": "k001", "city": "oslo", "ver": 5, "rider": "new$1", "num": 1000},
        {**blank, "id": "k100", "city": "oslo", "ver": 5},
    ]
    table.upsert(pa.Table.from_pylist(changed, schema))
    refuse_differences(path)
    HudiTable.open(path).delete(pa.table({"id": ["k006"], "city": ["oslo"]}))
    assert refuse_differences(path)


@pytest.mark.parametrize("path", ["9 MERGE_ON_READ"], indirect=True)
def test_a_restore_makes_indexes_anew(path):
    table = HudiTable.open(path)
    table.savepoint()
    HudiTable.open(path).upsert(rows(row(3, 2, rider="moved")))
    HudiTable.open(path).restore(table.client.timeline.write_instants()[-1].requested)
    assert len(refuse_differences(path)) == 5


@pytest.mark.parametrize("path", ["9 COPY_ON_WRITE"], indirect=True)
def test_an_index_whose_function_is_not_understood_is_refused_before_a_write(path):
    definitions = path / ".hoodie/.index_defs/index.json"
    definitions.write_text(definitions.read_text().replace('"year"', '"regexp_replace"'))
    before = sorted(one.name for one in (path / ".hoodie/timeline").iterdir())
    with pytest.raises(MetadataTableError, match="the index 'expr_index_y', which is not kept in step"):
        HudiTable.open(path).upsert(rows(row(3, 2)))
    assert sorted(one.name for one in (path / ".hoodie/timeline").iterdir()) == before


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (("by_rider", "rider"), MetadataTableError, "already"),
        (("x", "nope"), UnknownColumnError, "nope"),
        (("x y", "rider"), MetadataTableError, "its name is none"),
        (("x", "rider", "hash"), MetadataTableError, "there is no kind 'hash'"),
        (("x", "rider", "column_stats"), MetadataTableError, "has no function"),
        (("x", "num", "column_stats", {"expr": "abs"}), MetadataTableError, "abs with these options"),
        (("x", "rider", "column_stats", {"expr": "year"}), MetadataTableError, "year of rider"),
        (("x", "at", "bloom_filters", {"expr": "year"}), MetadataTableError, "year of at"),
        (("x", "rider", "column_stats", {"expr": "substring", "pos": "2"}), MetadataTableError, "substring with these"),
        (("x", "rider", "column_stats", {"expr": "split", "pattern": ","}), MetadataTableError, "split with these"),
        (
            ("x", "rider", "column_stats", {"expr": "regexp_extract", "pattern": "(a)"}),
            MetadataTableError,
            "regexp_extract with these",
        ),
        (
            ("x", "rider", "column_stats", {"expr": "regexp_replace", "pattern": r"\bx", "replacement": ""}),
            MetadataTableError,
            "regexp_replace with these",
        ),
    ],
)
def test_indexes_that_cannot_be_made_are_refused(index, error, message, tmp_path):
    table = HudiTable.create(tmp_path / "t", name="t", version=9, record_keys=["id"], ordering_fields=["ver"])
    table.insert(rows(*map(row, range(3))))
    table.metadata.create_index("by_rider", "rider")
    before = table.metadata.status().partitions
    with pytest.raises(error, match=message):
        table.metadata.create_index(*index)
    assert HudiTable.open(tmp_path / "t").metadata.status().partitions == before


def test_bloom_filters_need_no_function(tmp_path):
    alone = {"hoodie.metadata.index.column.stats.enable": "false"}
    fields = {"record_keys": ["id"], "partition_fields": ["city"], "ordering_fields": ["ver"]}
    table = HudiTable.create(tmp_path / "t", name="t", version=8, **fields)
    table.insert(rows(row(1, city="oslo", rider="Ann"), row(2, city="rome", rider="Bob")), alone)
    table.metadata.create_index("plain", "rider", "bloom_filters")
    table.refresh().upsert(rows(row(3, city="bern", rider="Cyd")), alone)
    assert refuse_differences(tmp_path / "t") == ["expr_index_plain"]
    table = table.refresh()
    (one,) = table.metadata.reader.index_definitions
    assert (one.function, one.kind, dict(one.options)) == ("identity", "bloom_filters", {})
    assert table.scan(row_filter="rider = 'Cyd'").to_arrow().column("id").to_pylist() == ["k003"]


@pytest.mark.parametrize("version", [8, 9])
def test_each_write_updates_indexes_of_regular_expressions(version, tmp_path):
    fields = {"record_keys": ["id"], "partition_fields": ["city"], "ordering_fields": ["ver"]}
    table = HudiTable.create(tmp_path / "t", name="t", version=version, table_type="MERGE_ON_READ", **fields)
    table.insert(rows(*map(row, range(12))))
    first = {"expr": "regexp_extract", "pattern": r"^(\w)|(\W)$", "idx": "2"}
    table.metadata.create_index("last", "rider", "column_stats", first)
    table.metadata.create_index("bare", "rider", "bloom_filters", {**first, "idx": "1"})
    bare = {"expr": "regexp_replace", "pattern": "[^a-z]+", "replacement": "<$0>"}
    table.metadata.create_index("letters", "rider", "column_stats", bare)
    table = table.refresh()
    table.upsert(rows(row(3, 2, rider="Moved!\n"), row(4, 2, rider=None), row(30)))
    assert len(refuse_differences(tmp_path / "t")) == 3
    table.refresh().compact()
    assert len(refuse_differences(tmp_path / "t")) == 3


def test_indexed_columns_stay_as_long_as_their_indexes(path):
    """Each write keeps an index in step by its column's name: without the column all of them would fail."""
    table = HudiTable.open(path)
    for change in (
        lambda update: update.drop("rider"),
        lambda update: update.rename("day", "date"),
        lambda update: update.change_type("day", "string"),
        lambda update: update.drop("rider").add("rider", "int"),
        lambda update: update.replace_columns("id string, city string, ver int"),
    ):
        with pytest.raises(SchemaError, match=r"the index .*_index_.* is of it"):
            change(table.update_schema()).commit()
    table.update_schema().drop("num").comment("rider", "who drives").commit()
    table = table.refresh()
    columns = [name for name in SCHEMA.names if name != "num"]
    table.upsert(rows(row(3, 2, rider="moved")).select(columns))
    assert len(refuse_differences(path)) == 5
    table.refresh().metadata.delete(["secondary_index_by_day"])
    table.refresh().update_schema().drop("day").commit()
    table.refresh().upsert(rows(row(4, 2, rider="too")).select([name for name in columns if name != "day"]))
    assert len(refuse_differences(path)) == 4


def test_the_command_line_makes_and_deletes_indexes(tmp_path):
    path = str(tmp_path / "t")
    HudiTable.create(path, name="t", version=9, record_keys=["id"]).insert(rows(*map(row, range(4))))
    done = CliRunner().invoke(
        cli, ["metadata", "init", path, "--index", "ym=column_stats(at):expr=date_format,format=yyyy"]
    )
    assert done.exit_code == 0, done.output
    assert refuse_differences(path) == ["expr_index_ym"]
    done = CliRunner().invoke(cli, ["metadata", "delete", path, "--partition", "expr_index_ym"])
    assert done.exit_code == 0, done.output
    options = "expr=regexp_extract,pattern=^[^,=]{1,3},idx=0"
    done = CliRunner().invoke(cli, ["metadata", "init", path, "--index", f"head=column_stats(id):{options}"])
    assert done.exit_code == 0, done.output
    (one,) = [each for each in HudiTable.open(path).metadata.reader.index_definitions if each.name == "expr_index_head"]
    assert dict(one.options) == {"expr": "regexp_extract", "pattern": "^[^,=]{1,3}", "idx": "0"}
    assert refuse_differences(path) == ["expr_index_head"]
    done = CliRunner().invoke(cli, ["metadata", "delete", path, "--partition", "expr_index_head"])
    assert refuse_differences(path) == []
    shutil.rmtree(path)
