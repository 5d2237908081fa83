"""Which version of an id-based schema the files of a plan were written with (RFC-33's lookup by commit time).

A commit's own word counts where the commit is still active, since a writer may have begun with the version before; the
history tells of the others.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError
from hudi_hive.schema import EvolvedSchema
from hudi_hive.table import MetaClient
from hudi_hive.table.view import parse_file_names


def with_commit_versions(
    client: MetaClient, evolved: EvolvedSchema, slices: pa.Table, changes: pa.Table | None = None
) -> EvolvedSchema:
    """Add the versions that commits of a plan's files recorded to an id-based schema.

    Args:
        client: the table.
        evolved: the version that the query shows, and the history.
        slices: a table of ``PLAN_SCHEMA``.
        changes: the rows of ``CHANGE_SCHEMA`` that go with them.

    Raises:
        SchemaError: a base file is older than the versions that are known, so that its columns may be any.
    """
    bases = set(pc.unique(slices.column("base_instant").filter(pc.is_valid(slices.column("base_file")))).to_pylist())
    if changes is not None:
        bases.update(pc.unique(pc.drop_null(changes.column("before_instant"))).to_pylist())
    instants = bases | _of_logs(client, slices)
    if changes is not None:
        instants.update(pc.unique(changes.column("instant")).to_pylist())
        instants.update(_in_names(pc.list_flatten(changes.column("before_logs"))))
    first = min((schema.version_id for schema in evolved.history if schema.version_id), default=0)
    # Before its first change a table says nothing of ids.
    found = client.commit_schemas(instant for instant in instants if int(instant) >= first)
    evolved = evolved.with_commits(found)
    lost = sorted(instant for instant in bases if evolved.is_lost(instant))
    if lost:
        raise SchemaError(
            "the history of the table's columns is lost: nothing tells what the files of this commit call them",
            path=client.base_path,
            instant=lost[0],
            remedy="restore .hoodie/.schema, or match columns by name: hoodie.schema.on.read.enable=false",
        )
    return evolved


def _of_logs(client: MetaClient, slices: pa.Table) -> set[str]:
    """Instants that may have written the blocks of log files."""
    logs = slices.column("log_files")
    with_logs = slices.filter(pc.greater(pc.list_value_length(logs), 0))
    if not with_logs.num_rows:
        return set()
    if client.config.version >= 8:
        return _in_names(pc.list_flatten(logs))
    # Here a log file is named after the base file, and any later commit may have added to it.
    oldest = pc.min(with_logs.column("base_instant")).as_py()
    return {instant.requested for instant in client.timeline.write_instants() if instant.requested >= oldest}


def _in_names(names: pa.ChunkedArray) -> set[str]:
    instants = parse_file_names(pc.unique(names)).column("instant")
    return set(pc.unique(pc.drop_null(instants)).to_pylist())
