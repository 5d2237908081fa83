"""Remedies that are printed with errors that name none themselves, by class of error."""

from __future__ import annotations

from hudi_hive import errors

_REMEDIES: dict[type[errors.HudiHiveError], str] = {
    errors.TableNotFoundError: "give the table's base path, the folder that holds .hoodie",
    errors.InvalidPropertiesError: "restore hoodie.properties, from hoodie.properties.backup where there is one",
    errors.UnsupportedTableError: "read it with the engine that wrote it",
    errors.MetadataTableError: "rebuild the metadata table, or read by listing: --conf hoodie.metadata.enable=false",
    errors.TimelineError: "`hudi-hive timeline --archived` lists the instants",
    errors.CorruptInstantError: "restore the file, or roll the instant back with the engine that wrote it",
    errors.IncrementalRangeError: "begin later, or take a snapshot",
    errors.StorageError: "check the path and the permissions",
    errors.PathNotFoundError: "check the path",
    errors.FileVanishedError: "run it again: the plan is then made anew",
    errors.CorruptFileError: "restore the file, or roll the table back to an instant before it",
    errors.UnsupportedFormatError: "read it with the engine that wrote it",
    errors.QueryError: "--help says what can be asked",
    errors.PredicateError: "`hudi-hive schema` lists the columns and their types",
    errors.UnknownColumnError: "`hudi-hive schema` lists the columns",
    errors.SqlError: "the statement is one of DuckDB's SQL dialect",
    errors.WriteError: "`hudi-hive timeline` shows what is written and pending",
    errors.WriteConflictError: "write again",
    errors.LockError: "see the options hoodie.write.lock.*",
    errors.SchemaError: "`hudi-hive schema --as-of` shows the schema at other instants",
    errors.MetastoreError: "see the metastore's log",
    errors.MetastoreTransportError: "check --metastore-uris and that the metastore runs",
    errors.SyncError: "`hudi-hive sync --dry-run` shows what a sync would do",
    errors.SparkError: "check the session's conf",
    errors.EnvironmentError_: "install it",
}


def remedy_for(error: errors.HudiHiveError) -> str:
    """The remedy for an error: that of its class, or of the nearest base class that has one."""
    return next(
        (_REMEDIES[kind] for kind in type(error).__mro__ if kind in _REMEDIES), "set HUDI_HIVE_DEBUG=1 to see where"
    )
