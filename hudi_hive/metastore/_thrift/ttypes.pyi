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
    def __init__(
        self,
        dbName: str | None = ...,
        tblName: str | None = ...,
        catName: str | None = ...,
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
    tablename: str
    operationType: DataOperationType
    def __init__(
        self,
        type: LockType | None = ...,
        level: LockLevel | None = ...,
        dbname: str | None = ...,
        tablename: str | None = ...,
        operationType: DataOperationType | None = ...,
    ) -> None: ...

class LockRequest:
    component: list[LockComponent]
    txnid: int
    user: str
    hostname: str
    agentInfo: str
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
    def __init__(
        self,
        lockid: int | None = ...,
        state: LockState | None = ...,
    ) -> None: ...

class CheckLockRequest:
    lockid: int
    def __init__(
        self,
        lockid: int | None = ...,
    ) -> None: ...

class UnlockRequest:
    lockid: int
    def __init__(
        self,
        lockid: int | None = ...,
    ) -> None: ...

class HeartbeatRequest:
    lockid: int | None
    def __init__(
        self,
        lockid: int | None = ...,
    ) -> None: ...
