"""Types of the generated structs; made by tools/thrift_type_stubs.py, do not edit."""

from enum import IntEnum

from thrift.Thrift import TException

class PrincipalType(IntEnum):
    USER = 1
    ROLE = 2
    GROUP = 3

class LockState(IntEnum):
    ACQUIRED = 1
    WAITING = 2
    ABORT = 3
    NOT_ACQUIRED = 4

class LockLevel(IntEnum):
    DB = 1
    TABLE = 2
    PARTITION = 3

class DataOperationType(IntEnum):
    SELECT = 1
    INSERT = 2
    UPDATE = 3
    DELETE = 4
    UNSET = 5
    NO_TXN = 6

class LockType(IntEnum):
    SHARED_READ = 1
    SHARED_WRITE = 2
    EXCLUSIVE = 3
    EXCL_WRITE = 4

class TxnState(IntEnum):
    COMMITTED = 1
    ABORTED = 2
    OPEN = 3

class FieldSchema:
    name: str
    type: str
    comment: str | None
    def __init__(
        self,
        name: str | None = ...,
        type: str | None = ...,
        comment: str | None = ...,
    ) -> None: ...

class Order:
    col: str
    order: int
    def __init__(
        self,
        col: str | None = ...,
        order: int | None = ...,
    ) -> None: ...

class SerDeInfo:
    name: str | None
    serializationLib: str
    parameters: dict[str, str]
    description: str | None
    serializerClass: str | None
    deserializerClass: str | None
    def __init__(
        self,
        name: str | None = ...,
        serializationLib: str | None = ...,
        parameters: dict[str, str] | None = ...,
        description: str | None = ...,
        serializerClass: str | None = ...,
        deserializerClass: str | None = ...,
    ) -> None: ...

class SkewedInfo:
    skewedColNames: list[str]
    skewedColValues: list[list[str]]
    skewedColValueLocationMaps: dict[tuple[str, ...], str]
    def __init__(
        self,
        skewedColNames: list[str] | None = ...,
        skewedColValues: list[list[str]] | None = ...,
        skewedColValueLocationMaps: dict[tuple[str, ...], str] | None = ...,
    ) -> None: ...

class StorageDescriptor:
    cols: list[FieldSchema]
    location: str | None
    inputFormat: str | None
    outputFormat: str | None
    compressed: bool
    numBuckets: int
    serdeInfo: SerDeInfo
    bucketCols: list[str]
    sortCols: list[Order]
    parameters: dict[str, str]
    skewedInfo: SkewedInfo | None
    storedAsSubDirectories: bool | None
    def __init__(
        self,
        cols: list[FieldSchema] | None = ...,
        location: str | None = ...,
        inputFormat: str | None = ...,
        outputFormat: str | None = ...,
        compressed: bool | None = ...,
        numBuckets: int | None = ...,
        serdeInfo: SerDeInfo | None = ...,
        bucketCols: list[str] | None = ...,
        sortCols: list[Order] | None = ...,
        parameters: dict[str, str] | None = ...,
        skewedInfo: SkewedInfo | None = ...,
        storedAsSubDirectories: bool | None = ...,
    ) -> None: ...

class PrivilegeGrantInfo:
    privilege: str
    createTime: int
    grantor: str
    grantorType: PrincipalType
    grantOption: bool
    def __init__(
        self,
        privilege: str | None = ...,
        createTime: int | None = ...,
        grantor: str | None = ...,
        grantorType: PrincipalType | None = ...,
        grantOption: bool | None = ...,
    ) -> None: ...

class PrincipalPrivilegeSet:
    userPrivileges: dict[str, list[PrivilegeGrantInfo]]
    groupPrivileges: dict[str, list[PrivilegeGrantInfo]]
    rolePrivileges: dict[str, list[PrivilegeGrantInfo]]
    def __init__(
        self,
        userPrivileges: dict[str, list[PrivilegeGrantInfo]] | None = ...,
        groupPrivileges: dict[str, list[PrivilegeGrantInfo]] | None = ...,
        rolePrivileges: dict[str, list[PrivilegeGrantInfo]] | None = ...,
    ) -> None: ...

class Database:
    name: str
    description: str | None
    locationUri: str | None
    parameters: dict[str, str] | None
    privileges: PrincipalPrivilegeSet | None
    ownerName: str | None
    ownerType: PrincipalType | None
    catalogName: str | None
    def __init__(
        self,
        name: str | None = ...,
        description: str | None = ...,
        locationUri: str | None = ...,
        parameters: dict[str, str] | None = ...,
        privileges: PrincipalPrivilegeSet | None = ...,
        ownerName: str | None = ...,
        ownerType: PrincipalType | None = ...,
        catalogName: str | None = ...,
    ) -> None: ...

class Table:
    tableName: str
    dbName: str
    owner: str | None
    createTime: int
    lastAccessTime: int
    retention: int
    sd: StorageDescriptor
    partitionKeys: list[FieldSchema]
    parameters: dict[str, str]
    viewOriginalText: str | None
    viewExpandedText: str | None
    tableType: str
    privileges: PrincipalPrivilegeSet | None
    temporary: bool | None
    rewriteEnabled: bool | None
    catName: str | None
    ownerType: PrincipalType | None
    accessType: int | None
    def __init__(
        self,
        tableName: str | None = ...,
        dbName: str | None = ...,
        owner: str | None = ...,
        createTime: int | None = ...,
        lastAccessTime: int | None = ...,
        retention: int | None = ...,
        sd: StorageDescriptor | None = ...,
        partitionKeys: list[FieldSchema] | None = ...,
        parameters: dict[str, str] | None = ...,
        viewOriginalText: str | None = ...,
        viewExpandedText: str | None = ...,
        tableType: str | None = ...,
        privileges: PrincipalPrivilegeSet | None = ...,
        temporary: bool | None = ...,
        rewriteEnabled: bool | None = ...,
        catName: str | None = ...,
        ownerType: PrincipalType | None = ...,
        accessType: int | None = ...,
    ) -> None: ...

class Partition:
    values: list[str]
    dbName: str
    tableName: str
    createTime: int
    lastAccessTime: int
    sd: StorageDescriptor
    parameters: dict[str, str]
    privileges: PrincipalPrivilegeSet | None
    catName: str | None
    def __init__(
        self,
        values: list[str] | None = ...,
        dbName: str | None = ...,
        tableName: str | None = ...,
        createTime: int | None = ...,
        lastAccessTime: int | None = ...,
        sd: StorageDescriptor | None = ...,
        parameters: dict[str, str] | None = ...,
        privileges: PrincipalPrivilegeSet | None = ...,
        catName: str | None = ...,
    ) -> None: ...

class EnvironmentContext:
    properties: dict[str, str]
    def __init__(
        self,
        properties: dict[str, str] | None = ...,
    ) -> None: ...

class GetTableRequest:
    dbName: str
    tblName: str
    catName: str | None
    processorCapabilities: list[str] | None
    processorIdentifier: str | None
    def __init__(
        self,
        dbName: str | None = ...,
        tblName: str | None = ...,
        catName: str | None = ...,
        processorCapabilities: list[str] | None = ...,
        processorIdentifier: str | None = ...,
    ) -> None: ...

class GetTableResult:
    table: Table
    def __init__(
        self,
        table: Table | None = ...,
    ) -> None: ...

class GetTablesRequest:
    dbName: str
    tblNames: list[str] | None
    catName: str | None
    def __init__(
        self,
        dbName: str | None = ...,
        tblNames: list[str] | None = ...,
        catName: str | None = ...,
    ) -> None: ...

class GetTablesResult:
    tables: list[Table]
    def __init__(
        self,
        tables: list[Table] | None = ...,
    ) -> None: ...

class AddPartitionsRequest:
    dbName: str
    tblName: str
    parts: list[Partition]
    ifNotExists: bool
    needResult: bool | None
    catName: str | None
    def __init__(
        self,
        dbName: str | None = ...,
        tblName: str | None = ...,
        parts: list[Partition] | None = ...,
        ifNotExists: bool | None = ...,
        needResult: bool | None = ...,
        catName: str | None = ...,
    ) -> None: ...

class AddPartitionsResult:
    partitions: list[Partition] | None
    def __init__(
        self,
        partitions: list[Partition] | None = ...,
    ) -> None: ...

class DropPartitionsExpr:
    expr: bytes
    partArchiveLevel: int | None
    def __init__(
        self,
        expr: bytes | None = ...,
        partArchiveLevel: int | None = ...,
    ) -> None: ...

class RequestPartsSpec:
    names: list[str] | None
    exprs: list[DropPartitionsExpr] | None
    def __init__(
        self,
        names: list[str] | None = ...,
        exprs: list[DropPartitionsExpr] | None = ...,
    ) -> None: ...

class DropPartitionsRequest:
    dbName: str
    tblName: str
    parts: RequestPartsSpec
    deleteData: bool | None
    ifExists: bool | None
    ignoreProtection: bool | None
    environmentContext: EnvironmentContext | None
    needResult: bool | None
    catName: str | None
    def __init__(
        self,
        dbName: str | None = ...,
        tblName: str | None = ...,
        parts: RequestPartsSpec | None = ...,
        deleteData: bool | None = ...,
        ifExists: bool | None = ...,
        ignoreProtection: bool | None = ...,
        environmentContext: EnvironmentContext | None = ...,
        needResult: bool | None = ...,
        catName: str | None = ...,
    ) -> None: ...

class DropPartitionsResult:
    partitions: list[Partition] | None
    def __init__(
        self,
        partitions: list[Partition] | None = ...,
    ) -> None: ...

class CreateTableRequest:
    table: Table
    envContext: EnvironmentContext | None
    processorCapabilities: list[str] | None
    processorIdentifier: str | None
    def __init__(
        self,
        table: Table | None = ...,
        envContext: EnvironmentContext | None = ...,
        processorCapabilities: list[str] | None = ...,
        processorIdentifier: str | None = ...,
    ) -> None: ...

class AlterTableRequest:
    catName: str | None
    dbName: str
    tableName: str
    table: Table
    environmentContext: EnvironmentContext | None
    writeId: int | None
    validWriteIdList: str | None
    processorCapabilities: list[str] | None
    processorIdentifier: str | None
    def __init__(
        self,
        catName: str | None = ...,
        dbName: str | None = ...,
        tableName: str | None = ...,
        table: Table | None = ...,
        environmentContext: EnvironmentContext | None = ...,
        writeId: int | None = ...,
        validWriteIdList: str | None = ...,
        processorCapabilities: list[str] | None = ...,
        processorIdentifier: str | None = ...,
    ) -> None: ...

class AlterTableResponse:
    def __init__(
        self,
    ) -> None: ...

class AlterPartitionsRequest:
    catName: str | None
    dbName: str
    tableName: str
    partitions: list[Partition]
    environmentContext: EnvironmentContext | None
    writeId: int | None
    validWriteIdList: str | None
    def __init__(
        self,
        catName: str | None = ...,
        dbName: str | None = ...,
        tableName: str | None = ...,
        partitions: list[Partition] | None = ...,
        environmentContext: EnvironmentContext | None = ...,
        writeId: int | None = ...,
        validWriteIdList: str | None = ...,
    ) -> None: ...

class AlterPartitionsResponse:
    def __init__(
        self,
    ) -> None: ...

class MetaException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class UnknownTableException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class UnknownDBException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class AlreadyExistsException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class InvalidObjectException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class NoSuchObjectException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class InvalidOperationException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class ConfigValSecurityException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class NoSuchTxnException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class TxnAbortedException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class NoSuchLockException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class TxnOpenException(TException):
    message: str
    def __init__(
        self,
        message: str | None = ...,
    ) -> None: ...

class LockComponent:
    type: LockType
    level: LockLevel
    dbname: str
    tablename: str | None
    operationType: DataOperationType | None
    isTransactional: bool | None
    isDynamicPartitionWrite: bool | None
    def __init__(
        self,
        type: LockType | None = ...,
        level: LockLevel | None = ...,
        dbname: str | None = ...,
        tablename: str | None = ...,
        operationType: DataOperationType | None = ...,
        isTransactional: bool | None = ...,
        isDynamicPartitionWrite: bool | None = ...,
    ) -> None: ...

class LockRequest:
    component: list[LockComponent]
    txnid: int | None
    user: str
    hostname: str
    agentInfo: str | None
    def __init__(
        self,
        component: list[LockComponent] | None = ...,
        txnid: int | None = ...,
        user: str | None = ...,
        hostname: str | None = ...,
        agentInfo: str | None = ...,
    ) -> None: ...

class LockResponse:
    lockid: int
    state: LockState
    errorMessage: str | None
    def __init__(
        self,
        lockid: int | None = ...,
        state: LockState | None = ...,
        errorMessage: str | None = ...,
    ) -> None: ...

class CheckLockRequest:
    lockid: int
    txnid: int | None
    def __init__(
        self,
        lockid: int | None = ...,
        txnid: int | None = ...,
    ) -> None: ...

class UnlockRequest:
    lockid: int
    def __init__(
        self,
        lockid: int | None = ...,
    ) -> None: ...

class HeartbeatRequest:
    lockid: int | None
    txnid: int | None
    def __init__(
        self,
        lockid: int | None = ...,
        txnid: int | None = ...,
    ) -> None: ...

class HeartbeatTxnRangeRequest:
    min: int
    max: int
    def __init__(
        self,
        min: int | None = ...,
        max: int | None = ...,
    ) -> None: ...

class HeartbeatTxnRangeResponse:
    aborted: set[int]
    nosuch: set[int]
    def __init__(
        self,
        aborted: set[int] | None = ...,
        nosuch: set[int] | None = ...,
    ) -> None: ...

class OpenTxnRequest:
    num_txns: int
    user: str
    hostname: str
    agentInfo: str | None
    def __init__(
        self,
        num_txns: int | None = ...,
        user: str | None = ...,
        hostname: str | None = ...,
        agentInfo: str | None = ...,
    ) -> None: ...

class OpenTxnsResponse:
    txn_ids: list[int]
    def __init__(
        self,
        txn_ids: list[int] | None = ...,
    ) -> None: ...

class CommitTxnRequest:
    txnid: int
    exclWriteEnabled: bool | None
    def __init__(
        self,
        txnid: int | None = ...,
        exclWriteEnabled: bool | None = ...,
    ) -> None: ...

class AbortTxnRequest:
    txnid: int
    def __init__(
        self,
        txnid: int | None = ...,
    ) -> None: ...

class GetOpenTxnsRequest:
    def __init__(
        self,
    ) -> None: ...

class GetOpenTxnsResponse:
    txn_high_water_mark: int
    open_txns: list[int]
    min_open_txn: int | None
    abortedBits: bytes
    def __init__(
        self,
        txn_high_water_mark: int | None = ...,
        open_txns: list[int] | None = ...,
        min_open_txn: int | None = ...,
        abortedBits: bytes | None = ...,
    ) -> None: ...

class TxnInfo:
    id: int
    state: TxnState
    user: str
    hostname: str
    agentInfo: str | None
    def __init__(
        self,
        id: int | None = ...,
        state: TxnState | None = ...,
        user: str | None = ...,
        hostname: str | None = ...,
        agentInfo: str | None = ...,
    ) -> None: ...

class GetOpenTxnsInfoResponse:
    txn_high_water_mark: int
    open_txns: list[TxnInfo]
    def __init__(
        self,
        txn_high_water_mark: int | None = ...,
        open_txns: list[TxnInfo] | None = ...,
    ) -> None: ...

class GetValidWriteIdsRequest:
    fullTableNames: list[str]
    validTxnList: str
    def __init__(
        self,
        fullTableNames: list[str] | None = ...,
        validTxnList: str | None = ...,
    ) -> None: ...

class TableValidWriteIds:
    fullTableName: str
    writeIdHighWaterMark: int
    invalidWriteIds: list[int]
    minOpenWriteId: int | None
    abortedBits: bytes
    def __init__(
        self,
        fullTableName: str | None = ...,
        writeIdHighWaterMark: int | None = ...,
        invalidWriteIds: list[int] | None = ...,
        minOpenWriteId: int | None = ...,
        abortedBits: bytes | None = ...,
    ) -> None: ...

class GetValidWriteIdsResponse:
    tblValidWriteIds: list[TableValidWriteIds]
    def __init__(
        self,
        tblValidWriteIds: list[TableValidWriteIds] | None = ...,
    ) -> None: ...

class AllocateTableWriteIdsRequest:
    dbName: str
    tableName: str
    txnIds: list[int] | None
    def __init__(
        self,
        dbName: str | None = ...,
        tableName: str | None = ...,
        txnIds: list[int] | None = ...,
    ) -> None: ...

class TxnToWriteId:
    txnId: int
    writeId: int
    def __init__(
        self,
        txnId: int | None = ...,
        writeId: int | None = ...,
    ) -> None: ...

class AllocateTableWriteIdsResponse:
    txnToWriteIds: list[TxnToWriteId]
    def __init__(
        self,
        txnToWriteIds: list[TxnToWriteId] | None = ...,
    ) -> None: ...

class AddDynamicPartitions:
    txnid: int
    writeid: int
    dbname: str
    tablename: str
    partitionnames: list[str]
    operationType: DataOperationType | None
    def __init__(
        self,
        txnid: int | None = ...,
        writeid: int | None = ...,
        dbname: str | None = ...,
        tablename: str | None = ...,
        partitionnames: list[str] | None = ...,
        operationType: DataOperationType | None = ...,
    ) -> None: ...
