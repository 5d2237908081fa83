"""Data skipping never leaves out a file that holds a row passing the filter, and does leave out others."""

from __future__ import annotations

import json
import logging
import zipfile
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

from hudi_hive.cli import cli
from hudi_hive.errors import CorruptFileError, HudiHiveError
from hudi_hive.metadata import MetadataTable
from hudi_hive.plan.pruning import SkipContext, prune
from hudi_hive.predicate import parse_filter
from hudi_hive.table import BlockRange, scan_logs
from hudi_hive.table_api import HudiTable
from tests.support.fixture_tables import encode_rows, fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

DATA = Path(__file__).parents[1] / "data" / "pruning"


# -- real tables -------------------------------------------------------------------------------------------------------

INDEXED = [
    name
    for name in fixture_names()
    if name.split("_", 1)[1]
    in ("cow_part_mdt", "cow_types", "cow_crash_mdt", "mor_part_rli", "mor_parquet_log_rollback", "mor_crash_mdt")
]
SOME = ("v6_cow_part_mdt", "v8_mor_part_rli")
"""Tables of a short run."""


KEYED = [name for name in fixture_names() if "_mor_" in name]


@pytest.mark.parametrize("name", with_long_cases(SOME, INDEXED))
def test_no_real_row_is_lost(name, thorough):
    """For each column and some of its values, the rows of a filtered scan wherever it leaves out files."""
    table = HudiTable.open(unzip_fixture(name))
    everything = table.scan().to_arrow()
    removed = 0
    for expression in expressions(everything, thorough=thorough):
        scan = table.scan(row_filter=expression)
        left_out = sum(s.before - s.after for s in scan.plan().steps if "statistics" in s.name)
        if left_out:
            passing = parse_filter(expression, everything.schema).evaluate(everything)
            assert scan.count() == everything.filter(passing).num_rows, expression
        removed += left_out
    assert removed or "column_stats" not in table.client.config.metadata_partitions


def expressions(rows, *, thorough):
    for column in rows.schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            continue
        values = pc.unique(rows.column(column.name).drop_null())
        values = values.take(pc.sort_indices(values)) if len(values) > 1 else values
        yield [(column.name, "is", None)]
        if len(values) and thorough:
            places = sorted({0, len(values) // 2, len(values) - 1})
            yield from ([(column.name, operator, values[place])] for place in places for operator in ("=", "<", ">"))
        elif len(values):
            yield [(column.name, "=", values[len(values) // 2])]
            yield [(column.name, ">", values[-2 if len(values) > 1 else -1])]


def row_groups_table(folder):
    with zipfile.ZipFile(DATA / "v9_cow_row_groups.zip") as file:
        file.extractall(folder)
    return folder / "v9_cow_row_groups"


def test_row_groups_without_statistics(tmp_path):
    """Files whose statistics do not tell of all their rows, in which the release's own data skipping loses some."""
    table = HudiTable.open(row_groups_table(tmp_path))
    queries = json.loads((DATA / "v9_cow_row_groups.expected.json").read_text())["queries"]
    for query in queries:
        scan = table.scan(row_filter=query["filter"].format(long="x" * 2_100), selected_fields=["id"])
        assert sorted(scan.to_arrow().column("id").to_pylist()) == query["keys"], query["filter"][:30]
    assert table.scan(row_filter="whole > 1196").plan().slices.num_rows == 0
    assert table.scan(row_filter="ts = 5").plan().slices.num_rows == 1


@pytest.mark.parametrize("name", ["v8_cow_types", "v9_cow_types"])
def test_the_past_is_not_judged_by_the_bounds_of_today(name):
    """Partition statistics tell of the newest files alone."""
    table = HudiTable.open(unzip_fixture(name))
    assert "partition_stats" in table.client.config.metadata_partitions
    as_of = table.timeline.write_instants()[0].requested
    everything = table.scan(as_of=as_of).to_arrow()
    for column in everything.schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            continue
        for value in list(pc.unique(everything.column(column.name).drop_null()))[:3]:
            expression = [(column.name, "=", value)]
            passing = parse_filter(expression, everything.schema).evaluate(everything)
            found = table.scan(row_filter=expression, as_of=as_of).count()
            assert found == everything.filter(passing).num_rows, (column.name, value)


@pytest.mark.parametrize("name", [n for n in fixture_names() if n.split("_", 1)[1] in ("cow_part_mdt", "mor_part_rli")])
def test_ranges_are_pruned_where_that_is_safe(name):
    table = HudiTable.open(unzip_fixture(name))
    query = {"begin": "earliest"}
    everything = table.scan(**query).to_arrow()
    removed = 0
    for key in everything.column("_hoodie_record_key").to_pylist()[::7]:
        scan = table.scan(row_filter=[("_hoodie_record_key", "=", key)], **query)
        assert scan.count() == pc.sum(pc.equal(everything.column("_hoodie_record_key"), key)).as_py()
        steps = {step.name.split(" that ")[0]: step for step in scan.plan().steps}
        assert "partition statistics" not in steps
        removed += sum(s.before - s.after for n, s in steps.items() if n in ("column statistics", "bloom filters"))
    assert removed or "mor" in name


@pytest.mark.parametrize("name", [name for name in fixture_names() if "cdc" in name])
def test_changes_are_pruned_by_time_and_operation(name):
    table = HudiTable.open(unzip_fixture(name))
    query = {"query_type": "cdc", "begin": "earliest"}
    everything = table.scan(**query).to_arrow()
    removed = 0
    times = pc.unique(everything.column("ts_ms")).to_pylist()
    for text in [f"ts_ms = '{time}'" for time in times] + [f"op = '{op}'" for op in "iud"] + ["before IS NULL"]:
        scan = table.scan(row_filter=text, **query)
        passing = parse_filter(text, everything.schema).evaluate(everything)
        assert scan.to_arrow().sort_by("after").equals(everything.filter(passing).sort_by("after")), text
        removed += sum(s.before - s.after for s in scan.plan().steps if s.name.startswith("changes"))
    assert removed


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(KEYED), KEYED))
def test_key_look_ups_find_what_the_merge_gives(name):
    """Keys go below the merge, to base rows and log records alike."""
    table = HudiTable.open(unzip_fixture(name))
    if not table.client.config.populate_meta_fields:
        pytest.skip("no keys to look for")
    try:
        everything = table.scan().to_arrow()
    except HudiHiveError:
        pytest.skip("not read")
    columns = [c.name for c in everything.schema if not pa.types.is_nested(c.type)]
    keys = pc.unique(everything.column("_hoodie_record_key")).to_pylist()
    for wanted in (keys[::9], keys[-1:], ["nobody"]):
        scan = table.scan(row_filter=[("_hoodie_record_key", "in", wanted)], selected_fields=columns)
        merge = scan.plan().merge
        assert merge is None or merge.keys is not None
        chosen = everything.filter(
            pc.is_in(everything.column("_hoodie_record_key"), value_set=pa.array(wanted, pa.string()))
        )
        order = [("_hoodie_record_key", "ascending"), ("_hoodie_commit_seqno", "ascending")]
        ours, expected = scan.to_arrow().sort_by(order), chosen.select(columns).sort_by(order)
        assert encode_rows(ours) == encode_rows(expected)


def test_only_log_records_of_the_required_keys_are_decoded():
    table = HudiTable.open(unzip_fixture("v8_mor_part_rli"))
    plan = table.scan().plan()
    row = next(row for row in plan.slices.to_pylist() if row["log_files"])
    storage = table.client.storage
    args = (storage, row["partition"], row["log_files"])
    everything = scan_logs(*args, blocks=BlockRange(table.timeline))
    key = everything.data[0].batch.column("_hoodie_record_key")[0].as_py()
    some = scan_logs(*args, blocks=BlockRange(table.timeline), keys=pa.array([key]))
    assert len(some.blocks) == len(everything.blocks)
    for mine, whole in zip(some.data, everything.data, strict=True):
        passing = pc.equal(whole.batch.column("_hoodie_record_key"), key)
        assert mine.batch.equals(whole.batch.filter(passing))
    for deletes, all_deletes in zip(some.deletes, everything.deletes, strict=True):
        assert deletes.table.equals(all_deletes.table.filter(pc.equal(all_deletes.table.column("record_key"), key)))
    assert sum(block.batch.num_rows for block in some.data) < sum(block.batch.num_rows for block in everything.data)


def test_data_skipping_can_be_turned_off():
    table = HudiTable.open(unzip_fixture("v9_cow_part_mdt"))
    for options, skips in (({}, True), ({"hoodie.enable.data.skipping": "false"}, False)):
        plan = table.scan(row_filter="_hoodie_record_key = 'nobody'", options=options).plan()
        assert any("statistics" in step.name for step in plan.steps) == skips
        assert (plan.slices.num_rows == 0) == skips


@pytest.mark.parametrize("name", [name for name in fixture_names() if name.endswith("mor_part_rli")])
def test_the_record_index_is_read_when_the_caller_allows_it(name):
    table = HudiTable.open(unzip_fixture(name))
    on = {"hoodie.metadata.record.index.enable": "true"}
    keys = table.scan(selected_fields=["_hoodie_record_key"]).to_arrow().column(0).to_pylist()
    for key in keys[::5]:
        expression = [("_hoodie_record_key", "=", key)]
        scan = table.scan(row_filter=expression, options=on)
        assert scan.to_arrow().num_rows == 1
        assert scan.plan().slices.num_rows == 1
        assert any(s.name.startswith("record index") for s in scan.plan().steps)
        for other in (
            table.scan(row_filter=expression),
            table.scan(row_filter=expression, query_type="read_optimized"),
        ):
            assert not any(s.name.startswith("record index") for s in other.plan().steps)
    assert table.scan(row_filter=[("_hoodie_record_key", "=", "nobody")], options=on).plan().slices.num_rows == 0


def test_an_index_that_cannot_be_read_prunes_nothing(monkeypatch, caplog):
    def broken(*_args, **_kwargs):
        raise CorruptFileError("damaged", path="f")

    monkeypatch.setattr(MetadataTable, "column_ranges", broken)
    monkeypatch.setattr(MetadataTable, "partition_ranges", broken)
    table = HudiTable.open(unzip_fixture("v9_cow_part_mdt"))
    with caplog.at_level(logging.WARNING):
        plan = table.scan(row_filter="_hoodie_record_key = 'nobody'").plan()
    assert plan.slices.num_rows and "column statistics prune nothing" in caplog.text


def test_tables_without_metadata_table_are_planned_as_ever():
    table = HudiTable.open(unzip_fixture("v9_cow_nonpart"))
    plan = table.scan(row_filter="_hoodie_record_key = 'nobody'").plan()
    assert plan.slices.num_rows and not any(
        "that the filter leaves" in s.name and s.unit == "files" for s in plan.steps
    )


def test_renamed_columns_have_no_statistics():
    table = HudiTable.open(unzip_fixture("v9_cow_part_mdt"))
    plan = table.scan().plan()
    row_filter = parse_filter("_hoodie_record_key = 'nobody'", plan.schema)
    kept, steps = prune(table.client, plan.slices, row_filter, SkipContext(renamed=True))
    assert kept.equals(plan.slices) and not steps
    kept, steps = prune(table.client, plan.slices, row_filter, SkipContext())
    assert not kept.num_rows and steps


def test_the_plan_counts_what_footers_rule_out(tmp_path):
    folder = tmp_path / "v9_cow_row_groups"
    table = HudiTable.open(row_groups_table(tmp_path))
    with patch("hudi_hive.formats.base.parquet_base_file._WORTH_SKIPPING", 1):
        files, groups = table.scan(row_filter="ts = 599 OR number = 1.5").footer_steps()
        with table.client.counters.measure() as cost:
            table.scan(row_filter="ts = 599 OR number = 1.5").to_arrow()
    assert (files.unit, files.before, groups.unit) == ("files", 2, "row groups")
    assert groups.before > groups.after == cost["row_groups_read"]
    assert groups.before - groups.after == cost["row_groups_skipped"]
    assert table.scan().footer_steps() == []
    result = CliRunner().invoke(cli, ["plan", str(folder), "--where", "ts = 599", "--format", "json"])
    assert [step["unit"] for step in json.loads(result.stdout)["steps"]][-2:] == ["files", "row groups"]
