"""A metastore that lies in every field, sends any bytes, at any pace: an error of ours, soon and in little memory."""

from __future__ import annotations

import copy
import random
import resource
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from thrift.Thrift import TMessageType, TType

from hudi_hive.errors import MetastoreError, MetastoreServerError, MetastoreTimeoutError, TransactionError
from hudi_hive.metastore import HiveMetastore, Retries, Timeouts, TransactionClient
from hudi_hive.metastore._thrift import ThriftHiveMetastore, ttypes
from tests.support.metastore.scripted_metastore import ScriptedMetastore, damaged, encoded, field, in_success, reply
from tests.support.running.long import long_case

rounds = pytest.mark.parametrize("rounds", [60, long_case(3000)])
"""Damaged answers for each method."""

MEGABYTES = 256


def columns() -> list[Any]:
    return [ttypes.FieldSchema("id", "bigint", None), ttypes.FieldSchema("name", "string", "who")]


def storage(location: str) -> Any:
    serde = ttypes.SerDeInfo("s", "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe", {"path": location})
    return ttypes.StorageDescriptor(
        columns(), location, "in", "out", compressed=False, numBuckets=0, serdeInfo=serde, parameters={"a": "b"}
    )


def table() -> Any:
    return ttypes.Table(
        tableName="trips",
        dbName="db",
        owner="me",
        createTime=1,
        sd=storage("file:/t"),
        partitionKeys=[ttypes.FieldSchema("day", "string", None)],
        parameters={"EXTERNAL": "TRUE"},
        tableType="EXTERNAL_TABLE",
    )


def partition(day: str) -> Any:
    return ttypes.Partition([day], "db", "trips", 1, 0, storage(f"file:/t/day={day}"), {"x": "y"})


Call = Callable[[HiveMetastore], Any]

ANSWERS: dict[str, tuple[Any, Call]] = {
    "get_all_databases": (["a", "b"], lambda m: m.databases()),
    "get_all_tables": (["a", "b"], lambda m: m.tables("db")),
    "get_database": (ttypes.Database("db", "text", "file:/db", {"a": "b"}), lambda m: m.database("db")),
    "get_table_req": (ttypes.GetTableResult(table()), lambda m: m.table("db", "trips")),
    "get_table_objects_by_name_req": (
        ttypes.GetTablesResult([table()]),
        lambda m: list(m.table_objects("db", ["trips"])),
    ),
    "get_fields": (columns(), lambda m: m.fields("db", "trips")),
    "get_partition_names": (["day=1", "day=2"], lambda m: m.partition_names("db", "trips")),
    "get_partition": (partition("1"), lambda m: m.partition("db", "trips", ["1"])),
    "get_partitions_by_names": (
        [partition("1"), partition("2")],
        lambda m: list(m.partitions("db", "trips", ["day=1", "day=2"])),
    ),
    "get_partitions_by_filter": (
        [partition("1")],
        lambda m: list(m.partitions("db", "trips", filter="day = '1'")),
    ),
    "get_num_partitions_by_filter": (7, lambda m: m.count_partitions("db", "trips")),
    "get_open_txns": (
        ttypes.GetOpenTxnsResponse(txn_high_water_mark=9, open_txns=[3, 4], abortedBits=b"\1"),
        lambda m: TransactionClient(m).valid_transactions(),
    ),
    "get_open_txns_info": (
        ttypes.GetOpenTxnsInfoResponse(9, [ttypes.TxnInfo(id=3, state="OPEN", user="a", hostname="b", agentInfo="c")]),
        lambda m: TransactionClient(m).open_transactions(),
    ),
    "check_lock": (
        ttypes.LockResponse(lockid=5, state="ACQUIRED"),
        lambda m: TransactionClient(m).check_lock(1, 5),
    ),
    "heartbeat_txn_range": (
        ttypes.HeartbeatTxnRangeResponse(aborted={1}, nosuch={2}),
        lambda m: TransactionClient(m).heartbeat_range(1, 3),
    ),
    "allocate_table_write_ids": (
        ttypes.AllocateTableWriteIdsResponse([ttypes.TxnToWriteId(txnId=1, writeId=8)]),
        lambda m: TransactionClient(m).allocate_write_id(1, "db", "trips"),
    ),
    "get_config_value": ("300s", lambda m: TransactionClient(m).timeout_seconds()),
}
"""Method -> a true answer, and the call of the client that asks for it."""


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedMetastore]:
    with ScriptedMetastore(lambda name, number: b"") as running:
        yield running


@pytest.fixture
def client(server: ScriptedMetastore) -> Iterator[HiveMetastore]:
    with HiveMetastore(server.uri, timeouts=Timeouts(connect=60, read=60), retries=Retries(attempts=1)) as made:
        yield made


def body(method: str, answer: Any) -> bytes:
    return encoded(getattr(ThriftHiveMetastore, f"{method}_result")(success=answer))


def outcome(client: HiveMetastore, call: Call) -> str:
    """``answer`` or ``error``; anything that is no error of the metastore's tree ends the test."""
    try:
        call(client)
    except (MetastoreError, TransactionError):
        return "error"
    return "answer"


@pytest.mark.parametrize("method", ANSWERS)
def test_true_answers_are_taken(method, server, client):
    answer, call = ANSWERS[method]
    good = body(method, answer)
    server.script = lambda name, number: reply(name, number, good)
    assert outcome(client, call) == "answer"


@pytest.mark.parametrize("method", ANSWERS)
def test_fields_that_are_left_out(method, server, client):
    """Every field at every depth left out, one at a time."""
    answer, call = ANSWERS[method]
    tried = Counter()
    for place in _places(answer, ()):
        lying = body(method, _without(copy.deepcopy(answer), place))
        server.script = lambda name, number, lying=lying: reply(name, number, lying)
        tried[outcome(client, call)] += 1
    server.script = lambda name, number: reply(name, number, b"\0")
    assert outcome(client, call) == "error"
    assert sum(tried.values()) == sum(1 for _ in _places(answer, ()))


def _places(value: Any, above: tuple) -> Iterator[tuple]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*above, index))
    elif hasattr(value, "thrift_spec"):
        for name in value.__slots__:
            if getattr(value, name) is not None:
                yield (*above, name)
                yield from _places(getattr(value, name), (*above, name))


def _without(value: Any, place: tuple) -> Any:
    holder = value
    for step in place[:-1]:
        holder = holder[step] if isinstance(step, int) else getattr(holder, step)
    setattr(holder, place[-1], None)
    return value


@rounds
@pytest.mark.parametrize("method", ANSWERS)
def test_any_bytes_of_a_metastore_are_answers_or_errors(method, rounds, server, client):
    """Answers with flipped bits, overwritten integers, cut off or with bytes put in."""
    answer, call = ANSWERS[method]
    good = body(method, answer)
    rng = random.Random(f"{method} 7")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tried = Counter()
    for _ in range(rounds):
        lying = damaged(rng, good)
        server.script = lambda name, number, lying=lying: reply(name, number, lying)
        tried[outcome(client, call)] += 1
    assert tried["error"] and sum(tried.values()) == rounds
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEGABYTES


LISTS = {
    "texts without end": field(TType.LIST, 0, struct.pack(">bi", TType.STRING, 2**31 - 1)) + bytes(1 << 20),
    "a negative number of texts": field(TType.LIST, 0, struct.pack(">bi", TType.STRING, -5)),
    "structs where texts are due": in_success(TType.LIST, struct.pack(">bi", TType.STRUCT, 1000) + bytes(1000)),
    "a text of two gigabytes": field(TType.LIST, 0, struct.pack(">bii", TType.STRING, 1, 2**31 - 1)),
    "a text of a negative length": field(TType.LIST, 0, struct.pack(">bii", TType.STRING, 1, -1)),
    "a deep struct": field(TType.STRUCT, 7, b"") + b"".join(field(TType.STRUCT, 1, b"") for _ in range(20_000)),
    "an unknown type": field(99, 0, bytes(100)),
    "nothing": b"",
    "an empty struct": b"\0",
    "another type": in_success(TType.I32, bytes(4)),
}


@pytest.mark.parametrize("what", LISTS)
def test_lengths_beyond_the_message_are_refused_in_little_memory(what, server, client):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    server.script = lambda name, number: reply(name, number, LISTS[what])
    with pytest.raises(MetastoreError) as caught:
        client.databases()
    assert caught.value.path == server.uri
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEGABYTES


def test_long_texts_and_lists_that_a_metastore_may_give(server, client):
    """A view's text of 20 MB, and a hundred thousand names."""
    long = table()
    long.viewOriginalText = "x" * 20_000_000
    text = body("get_table_req", ttypes.GetTableResult(long))
    server.script = lambda name, number: reply(name, number, text)
    assert len(client.table("db", "trips").viewOriginalText) == 20_000_000
    names = [f"day={i}" for i in range(100_000)]
    listed = body("get_partition_names", names)
    server.script = lambda name, number: reply(name, number, listed)
    assert client.partition_names("db", "trips") == names


@pytest.mark.parametrize(
    ("name", "shift", "kind"),
    [
        ("get_all_tables", 0, TMessageType.REPLY),
        ("get_all_databases", 1, TMessageType.REPLY),
        ("get_all_databases", -1, TMessageType.REPLY),
        ("get_all_databases", 0, TMessageType.CALL),
        ("get_all_databases", 0, TMessageType.ONEWAY),
        ("", 0, TMessageType.REPLY),
    ],
)
def test_answers_to_other_calls(name, shift, kind, server, client):
    answer = body("get_all_databases", ["a"])
    server.script = lambda _, number: reply(name, number + shift, answer, kind)
    with pytest.raises(MetastoreServerError, match="no answer to the call"):
        client.databases()


def test_an_answer_with_another_object_is_refused(server, client):
    other = table()
    other.tableName = "other"
    server.script = lambda name, number: reply(name, number, body("get_table_req", ttypes.GetTableResult(other)))
    with pytest.raises(MetastoreServerError, match="'other' in place of 'trips'"):
        client.table("db", "trips")
    server.script = lambda name, number: reply(name, number, body("get_database", ttypes.Database("other")))
    with pytest.raises(MetastoreServerError, match="'other' in place of 'db'"):
        client.database("db")


@pytest.mark.parametrize("kind", [TMessageType.REPLY, TMessageType.EXCEPTION])
def test_a_byte_now_and_then_does_not_put_off_the_time_out(kind, server):
    def drip(name: str, number: int) -> Iterator[bytes]:
        yield reply(name, number, field(TType.LIST, 0, struct.pack(">bii", TType.STRING, 1, 1 << 20)), kind)
        while True:
            server.pause(0.02)
            yield b"x"

    server.script = drip
    timeouts = Timeouts(connect=60, read=0.5)
    with (
        HiveMetastore(server.uri, timeouts=timeouts, retries=Retries(attempts=1)) as client,
        pytest.raises(MetastoreTimeoutError, match=r"within 0\.5 s"),
    ):
        client.databases()


def test_an_exception_that_is_none(server, client):
    server.script = lambda name, number: reply(name, number, b"\x63" * 50, TMessageType.EXCEPTION)
    with pytest.raises(MetastoreError):
        client.databases()
