"""Filters of jobs leave the partitions, files and row groups that a scan with the same filter plans."""

import functools

import pytest

from hudi_hive import HudiTable
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat, JobConf
from hudi_hive.input_format.filters import FILTER_EXPRESSION, FILTER_TEXT
from hudi_hive.read.scan import footer_steps
from tests.input_format.shared.table_job_helpers import commits, incremental, keys
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture
from tests.support.hive_filters import fixture_filters
from tests.support.running.long import with_long_cases

FIXTURES = [name for name in fixture_names() if name.split("_", 1)[1] in {one.case for one in fixture_filters()}]
SHORT = ("v8_cow_archived", "v9_cow_part_mdt", "v6_cow_ymd_hive", "v8_mor_schema_evo")


@functools.cache
def table_of(name):
    return HudiTable.open(unzip_fixture(name))


def modes(name):
    """The queries of a fixture: input format, keys of the job, arguments of the scan."""
    table = expected(name)["table_name"]
    times = [commit["requested"] for commit in commits(name)]
    yield HoodieParquetInputFormat, {}, {"query_type": "read_optimized"}
    if times:
        moment = times[-1]
        travel = keys(table, snapshot__time=moment)
        yield HoodieParquetInputFormat, travel, {"query_type": "read_optimized", "as_of": moment}
        yield HoodieParquetRealtimeInputFormat, travel, {"as_of": moment}
    yield HoodieParquetRealtimeInputFormat, {}, {}
    if table_of(name).client.config.populate_meta_fields:
        range_ = incremental(table, max__commits="-1") | {f"hoodie.{table}.ro.stop.at.compaction": "false"}
        yield HoodieParquetRealtimeInputFormat, range_, {"begin": "earliest"}


def groups_of(plan):
    slices = plan.slices
    return set(zip(slices.column("partition").to_pylist(), slices.column("file_id").to_pylist(), strict=True))


def row_groups(client, plan):
    """Files and row groups that footers leave; those without any are no different from none."""
    return {step.unit: step.after for step in footer_steps(client.storage, plan) if step.after}


@pytest.mark.parametrize("name", with_long_cases(SHORT, FIXTURES))
def test_plans_what_a_scan_with_the_filter_plans(name, thorough):
    table = table_of(name)
    case = name.split("_", 1)[1]
    filters = [one for one in fixture_filters() if one.case == case]
    assert filters
    if not thorough:  # each condition of one release of Hive, by turns
        conditions = list(dict.fromkeys(one.sql for one in filters))
        releases = sorted({one.version for one in filters})
        turns = {sql: releases[number % len(releases)] for number, sql in enumerate(conditions)}
        filters = [one for one in filters if turns[one.sql] == one.version]
    less = 0
    queries = list(modes(name))
    for turn, (kind, conf, query) in enumerate(queries):
        path = {"mapreduce.input.fileinputformat.inputdir": str(unzip_fixture(name)), **conf}
        (unfiltered,) = kind(JobConf(path)).plan.tables.values()
        everything = table.scan(**query).plan()
        both = groups_of(unfiltered.scan) & groups_of(everything)
        for number, one in enumerate(filters):
            if not thorough and number % len(queries) != turn:
                continue
            expected_plan = table.scan(one.sql, **query).plan()
            job = kind(JobConf({**path, FILTER_EXPRESSION: one.serialized, FILTER_TEXT: one.text}))
            (planned,) = job.plan.tables.values()
            label = (name, one.version, one.sql, kind.__name__, query)
            assert groups_of(planned.scan) & both == groups_of(expected_plan) & both, label
            less += planned.statuses.num_rows < unfiltered.statuses.num_rows
            if groups_of(unfiltered.scan) == groups_of(everything):
                assert row_groups(table.client, planned.scan) == row_groups(table.client, expected_plan), label
    assert less or case in ("mor_empty",)
