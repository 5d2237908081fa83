"""Clusterings along curves and by Hudi's plan and execution strategies, from the options to the files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import HudiHiveError, InvalidOptionError, UnsupportedTableError, WriteError
from hudi_hive.formats.avro import read_container
from hudi_hive.options import LayoutStrategy
from hudi_hive.timeline import TimelineWriter
from hudi_hive.timeline.payloads import ClusteringPlan, encode_requested_replace
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import run_planned_clusterings
from hudi_hive.write.services.clustering_plan import chosen_partitions, input_groups
from hudi_hive.write.services.ordering import RowOrder

PLAN = "hoodie.clustering.plan.strategy."
MODE = "hoodie.clustering.plan.partition.filter.mode"
EXECUTION = "hoodie.clustering.execution.strategy.class"
LAYOUT = "hoodie.layout.optimize.strategy"
HUDI_PLANS = "org.apache.hudi.client.clustering.plan.strategy."
HUDI_RUNS = "org.apache.hudi.client.clustering.run.strategy."
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false", "hoodie.parquet.small.file.limit": "0"}
STATISTICS = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
DAYS = ("2024-01-01", "2024-01-02", "2024-01-03", "2024-02-01")
METRICS = ("TOTAL_IO_MB", "TOTAL_IO_READ_MB", "TOTAL_IO_WRITE_MB", "TOTAL_LOG_FILES", "TOTAL_LOG_FILES_SIZE")
ROWS = 4_000
FILES = 64


def _path(table: HudiTable) -> str:
    return table.client.base_path.removeprefix("file:")


def _square(seed: int = 0) -> pa.Table:
    """Rows whose columns ``x`` and ``y`` have nothing to do with one another."""
    generator = np.random.default_rng(seed)
    x, y = generator.permutation(ROWS), generator.permutation(ROWS)
    return pa.table({"id": range(ROWS), "x": x, "y": y, "p": pa.array(["a"] * ROWS)})


def _seen(table: HudiTable) -> list[tuple[Any, ...]]:
    scan = table.scan(selected_fields=["id", "x", "y"])
    return sorted(zip(*(column.to_pylist() for column in scan.to_arrow().columns), strict=True))


def _clustered(path: Path, **layout: str) -> HudiTable:
    table = HudiTable.create(path, name="t", record_keys=["id"])
    table.bulk_insert(_square(), QUIET | STATISTICS)
    size = table.client.file_system_view().latest_base_files()["size"][0].as_py()
    options = {PLAN + "target.file.max.bytes": str(-(-size // FILES)), PLAN + "sort.columns": "x,y"}
    table.cluster(QUIET | STATISTICS | options | layout)
    return table


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    return _clustered(tmp_path_factory.mktemp("linear") / "t")


def _opened(table: HudiTable, condition: str) -> int:
    return table.scan(condition).plan().slices.num_rows


@pytest.mark.parametrize("layout", ["z-order", "hilbert"])
def test_filters_on_either_column_open_few_files_of_a_curve(layout: str, linear: HudiTable, tmp_path: Path) -> None:
    curved = _clustered(tmp_path / "t", **{LAYOUT: layout})
    assert _seen(curved) == _seen(linear)
    assert _opened(linear, "id >= 0") == _opened(curved, "id >= 0") == FILES
    for column in ("x", "y"):
        opened = [_opened(curved, f"{column} BETWEEN {low} AND {low + 100}") for low in range(0, ROWS, ROWS // 8)]
        assert sum(opened) / len(opened) < FILES / 3, opened
    assert _opened(linear, "y BETWEEN 1000 AND 1100") == FILES
    assert _opened(curved, "x < 100 AND y < 100") <= 2


# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    """A table of four days with two files each."""
    path = tmp_path_factory.mktemp("dated") / "t"
    table = HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["day"])
    for number in range(2):
        ids = range(number * 100, number * 100 + len(DAYS))
        table.insert(pa.table({"id": ids, "day": DAYS, "n": ids}), QUIET | {"hoodie.metadata.enable": "false"})
    return table


def _planned(table: HudiTable, **options: str) -> list[str]:
    settings = WriteConfig.of(options, table.client.config).clustering
    groups = input_groups(table.client, settings)
    by_group: dict[int, list[str]] = {}
    for row in groups.slices.to_pylist():
        by_group.setdefault(row["group"], []).append(row["partition"])
    assert len(groups.outputs) == len(by_group) and all(len(set(paths)) == 1 for paths in by_group.values())
    return [paths[0] for paths in by_group.values()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, DAYS),
        ({PLAN + "class": HUDI_PLANS + "SparkSizeBasedClusteringPlanStrategy"}, DAYS),
        ({PLAN + "class": HUDI_PLANS + "JavaSizeBasedClusteringPlanStrategy"}, DAYS),
        ({MODE: "RECENT_DAYS"}, (DAYS[3], DAYS[2])),
        ({PLAN + "class": "SparkRecentDaysClusteringPlanStrategy"}, (DAYS[3], DAYS[2])),
        (
            {PLAN + "class": "FlinkRecentDaysClusteringPlanStrategy", PLAN + "daybased.lookback.partitions": "1"},
            DAYS[3:],
        ),
        (
            {
                MODE: "recent_days",
                PLAN + "daybased.lookback.partitions": "1",
                PLAN + "daybased.skipfromlatest.partitions": "2",
            },
            (DAYS[1],),
        ),
        ({MODE: "RECENT_DAYS", PLAN + "daybased.lookback.partitions": "0"}, DAYS[::-1]),
        ({MODE: "RECENT_DAYS", PLAN + "daybased.skipfromlatest.partitions": "9"}, ()),
        (
            {
                MODE: "SELECTED_PARTITIONS",
                PLAN + "cluster.begin.partition": DAYS[1],
                PLAN + "cluster.end.partition": DAYS[2],
            },
            DAYS[1:3],
        ),
        ({MODE: "SELECTED_PARTITIONS", PLAN + "cluster.end.partition": DAYS[0]}, DAYS[:1]),
        (
            {
                PLAN + "class": "SparkSelectedPartitionsClusteringPlanStrategy",
                PLAN + "cluster.begin.partition": DAYS[2],
            },
            DAYS[2:],
        ),
        ({PLAN + "partition.regex.pattern": "2024-01-.*", MODE: "RECENT_DAYS"}, (DAYS[2], DAYS[1])),
        ({PLAN + "partition.regex.pattern": "nothing"}, ()),
        ({PLAN + "partition.selected": f"{DAYS[2]},{DAYS[0]}"}, (DAYS[2], DAYS[0])),
        ({MODE: "RECENT_DAYS", PLAN + "max.num.groups": "1"}, DAYS[3:]),
        ({PLAN + "class": "SparkSingleFileSortPlanStrategy"}, tuple(day for day in DAYS for _ in range(2))),
        (
            {PLAN + "class": "SparkSingleFileSortPlanStrategy", PLAN + "max.num.groups": "3"},
            (DAYS[0], DAYS[0], DAYS[1]),
        ),
        ({PLAN + "max.bytes.per.group": "1"}, ()),
        ({PLAN + "small.file.limit": "1"}, ()),
    ],
)
def test_plans_take_the_partitions_of_the_strategy_in_its_order(
    dated: HudiTable, options: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert _planned(dated, **options) == list(expected)


def test_day_rolling_takes_each_24th_partition_by_the_hour(dated: HudiTable) -> None:
    settings = WriteConfig.of({MODE: "DAY_ROLLING"}, dated.client.config).clustering
    names = [f"{number:03}" for number in range(50)]
    assert chosen_partitions(dated.client, settings, names, hour=1) == ["001", "025", "049"]
    assert chosen_partitions(dated.client, settings, hour=0) == [DAYS[0]]
    assert chosen_partitions(dated.client, settings, hour=4) == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({PLAN + "class": HUDI_PLANS + "SparkConsistentBucketClusteringPlanStrategy"}, "CONSISTENT_HASHING alone"),
        ({PLAN + "class": "FlinkSizeBasedClusteringPlanStrategyRecently"}, "is not supported"),
        ({EXECUTION: HUDI_RUNS + "SparkConsistentBucketClusteringExecutionStrategy"}, "CONSISTENT_HASHING alone"),
        ({EXECUTION: HUDI_RUNS + "SparkSingleFileSortExecutionStrategy"}, "one file for each"),
        ({MODE: "LAST_WEEK"}, MODE),
        ({MODE: "SELECTED_PARTITIONS"}, "has no partitions"),
        ({PLAN + "partition.regex.pattern": "("}, "no regular expression"),
        ({LAYOUT: "peano"}, LAYOUT),
        ({LAYOUT: "hilbert"}, "there are none"),
        ({LAYOUT: "hilbert", "hoodie.layout.optimize.curve.build.method": "GUESS"}, "curve.build.method"),
        ({"hoodie.layout.optimize.enable": "true"}, "is not supported"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_is_written(
    dated: HudiTable, options: dict[str, str], match: str
) -> None:
    folder = Path(_path(dated))
    before = sorted(folder.rglob("*"))
    with pytest.raises(InvalidOptionError, match=match):
        dated.cluster(options)
    with pytest.raises(InvalidOptionError, match=match):  # behind a write, before the write
        dated.insert(pa.table({"id": [1]}), {**options, "hoodie.clustering.inline": "true"})
    assert sorted(folder.rglob("*")) == before


# -- runs --------------------------------------------------------------------------------------------------------------


def _made(path: Path, version: int = 9, files: int = 3) -> HudiTable:
    table = HudiTable.create(path, name="t", record_keys=["id"], version=version)
    for number in range(files):
        table.bulk_insert(_square(number).slice(0, 300).set_column(0, "id", [range(number * 300, number * 300 + 300)]))
    return table


def _files(table: HudiTable) -> list[pa.Table]:
    files = table.client.file_system_view().latest_base_files()
    return [pq.read_table(Path(_path(table)) / name) for name in files["name"].to_pylist()]


def _record(table: HudiTable, plan: ClusteringPlan) -> dict[str, Any]:
    """The requested metadata of a clustering, as it lies on the timeline."""
    path = Path(_path(table), plan.instant.path)
    (record,) = read_container(path.read_bytes(), str(path))
    return record


def _pending(table: HudiTable) -> list[ClusteringPlan]:
    return list(HudiTable.open(_path(table)).timeline.pending_clustering_plans())


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_plan_names_strategy_and_order_as_hudi_and_keeps_a_curve_for_its_run(version: int, tmp_path: Path) -> None:
    table = _made(tmp_path / "t", version)
    before = _seen(table)
    table.cluster({LAYOUT: "hilbert"}, sort_columns=["x", "y"], schedule=True)
    (plan,) = _pending(table)
    assert plan.strategy == HUDI_RUNS + "SparkSortAndSizeExecutionStrategy"
    assert plan.strategy_params[PLAN + "sort.columns"] == "x,y" and plan.strategy_params[LAYOUT] == "hilbert"
    assert plan.slices.num_rows == 3 and plan.output_groups == (1,)
    (group,) = _record(table, plan)["clusteringPlan"]["inputGroups"]
    assert len(group["slices"]) == 3 and group["metrics"] == dict.fromkeys(METRICS, 0.0)  # whole megabytes
    (commit,) = table.cluster(execute=True).result
    metadata = table.timeline.commit_metadata(commit)
    assert (commit.action, metadata.operation, metadata.replaced.num_rows) == ("replacecommit", "CLUSTER", 3)
    (rows,) = _files(table)
    assert rows.equals(RowOrder(("x", "y"), LayoutStrategy.HILBERT).sorted(rows))
    assert not rows.equals(RowOrder(("x", "y")).sorted(rows))
    assert _seen(table) == before


def test_a_linear_plan_holds_what_hudis_holds(tmp_path: Path) -> None:
    table = _made(tmp_path / "t")
    table.cluster({EXECUTION: "JavaSortAndSizeExecutionStrategy"}, sort_columns=["y"], layout="linear", schedule=True)
    (plan,) = _pending(table)
    assert plan.strategy == HUDI_RUNS + "JavaSortAndSizeExecutionStrategy"
    assert dict(plan.strategy_params) == {PLAN + "sort.columns": "y"}


def test_single_files_are_sorted_each_for_itself(tmp_path: Path) -> None:
    table = _made(tmp_path / "t")
    before, keys = _seen(table), sorted(sorted(rows["id"].to_pylist()) for rows in _files(table))
    options = {
        PLAN + "class": HUDI_PLANS + "SparkSingleFileSortPlanStrategy",
        EXECUTION: HUDI_RUNS + "SparkSingleFileSortExecutionStrategy",
        PLAN + "target.file.max.bytes": "10",  # which does not cut them
    }
    (commit,) = table.cluster(options, sort_columns=["y"]).result
    assert table.timeline.commit_metadata(commit).replaced.num_rows == 3
    files = _files(table)
    assert sorted(sorted(rows["id"].to_pylist()) for rows in files) == keys
    assert all(rows["y"].to_pylist() == sorted(rows["y"].to_pylist()) for rows in files)
    assert _seen(table) == before


def _with_strategy(table: HudiTable, strategy: str) -> str:
    """Plan a clustering, and have its plan name another class; the instant's time."""
    table.cluster(schedule=True)
    (plan,) = _pending(table)
    client = table.client
    name = f".hoodie/timeline/{plan.instant.requested}.clustering.requested"
    Path(_path(table), name).unlink()
    payload = encode_requested_replace(replace(plan, strategy=strategy), client.base_path, client.config.layout)
    TimelineWriter(client.storage, client.config).create_requested("clustering", plan.instant.requested, payload)
    return plan.instant.requested


@pytest.mark.parametrize(
    ("strategy", "error"),
    [
        (HUDI_RUNS + "SparkConsistentBucketClusteringExecutionStrategy", UnsupportedTableError),
        (HUDI_RUNS + "SparkSingleFileSortExecutionStrategy", WriteError),
    ],
)
def test_plans_of_other_writers_that_would_be_run_in_another_way_stay_as_they_are(
    strategy: str, error: type[HudiHiveError], tmp_path: Path
) -> None:
    table = _made(tmp_path / "t")
    time = _with_strategy(table, strategy)
    before = sorted(Path(_path(table)).rglob("*"))
    for arguments in ({}, {"execute": True}):
        with pytest.raises(error, match=r"\d{17}") as caught:
            table.cluster(**arguments)
        assert caught.value.remedy and time in str(caught.value)
    assert sorted(Path(_path(table)).rglob("*")) == before


def test_a_stream_leaves_plans_of_other_strategies_alone(tmp_path: Path) -> None:
    table = _made(tmp_path / "t")
    _with_strategy(table, "com.example.Own")
    (run,) = run_planned_clusterings(ServiceContext(HudiTable.open(_path(table)).client))
    assert isinstance(run.error, UnsupportedTableError)
    assert [one.strategy for one in _pending(table)] == ["com.example.Own"]


def test_clustering_behind_writes_follows_the_curve(tmp_path: Path) -> None:
    options = {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": "1",
        PLAN + "sort.columns": "x,y",
        LAYOUT: "ZORDER",
    }
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"])
    report = table.bulk_insert(_square(), QUIET | options)
    assert report.services.done["clustering"] and not report.services.failed
    (rows,) = _files(table)
    assert rows.equals(RowOrder(("x", "y"), LayoutStrategy.ZORDER).sorted(rows))
    assert Counter(rows["id"].to_pylist()) == Counter(range(ROWS))


def test_the_command_line_orders_along_curves(tmp_path: Path) -> None:
    table = _made(tmp_path / "t")
    command = ["table", "cluster", _path(table), "--sort-columns", "x,y", "--layout"]
    assert CliRunner().invoke(cli, [*command, "peano"]).exit_code == 2
    result = CliRunner().invoke(cli, [*command, "z-order"])
    assert result.exit_code == 0, result.output
    (rows,) = _files(HudiTable.open(_path(table)))
    assert rows.equals(RowOrder(("x", "y"), LayoutStrategy.ZORDER).sorted(rows))
    alone = CliRunner().invoke(cli, ["table", "cluster", _path(table), "--layout", "hilbert"])
    assert isinstance(alone.exception, InvalidOptionError) and "there are none" in str(alone.exception)
