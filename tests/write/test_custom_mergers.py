"""Mergers that users register: reads, writes and compactions merge with them, and say so when they fail."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

import hudi_hive
from hudi_hive import HudiTable, MergedRecords
from hudi_hive.errors import InvalidOptionError, MergerError, UnsupportedTableError
from hudi_hive.write.options import WriteConfig
from tests.support.mergers import (
    EVENT_TIME,
    NON_DEFAULTS,
    STRATEGY,
    SUM,
    event_time,
    longest_fold,
    non_defaults,
    total,
)
from tests.support.running.long import with_long_cases

MODEL = "org.apache.hudi.common.model."
SCHEMA = pa.schema([("id", pa.int64()), ("ts", pa.int64()), ("n", pa.int64()), ("name", pa.string())])
KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]


@pytest.fixture(autouse=True)
def registrations():
    hudi_hive.register_merger(EVENT_TIME, event_time)
    hudi_hive.register_merger(NON_DEFAULTS, non_defaults)
    hudi_hive.register_merger(SUM, total, strategy_id=STRATEGY)
    yield
    for name in (EVENT_TIME, NON_DEFAULTS, SUM):
        hudi_hive.unregister_merger(name)


def made(path, payload, kind, version=8, **fields):
    fields = {"record_keys": ["id"], "ordering_fields": ["ts"], "payload_class": payload, **fields}
    return HudiTable.create(path, name="t", table_type=kind, version=version, **fields)


def rows(*values):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=False)) for row in values], SCHEMA)


def shown(path, **options):
    table = HudiTable.open(path).scan(selected_fields=[*SCHEMA.names, "_hoodie_commit_time"], **options).to_arrow()
    return table.sort_by("id").to_pylist()


def instants_as_numbers(histories):
    """Rows with the number of the commit in place of its time: two tables have the same ones."""
    times = sorted({row["_hoodie_commit_time"] for state in histories for row in state})
    return [[{**row, "_hoodie_commit_time": times.index(row["_hoodie_commit_time"])} for row in s] for s in histories]


def history(path, seed, *, deletes, compacts):
    """States of a table behind some random writes."""
    chance, states = random.Random(seed), []
    for number in range(6):
        keys = chance.sample(range(9), 5)
        table = HudiTable.open(path)
        if deletes and number in (2, 4):
            table.delete(pa.table({"id": pa.array(keys[:2])}))
        else:
            values = [(k, chance.randrange(4), chance.choice([None, k, 7]), chance.choice([None, "a"])) for k in keys]
            # Rows of one key in one write, too.
            table.upsert(rows(*values, *[(k, t, 99, None) for k, t, _, _ in values[:2]]))
        if number in (3, 5):
            states.append(shown(path))
        if compacts and number == 3:
            HudiTable.open(path).compact()
    return states


HISTORIES = [
    (EVENT_TIME, "EventTimeAvroPayload", 8, "MERGE_ON_READ"),
    (NON_DEFAULTS, "OverwriteNonDefaultsWithLatestAvroPayload", 8, "COPY_ON_WRITE"),
    (EVENT_TIME, "EventTimeAvroPayload", 6, "COPY_ON_WRITE"),
    (EVENT_TIME, "EventTimeAvroPayload", 6, "MERGE_ON_READ"),
    (EVENT_TIME, "EventTimeAvroPayload", 8, "COPY_ON_WRITE"),
    (NON_DEFAULTS, "OverwriteNonDefaultsWithLatestAvroPayload", 8, "MERGE_ON_READ"),
]


@pytest.mark.parametrize(("custom", "own", "version", "kind"), with_long_cases(HISTORIES[:2], HISTORIES))
@pytest.mark.parametrize("seed", with_long_cases([0], range(5)))
def test_histories_are_those_of_the_class_of_hudi(tmp_path, custom, own, version, kind, seed):
    states = []
    for payload in (custom, MODEL + own):
        made(tmp_path / payload, payload, kind, version)
        with_deletes = custom == EVENT_TIME
        states.append(history(tmp_path / payload, seed, deletes=with_deletes, compacts=kind == "MERGE_ON_READ"))
    assert instants_as_numbers(states[0]) == instants_as_numbers(states[1])


FOLDS = [(kind, version, compacts) for kind in KINDS for version in (6, 8, 9) for compacts in (True, False)]


@pytest.mark.parametrize(("kind", "version", "compacts"), with_long_cases([FOLDS[4], FOLDS[6], FOLDS[11]], FOLDS))
def test_versions_come_in_the_order_of_the_commits(tmp_path, kind, version, compacts):
    hudi_hive.register_merger("com.acme.Fold", longest_fold)
    path = tmp_path / "t"
    made(path, "com.acme.Fold", kind, version)
    for number, text in enumerate("abcd"):
        HudiTable.open(path).upsert(rows((1, 0, number, text), (number + 10, 0, 0, text)))
        if compacts and number == 1 and kind == "MERGE_ON_READ":
            HudiTable.open(path).compact()
    assert [row["name"] for row in shown(path)] == ["a>b>c>d", "a", "b", "c", "d"]
    HudiTable.open(path).upsert(rows((1, 0, 0, "x"), (1, 0, 0, "y")))
    assert shown(path)[0]["name"] == "a>b>c>d>x>y"
    hudi_hive.unregister_merger("com.acme.Fold")


@pytest.mark.parametrize("kind", KINDS)
def test_a_strategy_finds_its_merger_and_filters_see_merged_values(tmp_path, kind):
    path = tmp_path / "t"
    made(path, None, kind, merge_strategy_id=STRATEGY)
    options = {"hoodie.metadata.index.column.stats.enable": "true"}
    for _ in range(3):
        HudiTable.open(path).upsert(rows((1, 0, 10, "a"), (2, 0, 1, "b")), options=options)
    assert [row["n"] for row in shown(path)] == [30, 3]
    # No file has a value above 10 in a merge-on-read table.
    assert [row["id"] for row in shown(path, row_filter="n > 25")] == [1]
    assert [row["id"] for row in shown(path, row_filter="id = 2")] == [2]
    HudiTable.open(path).delete(pa.table({"id": [1]}))
    assert [row["id"] for row in shown(path)] == [2]


def test_ranges_and_changes_show_whole_rows(tmp_path):
    path = tmp_path / "t"
    made(path, SUM, "MERGE_ON_READ", 6, cdc=True)
    reports = [HudiTable.open(path).upsert(rows((1, 0, 10, "a"))) for _ in range(3)]
    begin = reports[1].instant.requested
    table = HudiTable.open(path).scan(begin=begin).to_arrow()
    assert table.select(["n", "_hoodie_commit_time"]).to_pylist() == [
        {"n": 30, "_hoodie_commit_time": reports[2].instant.requested}
    ]
    (change,) = HudiTable.open(path).scan(begin=begin, query_type="cdc").to_arrow().to_pylist()
    assert [json.loads(change[image])["n"] for image in ("before", "after")] == [20, 30]


@pytest.mark.parametrize("kind", KINDS)
def test_without_registration_the_class_is_refused(tmp_path, kind):
    path = tmp_path / "t"
    made(path, SUM, kind)
    HudiTable.open(path).upsert(rows((1, 0, 10, "a")))
    HudiTable.open(path).upsert(rows((1, 0, 10, "a")))
    hudi_hive.unregister_merger(SUM)
    with pytest.raises(UnsupportedTableError, match=r'hudi_hive\.register_merger\("com\.acme\.Sum"'):
        HudiTable.open(path).upsert(rows((1, 0, 1, "a")))
    if kind == "MERGE_ON_READ":
        with pytest.raises(UnsupportedTableError, match=r"com\.acme\.Sum"):
            shown(path)
    of_bases = shown(path, query_type="read_optimized")
    assert [row["n"] for row in of_bases] == [20 if kind == "COPY_ON_WRITE" else 10]


def broken(kind):
    def merge(older, newer):
        if kind == "raises":
            raise ValueError("no such rate")
        if kind == "rows":
            return MergedRecords(newer.rows.slice(1))
        if kind == "schema":
            return MergedRecords(newer.rows.drop_columns(["n"]))
        if kind == "type":
            return MergedRecords(newer.rows.set_column(2, "n", newer.rows.column("n").cast(pa.int32())))
        if kind == "keys":
            return MergedRecords(
                newer.rows.set_column(0, newer.rows.schema.field(0), pa.nulls(len(newer.keys), "int64"))
            )
        if kind == "flags":
            return MergedRecords(newer.rows, pa.array([None] * len(newer.keys), pa.bool_()))
        return newer.rows

    return merge


@pytest.mark.parametrize("kind", ["raises", "rows", "schema", "type", "keys", "flags", "other"])
def test_a_merger_that_fails_leaves_the_table_as_it_was(tmp_path, kind):
    path = tmp_path / "t"
    made(path, SUM, "COPY_ON_WRITE")
    HudiTable.open(path).upsert(rows((1, 0, 10, "a"), (2, 0, 10, "a")))
    before, files = shown(path), {p for p in path.rglob("*.parquet") if ".hoodie" not in p.parts}
    hudi_hive.register_merger(SUM, broken(kind))
    with pytest.raises(MergerError, match=r"merger com\.acme\.Sum of table t ") as caught:
        HudiTable.open(path).upsert(rows((1, 0, 10, "a")))
    assert str(path) in str(caught.value.path)
    assert shown(path) == before
    assert {p for p in path.rglob("*.parquet") if ".hoodie" not in p.parts} == files


def test_options_register_mergers(tmp_path):
    hudi_hive.unregister_merger(SUM)
    path = tmp_path / "t"
    table = made(path, None, "MERGE_ON_READ", merge_mode="COMMIT_TIME_ORDERING")
    classes = {"hoodie.write.record.merge.custom.implementation.classes": SUM}
    with pytest.raises(InvalidOptionError, match="no Python merger is registered"):
        table.upsert(rows((1, 0, 10, "a")), options=classes)
    named = {"hudi_hive.record.mergers": f"{SUM}@{STRATEGY}=tests.support.mergers:total"}
    with pytest.raises(InvalidOptionError, match="contradicts the table, which merges by COMMIT_TIME_ORDERING"):
        table.upsert(rows((1, 0, 10, "a")), options=classes | named)
    with pytest.raises(InvalidOptionError, match="cannot be imported"):
        table.scan(options={"hudi_hive.record.mergers": f"{SUM}=tests.support.mergers:none"})
    of_its_own = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id", **named}
    config = WriteConfig.of(of_its_own | classes)
    properties = config.table_definition().to_properties()
    assert (properties["hoodie.record.merge.mode"], properties["hoodie.record.merge.strategy.id"]) == (
        "CUSTOM",
        STRATEGY,
    )


@pytest.mark.parametrize("name", ["", MODEL + "EventTimeAvroPayload"])
def test_classes_that_are_merged_without_take_no_merger(name):
    with pytest.raises(InvalidOptionError, match="cannot have a merger"):
        hudi_hive.register_merger(name, total)


def test_what_needs_to_know_the_outcome_is_refused(tmp_path):
    made(tmp_path / "t", SUM, "COPY_ON_WRITE")
    HudiTable.open(tmp_path / "t").upsert(rows((1, 0, 10, "a")))
    with pytest.raises(UnsupportedTableError, match=r"com\.acme\.Sum merges"):
        HudiTable.open(tmp_path / "t").mutator().connect()
