"""Checks the answers of a metastore before they are used.

Thrift's decoder takes an answer in which any field is missing, or that is about something else. Each method's answer is
looked over here once: what must be there is there and of its type, lists and maps that are left out are empty ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hudi_hive.metastore._thrift import ttypes

NAME_LISTS: Final = frozenset(
    {
        "get_all_databases",
        "get_databases",
        "get_all_tables",
        "get_tables",
        "get_partition_names",
        "get_partition_names_ps",
    }
)
"""Methods whose answer is a list of names."""


class WrongAnswerError(Exception):
    """An answer of a metastore that is not valid."""


def check_answer(method: str, arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401 - as many types as methods
    """Check an answer; optional parts that are missing are filled in.

    Args:
        method: Thrift method.
        arguments: what it was called with.
        answer: what came back.

    Raises:
        WrongAnswerError: something that must be there is not, or the answer is about another object.
    """
    if method in NAME_LISTS:
        _texts(answer, "names")
        return
    check = _CHECKS.get(method)
    if check is not None:
        check(arguments, answer)


def _need(condition: object, what: str) -> None:
    if not condition:
        raise WrongAnswerError(what)


def _texts(values: Any, what: str) -> None:  # noqa: ANN401
    _need(isinstance(values, list) and all(isinstance(value, str) for value in values), f"no list of {what}")


def _whole(value: Any, what: str) -> None:  # noqa: ANN401
    _need(isinstance(value, int) and not isinstance(value, bool), f"no {what}")


def _same_name(requested: str, returned: Any, what: str) -> None:  # noqa: ANN401
    _need(isinstance(returned, str), f"a {what} without a name")
    _need(returned.lower() == requested.lower(), f"{what} {returned[:100]!r} in place of {requested!r}")


def _columns(columns: Any) -> None:  # noqa: ANN401
    _need(isinstance(columns, list), "no list of columns")
    for column in columns:
        _need(isinstance(column, ttypes.FieldSchema), "something that is no column")
        _need(isinstance(column.name, str) and isinstance(column.type, str), "a column without name or type")


def _storage(place: Any, what: str) -> None:  # noqa: ANN401
    _need(isinstance(place, ttypes.StorageDescriptor), f"a {what} without a storage descriptor")
    if place.cols is None:
        place.cols = []
    _columns(place.cols)
    if place.parameters is None:
        place.parameters = {}
    if place.serdeInfo is None:
        place.serdeInfo = ttypes.SerDeInfo()
    if place.serdeInfo.parameters is None:
        place.serdeInfo.parameters = {}


def _table(table: Any) -> None:  # noqa: ANN401
    _need(isinstance(table, ttypes.Table), "no table")
    _need(isinstance(table.tableName, str) and isinstance(table.dbName, str), "a table without a name")
    _storage(table.sd, "table")
    if table.partitionKeys is None:
        table.partitionKeys = []
    _columns(table.partitionKeys)
    if table.parameters is None:
        table.parameters = {}


def _partition(partition: Any) -> None:  # noqa: ANN401
    _need(isinstance(partition, ttypes.Partition), "no partition")
    _texts(partition.values, "partition values")
    _storage(partition.sd, "partition")
    if partition.parameters is None:
        partition.parameters = {}


def _one_table(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    table: Any = getattr(answer, "table", None)
    _table(table)
    _same_name(arguments[0].tblName, table.tableName, "table")
    _same_name(arguments[0].dbName, table.dbName, "database")


def _tables(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    tables: Any = getattr(answer, "tables", None)
    _need(isinstance(tables, list), "no list of tables")
    requested = {name.lower() for name in arguments[0].tblNames}
    for table in tables:
        _table(table)
        _need(table.tableName.lower() in requested, f"table {table.tableName[:100]!r}, which was not asked for")


def _database(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    _need(isinstance(answer, ttypes.Database), "no database")
    _same_name(arguments[0], answer.name, "database")
    if answer.parameters is None:
        answer.parameters = {}


def _fields(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _columns(answer)


def _one_partition(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    _partition(answer)
    _need(len(answer.values) == len(arguments[2]), f"a partition of {len(answer.values)} values")


def _partitions(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _need(isinstance(answer, list), "no list of partitions")
    for partition in answer:
        _partition(partition)
    _need(len({len(partition.values) for partition in answer}) < 2, "partitions of different numbers of values")


def _named_partitions(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    _partitions(arguments, answer)
    _need(len(answer) <= len(arguments[2]), f"{len(answer)} partitions in place of {len(arguments[2])}")


def _number(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _whole(answer, "number")
    _need(answer >= 0, "a negative number")


def _text(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _need(isinstance(answer, str), "no text")


def _lock(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _whole(getattr(answer, "lockid", None), "number of a lock")
    _need(answer.state in ttypes.LockState.__members__.values(), "a lock without a state")


def _opened(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    numbers: Any = getattr(answer, "txn_ids", None)
    _need(isinstance(numbers, list) and len(numbers) == arguments[0].num_txns, "no transaction")
    for number in numbers:
        _whole(number, "number of a transaction")


def _transactions(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _whole(answer.txn_high_water_mark, "highest transaction")
    _need(isinstance(answer.open_txns, list | set), "no list of transactions")
    _need(isinstance(answer.abortedBits, bytes), "no bits of aborted transactions")


def _transaction_infos(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _need(isinstance(answer.open_txns, list), "no list of transactions")
    for info in answer.open_txns:
        _whole(info.id, "number of a transaction")


def _beats(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    for numbers in (answer.aborted, answer.nosuch):
        _need(isinstance(numbers, list | set), "no set of transactions")


def _write_ids(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    tables = answer.tblValidWriteIds
    _need(isinstance(tables, list) and len(tables) >= len(arguments[0].fullTableNames), "no write ids")
    for table in tables:
        _whole(table.writeIdHighWaterMark, "highest write id")
        _need(isinstance(table.invalidWriteIds, list), "no list of write ids")
        _need(isinstance(table.abortedBits, bytes), "no bits of aborted write ids")


def _allocated(arguments: Sequence[Any], answer: Any) -> None:  # noqa: ANN401
    del arguments
    _need(isinstance(answer.txnToWriteIds, list), "no write ids")
    for entry in answer.txnToWriteIds:
        _whole(entry.txnId, "number of a transaction")
        _whole(entry.writeId, "write id")


_CHECKS: Final[dict[str, Callable[[Sequence[Any], Any], None]]] = {
    "get_database": _database,
    "get_table_req": _one_table,
    "get_table_objects_by_name_req": _tables,
    "get_fields": _fields,
    "get_schema": _fields,
    "get_partition": _one_partition,
    "get_partitions_by_names": _named_partitions,
    "get_partitions_by_filter": _partitions,
    "get_num_partitions_by_filter": _number,
    "get_config_value": _text,
    "get_delegation_token": _text,
    "renew_delegation_token": _number,
    "lock": _lock,
    "check_lock": _lock,
    "open_txns": _opened,
    "get_open_txns": _transactions,
    "get_open_txns_info": _transaction_infos,
    "heartbeat_txn_range": _beats,
    "get_valid_write_ids": _write_ids,
    "allocate_table_write_ids": _allocated,
}
