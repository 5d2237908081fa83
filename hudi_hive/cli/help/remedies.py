"""Remedies that are printed with errors that name none themselves, by class of error."""

from __future__ import annotations

import click

from hudi_hive import errors

_REMEDIES: dict[type[errors.HudiHiveError], str] = {
    errors.TableError: "`hudi-hive show` says what the table is",
    errors.TableNotFoundError: "give the table's base path, the folder that holds .hoodie",
    errors.TableExistsError: "write to it, or give another path",
    errors.InvalidPropertiesError: "restore hoodie.properties, from hoodie.properties.backup where there is one",
    errors.UnsupportedTableError: "read it with the engine that wrote it",
    errors.MergerError: "correct the function that is registered for the class",
    errors.MetadataTableError: "rebuild the metadata table, or read by listing: --conf hoodie.metadata.enable=false",
    errors.TimelineError: "`hudi-hive timeline --archived` lists the instants",
    errors.InstantNotFoundError: "`hudi-hive timeline --archived` lists the instants",
    errors.HollowCommitError: "wait until the pending commit is complete or rolled back, or end the range before it",
    errors.TimeTravelError: "ask for a later time; what is older was cleaned",
    errors.CheckpointError: "give the checkpoint of this table, or begin a new one with --start",
    errors.CorruptInstantError: "restore the file, or roll the instant back with the engine that wrote it",
    errors.IncrementalRangeError: "begin later, or take a snapshot",
    errors.StorageError: "check the path and the permissions",
    errors.PathNotFoundError: "check the path",
    errors.PathExistsError: "another process made it first: look at the table and run it again",
    errors.UnsafePathError: "do not trust the table before you know who wrote that path",
    errors.BucketNotFoundError: "check the name of the bucket, the region and the endpoint",
    errors.StoreAccessDeniedError: "have the right granted to the credentials, or use others",
    errors.StoreCredentialsError: "give credentials: --storage-option, --storage-options-file or the environment",
    errors.MissingSecretError: "call hudi_hive.use_storage_options in the process that loads the pickle",
    errors.StoreThrottledError: "try again later, or with fewer threads",
    errors.StoreUnreachableError: "check endpoint and network; look at the timeline before you repeat a write",
    errors.FileVanishedError: "run it again: the plan is then made anew",
    errors.FormatError: "restore the file",
    errors.CorruptFileError: "restore the file, or roll the table back to an instant before it",
    errors.UnsupportedFormatError: "read it with the engine that wrote it",
    errors.QueryError: "--help says what can be asked",
    errors.InvalidOptionError: "the page Options of the documentation lists them",
    errors.PredicateError: "`hudi-hive schema` lists the columns and their types",
    errors.UnknownColumnError: "`hudi-hive schema` lists the columns",
    errors.SqlError: "the statement is one of DuckDB's SQL dialect",
    errors.LoadCancelledError: "ask for the splits anew",
    errors.WriteError: "`hudi-hive timeline` shows what is written and pending",
    errors.KeyGenerationError: "give each row a record key and values for the partition columns",
    errors.CommitOutcomeUnknownError: "list the timeline when the store answers, and write again if it is not complete",
    errors.CommitValidationError: "correct the rows or the query; the table is as it was",
    errors.WriteConflictError: "write again",
    errors.HeartbeatLostError: "write again; nothing of the write is in the table",
    errors.LockError: "see the options hoodie.write.lock.*",
    errors.LockTimeoutError: "try again when the other writer is done, or raise hoodie.write.lock.wait_time_ms",
    errors.LockLostError: "write again; nothing of the write is in the table",
    errors.SchemaError: "`hudi-hive schema --as-of` shows the schema at other instants",
    errors.MetastoreError: "see the metastore's log",
    errors.MetastoreTransportError: "check --metastore-uris and that the metastore runs",
    errors.MetastoreSecurityError: "check certificate, login and rights",
    errors.MetastoreThrottledError: "try again later",
    errors.TableChangedError: "run it again: it looks at the table anew",
    errors.NoSuchObjectError: "sync the table first; `hudi-hive sql 'SHOW TABLES FROM …'` lists what is there",
    errors.AlreadyExistsError: "use another name, or the one that is there",
    errors.MetastoreTextError: "change the columns of its database that the message names",
    errors.MethodNotSupportedError: "use a metastore of a release that has the call",
    errors.SyncError: "`hudi-hive sync --dry-run` shows what a sync would do",
    errors.PartitionValueError: "name the extractor: --partition-value-extractor, and the fields: --partitioned-by",
    errors.SchemaSyncError: "change the column, or set hoodie.datasource.hive_sync.recreate_table_on_error=true",
    errors.MutationError: "nothing was changed: correct the records and begin a new transaction",
    errors.UnsupportedAcidTableError: "make the table transactional, as ORC, without SORTED BY",
    errors.TransactionLostError: "begin a new transaction",
    errors.TransactionConflictError: "read and merge again in a new transaction",
    errors.TransactionLockError: "try again when the other transaction is done, or wait longer: LockSettings.wait_s",
    errors.SparkError: "check the session's conf",
    errors.EnvironmentError_: "install it",
    errors.JavaNotFoundError: "install Java 17 or newer, or set JAVA_HOME",
    errors.MissingDependencyError: "pip install 'hudi_hive[all]', or the extra that the message names",
}


def usage_line(error: click.ClickException) -> str:
    """One line about a command that was not called rightly: what is wrong, and where it is said how to call it."""
    message = " ".join(error.format_message().split()).rstrip(".")
    message = message[:1].lower() + message[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message}; see {context.command_path} --help" if context is not None else message


def remedy_for(error: errors.HudiHiveError) -> str:
    """The remedy for an error: that of its class, or of the nearest base class that has one."""
    return next(
        (_REMEDIES[kind] for kind in type(error).__mro__ if kind in _REMEDIES), "set HUDI_HIVE_DEBUG=1 to see where"
    )
