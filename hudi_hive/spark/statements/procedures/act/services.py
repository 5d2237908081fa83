"""Procedures that run table services: compaction, clustering, clean, archival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow.compute as pc
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.errors import InvalidOptionError, SparkError, UnknownColumnError, UnsupportedTableError
from hudi_hive.options import services as declared
from hudi_hive.options.write import METADATA_ENABLE
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import python_session
from hudi_hive.spark.scan import table_snapshot
from hudi_hive.spark.statements.procedures.act.target import (
    BOTH,
    EXECUTE,
    SCHEDULE,
    chosen_instants,
    operation_of,
    refreshed,
    services_of,
    target_of,
)
from hudi_hive.spark.statements.procedures.base import (
    PATH,
    TABLE,
    TABLE_OR_PATH,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
)
from hudi_hive.timeline.instants import CLEAN, COMPACTION
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.services import (
    TableServices,
    clean_is_due,
    compaction_is_due,
    execute_clean,
    execute_clustering,
    execute_compaction,
    pending_clusterings,
    schedule_clustering,
    schedule_compaction,
)

_OPTIONS: Final = Parameter("options")
_INVOLVED: Final = "show_involved_partition"
_PATH: Final = "_partition_path"
_CLEAN_VERSION: Final = 2
"""Of the metadata of cleans."""


# -- compaction --------------------------------------------------------------------------------------------------------


def _run_compaction(call: ProcedureCall) -> Rows:
    services = services_of(call)
    client = services.context.client
    text = str(call.value("op")).strip()
    operation = operation_of(call, BOTH if text.lower() == "run" else text)
    instants = call.text("instants")
    if instants is None and call.value("timestamp") is not None:
        instants, operation = str(call.value("timestamp")), EXECUTE
    pending = sorted(one.requested for one in client.timeline.pending({COMPACTION}))
    chosen, operation = chosen_instants(call, pending, operation, instants)
    if operation != EXECUTE:
        if not client.config.is_merge_on_read:
            raise UnsupportedTableError(
                "CALL run_compaction: only merge-on-read tables are compacted",
                path=call.location,
                remedy="join small files of this one by CALL run_clustering",
            )
        settings = WriteConfig.of(services.context.options, client.config).compaction
        planned = schedule_compaction(services.context) if compaction_is_due(client, settings) else None
        chosen = chosen if planned is None else [planned.requested]
    timeline = services.context.reload().client.timeline
    plans = {one.requested: one for one in timeline.pending({COMPACTION}) if one.requested in chosen}
    sizes = {requested: timeline.compaction_plan(one).operations.num_rows for requested, one in plans.items()}
    if operation != SCHEDULE:
        for requested in sorted(plans):
            execute_compaction(services.context, plans[requested])
        refreshed(call)
    states = _states(services)
    return [[requested, sizes[requested], states[requested]] for requested in sorted(sizes, reverse=True)]


def _states(services: TableServices) -> dict[str, str]:
    """Requested time -> state of the instants that are on the timeline now."""
    return {one.requested: one.state.name for one in services.context.reload().client.timeline.instants}


# -- clustering --------------------------------------------------------------------------------------------------------


def _run_clustering(call: ProcedureCall) -> Rows:
    operation = operation_of(call, call.text("op"))
    order, layout = call.text("order"), call.text("order_strategy")
    options = {} if order is None else {declared.CLUSTERING_SORT_COLUMNS.name: ",".join(_columns(call, order))}
    if layout is not None:
        options[declared.LAYOUT_STRATEGY.name] = layout
    defaults = {declared.CLUSTERING_SINGLE_GROUPS.name: "true", declared.INCREMENTAL_SERVICES.name: "true"}
    services = services_of(call, options, defaults=defaults)
    partitions = _partitions(call)
    if partitions is not None and not partitions:
        return []
    pending = sorted(one.requested for one in pending_clusterings(services.context.client))
    chosen, operation = chosen_instants(call, pending, operation, call.text("instants"))
    if operation != EXECUTE:
        planned = schedule_clustering(services.context, partitions)
        chosen = chosen if planned is None else [planned.requested]
    timeline = services.context.reload().client.timeline
    plans = {
        one.instant.requested: one for one in timeline.pending_clustering_plans() if one.instant.requested in chosen
    }
    if operation != SCHEDULE:
        for requested in sorted(plans):
            execute_clustering(services.context, plans[requested].instant)
        refreshed(call)
    states = _states(services)
    rows = []
    for requested in sorted(plans, reverse=True):
        slices = plans[requested].slices
        involved = ",".join(pc.unique(slices["partition"]).to_pylist()) if call.flag(_INVOLVED) else "*"
        rows.append([requested, pc.count_distinct(slices["group"]).as_py(), states[requested], involved])
    return rows


def _columns(call: ProcedureCall, order: str) -> list[str]:
    """The table's names of the columns to sort by.

    Raises:
        UnknownColumnError: the table has no such column.
    """
    names = {name.lower(): name for name in call.client.schema().names}
    columns = [one.strip() for one in order.split(",") if one.strip()]
    for column in columns:
        if column.lower() not in names:
            raise UnknownColumnError(
                f"CALL {call.procedure.name}: the table has no column {column!r} to order by",
                path=call.location,
                remedy=f"its columns are {', '.join(names.values())}",
            )
    return [names[column.lower()] for column in columns]


def _partitions(call: ProcedureCall) -> list[str] | None:
    """Paths of the partitions that a call is about; None for all."""
    predicate, selected = call.text("predicate"), call.text("selected_partitions")
    if predicate is None and selected is None:
        return None
    existing = call.client.partition_paths()
    if predicate is None:
        named = [one.strip().strip("/") for one in (selected or "").split(",")]
        return [path for path in existing if path in named]
    return _matching(call, existing, predicate)


def _matching(call: ProcedureCall, paths: Sequence[str], predicate: str) -> list[str]:
    """Paths of the partitions whose values pass a predicate.

    Raises:
        SparkError: it is none, or names other columns than those of partitions.
    """
    target = target_of(call)
    names = target.partition_columns
    if not names:
        raise SparkError(
            f"CALL {call.procedure.name}: a table without partitions takes no predicate",
            path=call.location,
            remedy="leave predicate out",
        )
    snapshot = table_snapshot(call.hook.environment, call.hook.session, call.location, Query.of("snapshot"), None)
    values = snapshot.partition_texts(paths).rename_columns(names).to_pylist()
    session = python_session(call.hook.session)
    texts = StructType([StructField(_PATH, StringType()), *(StructField(name, StringType()) for name in names)])
    frame = session.createDataFrame([(path, *row.values()) for path, row in zip(paths, values, strict=True)], texts)
    typed = [frame[name].cast(target.columns[name].dataType).alias(name) for name in names]
    try:
        chosen = frame.select(_PATH, *typed).where(predicate).select(_PATH).collect()
    except (AnalysisException, ParseException) as error:
        raise SparkError(
            f"CALL {call.procedure.name}: predicate => {predicate!r} is none over the partition columns",
            path=call.location,
            remedy=f"use {', '.join(names)} alone",
        ) from error
    return sorted(row[0] for row in chosen)


# -- clean and archival ------------------------------------------------------------------------------------------------


def _run_clean(call: ProcedureCall) -> Rows:
    stated = {
        declared.CLEAN_POLICY.name: call.text("clean_policy"),
        declared.CLEAN_COMMITS.name: call.value("retain_commits"),
        declared.CLEAN_HOURS.name: call.value("hours_retained"),
        declared.CLEAN_VERSIONS.name: call.value("file_versions_retained"),
        declared.CLEAN_TRIGGER_COMMITS.name: call.value("trigger_max_commits"),
    }
    trigger = (call.text("trigger_strategy") or "NUM_COMMITS").strip()
    if trigger != "NUM_COMMITS":
        raise InvalidOptionError(
            f"CALL run_clean: there is no trigger_strategy {trigger!r}", remedy="leave it out, or give NUM_COMMITS"
        )
    services = services_of(call, {name: str(value) for name, value in stated.items() if value is not None})
    client = services.context.client
    pending = client.timeline.pending({CLEAN})
    settings = WriteConfig.of(services.context.options, client.config).clean
    if call.flag("schedule_in_line"):
        metadata = services.clean() if pending or clean_is_due(client, settings) else None
    else:
        done = [execute_clean(services.context, one) for one in pending]
        metadata = done[-1] if done else None
    if metadata is None:
        return []
    refreshed(call)
    retained = metadata.earliest_retained or ""
    return [
        [
            metadata.instant.requested,
            metadata.time_taken_ms,
            metadata.total_files_deleted,
            retained,
            "{}",
            _CLEAN_VERSION,
        ]
    ]


def _archive_commits(call: ProcedureCall) -> Rows:
    """0, the code of a run that went well."""
    options = {
        declared.KEEP_MIN_COMMITS.name: str(call.number("min_commits")),
        declared.KEEP_MAX_COMMITS.name: str(call.number("max_commits")),
        declared.CLEAN_COMMITS.name: str(call.number("retain_commits")),
    }
    if not call.flag("enable_metadata"):
        options[METADATA_ENABLE.name] = "false"
    services = services_of(call, options)
    services.archive()
    refreshed(call)
    return [[0]]


SERVICE_PROCEDURES: Final = (
    Procedure(
        "run_compaction",
        "timestamp string, operation_size int, state string",
        _run_compaction,
        (
            Parameter("op", required=True),
            *TABLE_OR_PATH,
            Parameter("timestamp", "bigint"),
            _OPTIONS,
            Parameter("instants"),
            Parameter("limit", "int"),
        ),
        "Plans compactions, runs planned ones, or both.",
        changes=True,
    ),
    Procedure(
        "run_clustering",
        "timestamp string, input_group_size int, state string, involved_partitions string",
        _run_clustering,
        (
            *TABLE_OR_PATH,
            Parameter("predicate"),
            Parameter("order"),
            Parameter(_INVOLVED, "boolean", default=False),
            Parameter("op"),
            Parameter("order_strategy"),
            _OPTIONS,
            Parameter("instants"),
            Parameter("selected_partitions"),
            Parameter("limit", "int"),
        ),
        "Plans clusterings, runs planned ones, or both.",
        changes=True,
    ),
    Procedure(
        "run_clean",
        "start_clean_time string, time_taken_in_millis bigint, total_files_deleted int, "
        "earliest_commit_to_retain string, bootstrap_part_metadata string, version int",
        _run_clean,
        (
            TABLE,
            Parameter("skip_locking", "boolean", default=False),
            Parameter("schedule_in_line", "boolean", default=True),
            Parameter("clean_policy"),
            Parameter("retain_commits", "int"),
            Parameter("hours_retained", "int"),
            Parameter("file_versions_retained", "int"),
            Parameter("trigger_strategy"),
            Parameter("trigger_max_commits", "int"),
            _OPTIONS,
            PATH,
        ),
        "Deletes file slices that no retained commit needs.",
        changes=True,
    ),
    Procedure(
        "archive_commits",
        "result int",
        _archive_commits,
        (
            *TABLE_OR_PATH,
            Parameter("min_commits", "int", default=20),
            Parameter("max_commits", "int", default=30),
            Parameter("retain_commits", "int", default=10),
            Parameter("enable_metadata", "boolean", default=True),
        ),
        "Moves old instants to the archive.",
        changes=True,
    ),
)
