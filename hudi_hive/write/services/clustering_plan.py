"""Plans of clusterings: which partitions and file groups they take, in which input groups, under the names of Hudi.

Source: RFC-19, ``ClusteringPlanPartitionFilter``, ``PartitionAwareClusteringPlanStrategy``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError, WriteError
from hudi_hive.options import PartitionFilterMode, buckets
from hudi_hive.options import services as options
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import REPLACE_COMMIT
from hudi_hive.timeline.payloads import CLUSTERING_SCHEMA, ClusteringPlan
from hudi_hive.write.options import ClusteringSettings
from hudi_hive.write.services.compaction import busy_groups, slice_metrics

CLUSTER: Final = "CLUSTER"
"""The operation in commits of clusterings."""
_EXECUTIONS: Final = "org.apache.hudi.client.clustering.run.strategy."
_HOURS: Final = 24
_RUN_HERE: Final = (*options.SORT_AND_SIZE_EXECUTIONS, options.SINGLE_FILE_EXECUTION, *buckets.CONSISTENT_EXECUTIONS)


@dataclass(frozen=True)
class InputGroups:
    """What a clustering takes.

    Attributes:
        slices: the slices of all input groups (``CLUSTERING_SCHEMA``), those of a group of one partition.
        outputs: for each input group, how many file groups it is written to.
        metrics: for each input group, what rewriting it reads and writes.
        extra: for each input group, what else its plan says of it; none without buckets.
    """

    slices: pa.Table
    outputs: tuple[int, ...]
    metrics: tuple[Mapping[str, float], ...]
    extra: tuple[Mapping[str, str], ...] = ()


def execution_class(settings: ClusteringSettings, *, buckets: bool = False) -> str:
    """The class that a plan names as the one that runs it, with Hudi's package.

    Args:
        settings: the options of clustering.
        buckets: of a table under consistent hashing.
    """
    return _EXECUTIONS + (settings.bucket_execution if buckets else settings.execution)


def refuse_execution(plan: ClusteringPlan, path: str) -> None:
    """Refuse a plan that would be run in another way than it asks for.

    Args:
        plan: of any writer.
        path: base path of the table.

    Raises:
        UnsupportedTableError: its class is none of those that are run here.
        WriteError: it is to write one file for each file group, and has input groups of several, or several outputs.
    """
    name = (plan.strategy or "").rpartition(".")[2]
    if name and name not in _RUN_HERE:
        raise UnsupportedTableError(
            f"clusterings of the strategy {plan.strategy} are not run",
            path=path,
            instant=plan.instant.requested,
            remedy="run it where it was planned, or roll it back",
        )
    if name == options.SINGLE_FILE_EXECUTION:
        groups = pc.value_counts(plan.slices["group"])
        if any(count > 1 for count in groups.field("counts").to_pylist()) or any(n > 1 for n in plan.output_groups):
            raise WriteError(
                f"a clustering of the strategy {name} has input groups of more than one file",
                path=path,
                instant=plan.instant.requested,
                remedy=f"roll it back, and plan it with {options.CLUSTERING_PLAN_STRATEGY}={options.SINGLE_FILE_PLAN}",
            )


def chosen_partitions(
    client: MetaClient, settings: ClusteringSettings, named: Sequence[str] | None = None, *, hour: int | None = None
) -> list[str] | None:
    """Paths of the partitions that a clustering is planned for, in the order in which they are taken; None for all.

    Args:
        client: the table.
        settings: the options that choose partitions; each leaves some out of what the one before leaves: names, the
            regular expression, the filter mode.
        named: partitions in place of those that the options name.
        hour: of the day, for ``DAY_ROLLING``; the present one of this machine's time zone without it.
    """
    chosen = list(named or settings.partitions) or None
    mode, pattern = settings.partition_filter, settings.partition_regex
    if mode is PartitionFilterMode.NONE and pattern is None:
        return chosen
    paths = client.partition_paths() if chosen is None else chosen
    if pattern is not None:
        matches = re.compile(pattern).fullmatch
        paths = [path for path in paths if matches(path)]
    if mode is PartitionFilterMode.RECENT_DAYS:
        recent = sorted(paths, reverse=True)[max(settings.skipped, 0) :]
        return recent[: settings.lookback] if settings.lookback > 0 else recent
    if mode is PartitionFilterMode.SELECTED_PARTITIONS:
        begin, end = settings.begin_partition, settings.end_partition
        return [path for path in paths if (begin is None or begin <= path) and (end is None or path <= end)]
    if mode is PartitionFilterMode.DAY_ROLLING:
        return sorted(paths)[datetime.now().hour if hour is None else hour :: _HOURS]
    return paths


def input_groups(client: MetaClient, settings: ClusteringSettings, named: Sequence[str] | None = None) -> InputGroups:
    """The input groups of a clustering: small file groups that no table service is at, of each partition its own.

    Args:
        client: the table.
        settings: the options of clustering.
        named: partitions in place of those that the options name.
    """
    chosen = chosen_partitions(client, settings, named)
    by_partition: dict[str, list[dict[str, Any]]] = defaultdict(list, {path: [] for path in chosen or ()})
    for row in _small_slices(client, settings, chosen):
        by_partition[row["partition"]].append(row)
    clustered = clusterings(client) if settings.incremental else frozenset()
    rows: list[dict[str, Any]] = []
    outputs: list[int] = []
    metrics: list[Mapping[str, float]] = []
    apart = settings.keeps_files_apart
    alone = apart or settings.single_groups or bool(settings.sort_columns)
    for own in by_partition.values():
        if untouched(own, clustered):
            continue
        for part in ([row] for row in own) if apart else _packed(own, settings.max_group_size):
            if len(outputs) == settings.max_groups or (len(part) < 2 and not alone):
                continue
            rows += [{**row, "group": len(outputs)} for row in part]
            metrics.append(group_metrics(part))
            outputs.append(1 if apart else -(-sum(row["size"] for row in part) // settings.target_file_size))
    table = pa.Table.from_pylist([{k: row[k] for k in CLUSTERING_SCHEMA.names} for row in rows], CLUSTERING_SCHEMA)
    return InputGroups(table, tuple(outputs), tuple(metrics))


def group_metrics(slices: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    """What rewriting the slices of an input group reads and writes, under the names that Hudi has in plans."""
    each = [slice_metrics(row, sum(row["log_sizes"])) for row in slices]
    return {name: sum(one[name] for one in each) for name in each[0]}


def _small_slices(
    client: MetaClient, settings: ClusteringSettings, partitions: list[str] | None
) -> Iterable[dict[str, Any]]:
    """Slices below the limit of size, with their ``size``, but for those that a table service is at."""
    if partitions is not None and not partitions:
        return
    busy = busy_groups(client)
    for row in client.file_system_view(partitions).latest_merged_file_slices().to_pylist():
        size = (row["base_size"] or 0) + sum(row["log_sizes"])
        if (row["partition"], row["file_id"]) not in busy and size < settings.small_file_limit:
            yield {**row, "size": size}


def untouched(slices: Iterable[Mapping[str, Any]], clustered: frozenset[str]) -> bool:
    """Whether nothing was written to slices since they were clustered.

    Args:
        slices: those of a partition.
        clustered: times of clusterings.
    """
    return all(row["base_instant"] in clustered and not row["log_files"] for row in slices)


def clusterings(client: MetaClient) -> frozenset[str]:
    """Times of the completed clusterings on the active timeline."""
    timeline = client.timeline
    replaced = timeline.completed({REPLACE_COMMIT})
    return frozenset(one.requested for one in replaced if timeline.commit_metadata(one).operation == CLUSTER)


def _packed(rows: list[dict[str, Any]], most: int) -> Iterator[list[dict[str, Any]]]:
    """Slices, the largest first, in groups of at most so many bytes."""
    group: list[dict[str, Any]] = []
    size = 0
    for row in sorted(rows, key=lambda row: -int(row["size"])):
        if group and size + row["size"] > most:
            yield group
            group, size = [], 0
        group.append(row)
        size += row["size"]
    if group:
        yield group
