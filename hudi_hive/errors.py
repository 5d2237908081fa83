"""The one hierarchy of errors that this package raises.

::

    HudiHiveError
    ├── TableError
    │   ├── TableNotFoundError          no Hudi table at the path
    │   ├── TableExistsError            a Hudi table where one is to be made
    │   ├── InvalidPropertiesError      hoodie.properties missing a key, unreadable, contradictory
    │   ├── UnsupportedTableError       table version, layout, merge mode, key generator … that we refuse
    │   ├── MergerError                 the function registered for a merger class failed, or gave what does not fit
    │   └── MetadataTableError          the metadata table, or a partition of it, cannot be used
    ├── TimelineError
    │   ├── InstantNotFoundError        no such instant on the active or archived timeline
    │   ├── CorruptInstantError         an instant's file cannot be decoded
    │   ├── HollowCommitError           a pending commit lies inside the asked range (table version 6)
    │   ├── TimeTravelError             as-of time lies behind the cleaner or ahead of a pending commit
    │   ├── IncrementalRangeError       the range reaches into cleaned or archived history
    │   └── CheckpointError             a consumer's checkpoint is damaged, in use, or of another table
    ├── StorageError
    │   ├── PathNotFoundError           a folder or file that must exist does not
    │   ├── FileVanishedError           a planned file was removed before it was read
    │   ├── PathExistsError             create-if-absent lost the race
    │   ├── UnsafePathError             a path from metadata leaves its table
    │   ├── BucketNotFoundError         the bucket or container of a path does not exist
    │   ├── StoreAccessDeniedError      the credentials do not have the right to do it
    │   ├── StoreCredentialsError       no credentials, wrong ones, or expired ones
    │   │   └── MissingSecretError      a secret that did not come with a pickle is nowhere in this process
    │   ├── StoreThrottledError         too many requests, said until the deadline
    │   └── StoreUnreachableError       no answer, or faults of the server, until the deadline
    ├── FormatError
    │   ├── CorruptFileError            bytes that do not follow their format
    │   └── UnsupportedFormatError      a format, codec, block type or version that we refuse
    ├── QueryError
    │   ├── InvalidOptionError          unknown option, or a value that it does not take
    │   ├── PredicateError              a row filter that cannot be parsed or typed
    │   ├── UnknownColumnError          a column that the schema does not have
    │   ├── SqlError                    a statement that the local SQL engine does not run
    │   └── LoadCancelledError          splits asked for after their loading was cancelled
    ├── WriteError                      a write or table service could not be done; the table is as it was
    │   ├── KeyGenerationError          a row without record key, or a value that makes no partition path
    │   ├── CommitOutcomeUnknownError   a store did not answer: the commit may be complete
    │   ├── CommitValidationError       a pre-commit validator refused the write, which is rolled back
    │   ├── WriteConflictError          another writer or table service was at the same file groups and came first
    │   ├── HeartbeatLostError          this writer was silent for so long that others may have taken it for dead
    │   └── LockError                   the table's lock cannot be used
    │       ├── LockTimeoutError        somebody else holds it and did not let go in time
    │       └── LockLostError           it was held and is not any more
    ├── SchemaError                     a schema that cannot be converted or reconciled
    ├── MetastoreError
    │   ├── MetastoreTransportError
    │   │   ├── MetastoreConnectError   refused, unknown host, connect time-out
    │   │   ├── MetastoreSecurityError  certificate not trusted; login, credentials or rights refused
    │   │   ├── MetastoreTimeoutError   no answer within the read time-out
    │   │   ├── MetastoreThrottledError too many requests, said until the deadline
    │   │   └── MetastoreLostError      the connection broke in the middle of a call
    │   ├── TableChangedError           somebody else changed the table since it was looked at
    │   └── MetastoreServerError
    │       ├── NoSuchObjectError
    │       ├── AlreadyExistsError
    │       ├── InvalidOperationError
    │       ├── MetastoreTextError      its database cannot hold a name, value or location
    │       └── MethodNotSupportedError the server does not have the Thrift call
    ├── SyncError
    │   ├── PartitionValueError         a partition path does not fit the extractor or the fields
    │   └── SchemaSyncError             the metastore cannot take the table's schema
    ├── MutationError                   a merge into a table could not be done; nothing of it is visible
    │   ├── UnsupportedAcidTableError   external, insert-only, sorted, legacy or not ORC: refused by name
    │   ├── UnsupportedAcidValueError   a type or value that Hive would read as another
    │   ├── MutationStateError          a call that the client, transaction or coordinator is not ready for
    │   ├── TransactionError            the metastore refuses something about the transaction
    │   │   ├── TransactionLostError    it was aborted or timed out, or the metastore never knew it
    │   │   ├── TransactionConflictError another writer was at the same rows and committed first
    │   │   └── TransactionLockError    its lock was not granted, or was lost
    │   ├── UnknownRecordError          an update or delete of a record that the Hudi table does not have
    │   ├── DuplicateRecordError        an insert of one that it has, or two changes of one record
    │   ├── StaleRecordError            a change that the table's order of events would not let through
    │   └── MutationWorkerError         records that do not keep the rules of a coordinator
    │       ├── RecordDecodingError     bytes that the caller's decoder cannot decode
    │       ├── RecordIdentifierError   a record without the identifier of the row that it changes
    │       ├── RecordPartitionError    a record that is given with another partition than its own
    │       ├── BucketIdError           an identifier of another bucket than the record's columns say
    │       ├── RecordSequenceError     records of a group out of order
    │       ├── GroupRevisitedError     a partition and bucket that was left comes again
    │       └── PartitionCreationError  a partition that is not there and is not to be, or cannot be, made
    ├── SparkError                      the Spark session cannot be used, or a statement is not supported
    └── EnvironmentError_
        ├── JavaNotFoundError           no Java, or one that is too old
        └── MissingDependencyError      an optional Python package is not installed

Every error can carry the ``path`` and the ``instant`` it is about and a ``remedy``: what the user can do.
``str(error)`` is one line with all of them; the command line prints exactly that line. Secrets in them – passwords in
URIs, signatures in queries – are hidden when the error is made, and what could steer a terminal is shown by its number.
"""

from __future__ import annotations

from collections.abc import Sequence

from hudi_hive.redaction import printable, redact


class HudiHiveError(Exception):
    """Base of all errors raised on purpose by this package.

    Args:
        message: what is wrong, without a full stop.
        path: the table, folder or file it is about.
        instant: the requested time of the instant it is about.
        remedy: what the user can do about it.
    """

    def __init__(
        self, message: str, *, path: str | None = None, instant: str | None = None, remedy: str | None = None
    ) -> None:
        message = redact(message)
        super().__init__(message)
        self.message = message
        self.path = None if path is None else redact(path)
        self.instant = instant
        self.remedy = None if remedy is None else redact(remedy)

    def __str__(self) -> str:
        text = self.message
        if self.path is not None:
            text += f" [path {self.path}]"
        if self.instant is not None:
            text += f" [instant {self.instant}]"
        if self.remedy is not None:
            text += f"; {self.remedy}"
        return printable(" ".join(text.split()))

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword-only arguments do not survive the default pickling, and ours cross to Spark workers.
        return (_rebuild, (type(self), self.message, self.path, self.instant, self.remedy))


def _rebuild(
    kind: type[HudiHiveError], message: str, path: str | None, instant: str | None, remedy: str | None
) -> HudiHiveError:
    return kind(message, path=path, instant=instant, remedy=remedy)


class TableError(HudiHiveError):
    """Base of errors about a table as a whole."""


class TableNotFoundError(TableError):
    """There is no Hudi table at the path."""


class TableExistsError(TableError):
    """There is a Hudi table already where one is to be made."""


class InvalidPropertiesError(TableError):
    """``hoodie.properties`` is unreadable, lacks a required key or contradicts itself."""


class UnsupportedTableError(TableError):
    """A table version, timeline layout, merge mode or other property that is not supported."""


class MergerError(TableError):
    """The function that is registered for a table's merger class failed, or gave something that does not fit."""


class MetadataTableError(TableError):
    """The metadata table, or a partition of it, is off, being built, missing or behind: list folders instead."""


class TimelineError(HudiHiveError):
    """Base of errors about the timeline."""


class InstantNotFoundError(TimelineError):
    """The instant is neither on the active nor on the archived timeline."""


class CorruptInstantError(TimelineError):
    """An instant's file cannot be decoded."""


class HollowCommitError(TimelineError):
    """A pending commit lies inside the range of an incremental query of a version 6 table."""


class TimeTravelError(TimelineError):
    """The as-of time cannot be answered in full."""


class IncrementalRangeError(TimelineError):
    """The range of an incremental query needs files that were cleaned."""


class CheckpointError(TimelineError):
    """A checkpoint of a consumer of commits cannot be read, is of another table, or is in use."""


class StorageError(HudiHiveError):
    """A file system call failed."""


class PathNotFoundError(StorageError):
    """A folder or file that must exist does not."""


class FileVanishedError(StorageError):
    """A planned file was removed (cleaned, most often) before it was read."""


class PathExistsError(StorageError):
    """Create-if-absent found the file already there."""


class UnsafePathError(StorageError):
    """A path found in metadata points outside its table."""


class BucketNotFoundError(StorageError):
    """The bucket or container of a path does not exist."""


class StoreAccessDeniedError(StorageError):
    """The store knows who asks, who has no right to do what was asked."""


class StoreCredentialsError(StorageError):
    """There are no credentials for the store, or it refused them: wrong, expired, signed with another clock."""


class MissingSecretError(StoreCredentialsError):
    """A secret, in whose place pickles have a reference, is nowhere in the process that loaded one."""


class StoreThrottledError(StorageError):
    """The store answered that it gets too many requests, until the deadline for tries."""


class StoreUnreachableError(StorageError):
    """The store did not answer, or failed, until the deadline for tries; whether a write was done is not known."""


class FormatError(HudiHiveError):
    """Base of errors about the bytes of a file."""


class CorruptFileError(FormatError):
    """Bytes that do not follow their format."""


class UnsupportedFormatError(FormatError):
    """A file format, codec, block type or block version that is not supported."""


class QueryError(HudiHiveError):
    """Base of errors in the request: options, filters, columns, SQL."""


class InvalidOptionError(QueryError):
    """An option that is unknown or not supported, or a value that it does not accept."""


class PredicateError(QueryError):
    """A row filter that cannot be parsed or does not fit the types of its columns."""


class UnknownColumnError(QueryError):
    """A column that the schema does not have."""


def unknown_column(name: str, columns: Sequence[str], before: str = "") -> UnknownColumnError:
    """The error about a column that is not there, with the nearest name, or all names.

    Args:
        name: what was asked for.
        columns: the names that there are.
        before: what stands in front of the message.
    """
    import difflib  # loaded only now: few runs need it

    nearest = difflib.get_close_matches(name, columns, 1)
    known = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return UnknownColumnError(f"{before}no column {name!r}", remedy=f"{hint}the columns are {known}")


class SqlError(QueryError):
    """A statement that the local SQL engine cannot run: wrong, not one that only reads, or too large."""


class LoadCancelledError(QueryError):
    """Splits were requested after their loading was cancelled; those returned before are not the whole table."""


class WriteError(HudiHiveError):
    """A write or table service could not be done, and left the table as it was."""


class KeyGenerationError(WriteError):
    """A row has no record key, or a value that makes no partition path."""


class CommitOutcomeUnknownError(WriteError):
    """A store did not answer when a commit was completed: it may be complete, or become so."""


class CommitValidationError(WriteError):
    """A pre-commit validator refused what a write was to leave, or its query could not be run: nothing is written."""


class WriteConflictError(WriteError):
    """Another writer or table service changed the same file groups and completed first: write again."""


class HeartbeatLostError(WriteError):
    """This writer sent no heartbeat for so long that others may have rolled its write back."""


class LockError(WriteError):
    """The lock of a table cannot be used."""


class LockTimeoutError(LockError):
    """Another owner holds the lock and did not release it in time."""


class LockLostError(LockError):
    """The lock is no longer held: it expired or was removed."""


class SchemaError(HudiHiveError):
    """A schema that cannot be converted or reconciled."""


class MetastoreError(HudiHiveError):
    """Base of errors of the Hive metastore and its client."""


class MetastoreTransportError(MetastoreError):
    """The metastore could not be reached or the connection broke."""


class MetastoreConnectError(MetastoreTransportError):
    """Connection refused, host unknown, or no connection within the time-out."""


class MetastoreSecurityError(MetastoreTransportError):
    """The certificate is not trusted, or login, credentials or rights were refused. Never tried again."""


class MetastoreTimeoutError(MetastoreTransportError):
    """No answer within the read time-out."""


class MetastoreThrottledError(MetastoreTransportError):
    """The catalog answered that it gets too many requests, until the deadline for tries."""


class MetastoreLostError(MetastoreTransportError):
    """The connection broke in the middle of a call."""


class TableChangedError(MetastoreError):
    """Another client changed the metastore's table since it was read; nothing was overwritten."""


class MetastoreServerError(MetastoreError):
    """The metastore answered with an error."""


class NoSuchObjectError(MetastoreServerError):
    """The database, table or partition does not exist."""


class AlreadyExistsError(MetastoreServerError):
    """The database, table or partition exists already."""


class InvalidOperationError(MetastoreServerError):
    """The metastore refuses the operation (an incompatible column change, for one)."""


class MetastoreTextError(MetastoreServerError):
    """The metastore's database cannot hold a text as it is: a partition value, a name, a location."""


class MethodNotSupportedError(MetastoreServerError):
    """The server does not have the Thrift call."""


class SyncError(HudiHiveError):
    """Base of errors of a sync."""


class PartitionValueError(SyncError):
    """A partition path does not fit the partition value extractor or the partition fields."""


class SchemaSyncError(SyncError):
    """The metastore cannot take the table's schema."""


class MutationError(HudiHiveError):
    """A merge into a Hive ACID or Hudi table could not be done, and nothing of it is visible."""


class UnsupportedAcidTableError(MutationError):
    """An ACID table or file layout that is not supported: external, insert-only, sorted, legacy, not ORC."""


class UnsupportedAcidValueError(MutationError):
    """A type or value that cannot be bucketed as Hive does it, or that Hive would read as another."""


class MutationStateError(MutationError):
    """A call that is invalid in the current state: begin twice, commit without begin, a record after close."""


class TransactionError(MutationError):
    """The metastore refuses to open, commit or abort a transaction, or its heartbeat."""


class TransactionLostError(TransactionError):
    """The transaction is not open any more: aborted by someone, timed out, or unknown to the metastore."""


class TransactionConflictError(TransactionError):
    """Another transaction changed the same table or partition and committed first: read and merge again."""


class TransactionLockError(TransactionError):
    """The lock of a transaction was not granted in time, was refused, or was lost."""


class MutationWorkerError(MutationError):
    """Base of errors about records that violate the rules of a mutation coordinator."""


class RecordDecodingError(MutationWorkerError):
    """A record that the caller's decoder cannot decode, or that is not bytes."""


class RecordIdentifierError(MutationWorkerError):
    """An update or delete without a record identifier, or with an invalid one."""


class BucketIdError(MutationWorkerError):
    """A record's identifier is of another bucket than its bucketing columns say."""


class RecordSequenceError(MutationWorkerError):
    """A group's records are not ordered by (write id, bucket property, row id)."""


class GroupRevisitedError(MutationWorkerError):
    """Records are not grouped: a partition and bucket recurs after records of another."""


class RecordPartitionError(MutationWorkerError):
    """A record's partition is not that of its columns, or not that of the row that it changes."""


class UnknownRecordError(MutationError):
    """An update or delete of a record that the Hudi table does not have."""


class DuplicateRecordError(MutationError):
    """An insert of a record that the Hudi table has, or two changes of one record in one transaction."""


class StaleRecordError(MutationError):
    """A change whose ordering value is smaller than that of the Hudi table's row, so that it would have no effect."""


class PartitionCreationError(MutationWorkerError):
    """A record's partition does not exist, and may not or cannot be created."""


class SparkError(HudiHiveError):
    """The Spark session cannot be used, or a statement is not supported on a synced table."""


class EnvironmentError_(HudiHiveError):  # noqa: N801, N818
    """Something that must be installed is missing or too old."""


class JavaNotFoundError(EnvironmentError_):
    """No Java, or one older than 17."""


class MissingDependencyError(EnvironmentError_):
    """An optional Python package is not installed."""
