"""Steps around a commit that concern the metadata table: its comparison with a listing, and the report of its metrics.

Source: RFC-15, ``HoodieMetadataConfig``, ``HoodieMetricsConfig``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Final

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata import MetadataTable, validate
from hudi_hive.metadata.reader import FILES
from hudi_hive.metrics import METADATA_METRICS, metric_lines, serve_prometheus, write_json
from hudi_hive.options import metrics, read, write
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import CLEAN, RESTORE, ROLLBACK

VALIDATION: Final = "metadata validation"
METRICS: Final = "metrics"

_SIZES: Final = {
    "base_files": "baseFileCount",
    "base_bytes": "totalBaseFileSizeInBytes",
    "log_files": "logFileCount",
    "log_bytes": "totalLogFileSizeInBytes",
}

_log = logging.getLogger(__name__)


def check_metadata_table(client: MetaClient, options: Mapping[str, str], *, reload: bool = False) -> None:
    """With ``hoodie.metadata.validate``, compare the metadata table with a listing of the table's folders.

    A table without metadata table passes, and one whose metadata table lacks a commit: the next write makes it anew.

    Args:
        client: the table, with its timeline of now.
        options: Hudi's write options.
        reload: look at the table as it is now.

    Raises:
        MetadataTableError: they differ, and no clean or rollback that is under way explains it.
    """
    if not read.METADATA_VALIDATE.of(options) or not write.METADATA_ENABLE.of(options):
        return
    client = client.reload() if reload else client
    if FILES not in client.config.metadata_partitions:
        return
    try:
        report = validate(client)
    except MetadataTableError as error:
        if error.instant is None:
            raise
        _log.warning("the metadata table is not compared with a listing: %s", error)
        return
    if report.is_valid:
        return
    if _files_are_removed(client):
        _log.warning("the metadata table is behind what is being cleaned or rolled back: %s", report)
        return
    raise MetadataTableError(
        f"the metadata table and the listing differ: {report}",
        path=client.base_path,
        remedy="`hudi-hive metadata validate` lists all differences; delete the metadata table and make it anew "
        "(`hudi-hive metadata delete`, `create`) where the listing is right",
    )


def _files_are_removed(client: MetaClient) -> bool:
    """Whether others delete files now, or have done anything since the timeline was read."""
    now = client.reload().timeline
    return bool(now.pending({CLEAN, ROLLBACK, RESTORE})) or now.instants != client.timeline.instants


def start_metrics(options: Mapping[str, str]) -> None:
    """Serve the metrics of metadata tables to Prometheus, if the options say so. Idempotent.

    Raises:
        MissingDependencyError: prometheus-client is not installed.
        InvalidOptionError: the port cannot be listened on.
    """
    if _reporter(options) == metrics.PROMETHEUS:
        serve_prometheus(metrics.PROMETHEUS_PORT.of(options), METADATA_METRICS.snapshot)


def report_metrics(client: MetaClient, options: Mapping[str, str]) -> None:
    """Report the metrics of metadata tables after a commit, with the sizes of the one that was written.

    Args:
        client: the table; it is read anew.
        options: Hudi's write options.

    Raises:
        StorageError: the file cannot be written.
        InvalidOptionError, MissingDependencyError: see :func:`start_metrics`.
    """
    reporter = _reporter(options)
    if reporter is None:
        return
    METADATA_METRICS.set_sizes(_sizes(client.reload()))
    values = METADATA_METRICS.snapshot()
    if reporter == metrics.CONSOLE:
        sys.stderr.write("".join(f"{line}\n" for line in metric_lines(values)))
    elif reporter == metrics.JSON:
        write_json(metrics.JSON_PATH.of(options), values)
    else:
        start_metrics(options)


def _reporter(options: Mapping[str, str]) -> str | None:
    is_on = metrics.METRICS_ON.of(options) and metrics.METADATA_METRICS.of(options)
    return metrics.REPORTER_TYPE.of(options) if is_on else None


def _sizes(client: MetaClient) -> dict[str, int]:
    if FILES not in client.config.metadata_partitions:
        return {}
    rows = MetadataTable.open(client).stats().to_pylist()
    return {f"{row['partition']}.{name}": row[column] for row in rows for column, name in _SIZES.items()}
