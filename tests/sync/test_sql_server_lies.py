"""A server of HiveServer2's protocol that sends any bytes, at any pace: an error of ours, soon."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from TCLIService import TCLIService, ttypes
from thrift.Thrift import TType

from hudi_hive.errors import MetastoreError
from hudi_hive.metastore import Timeouts
from hudi_hive.sync.apply.sql import SqlServer, parse_jdbc_url
from tests.support.metastore.scripted_metastore import ScriptedMetastore, damaged, encoded, field, reply
from tests.support.running.long import long_case

rounds = pytest.mark.parametrize("rounds", [150, long_case(3000)])
"""Damaged answers for each method."""

_DONE = ttypes.TStatus(ttypes.TStatusCode.SUCCESS_STATUS)
_HANDLE = ttypes.THandleIdentifier(b"1" * 16, b"2" * 16)
_ANSWERS: dict[str, Any] = {
    "OpenSession": ttypes.TOpenSessionResp(
        status=_DONE,
        serverProtocolVersion=ttypes.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V6,
        sessionHandle=ttypes.TSessionHandle(_HANDLE),
    ),
    "GetInfo": ttypes.TGetInfoResp(_DONE, ttypes.TGetInfoValue(stringValue="Apache Hive")),
    "ExecuteStatement": ttypes.TExecuteStatementResp(
        _DONE,
        ttypes.TOperationHandle(_HANDLE, ttypes.TOperationType.EXECUTE_STATEMENT, hasResultSet=False),
    ),
    "CloseOperation": ttypes.TCloseOperationResp(_DONE),
    "CloseSession": ttypes.TCloseSessionResp(_DONE),
}


class ScriptedSqlServer(ScriptedMetastore):
    """Answers truthfully but for the methods whose bytes are given; connections last."""

    def __init__(self) -> None:
        super().__init__(self._truth, lasting=True)
        self.lies: dict[str, bytes | Iterator[bytes]] = {}

    def _truth(self, name: str, number: int) -> bytes | Iterator[bytes]:
        lie = self.lies.get(name)
        if lie is None:
            return reply(name, number, _body(name))
        return lie if not isinstance(lie, bytes) else reply(name, number, lie)


def _body(name: str) -> bytes:
    return encoded(getattr(TCLIService, f"{name}_result")(success=_ANSWERS[name]))


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedSqlServer]:
    with ScriptedSqlServer() as running:
        yield running


def ask(server: ScriptedSqlServer, timeouts: Timeouts) -> None:
    address = parse_jdbc_url(f"jdbc:hive2://127.0.0.1:{server.port}/default;auth=noSasl")
    with SqlServer(address, timeouts=timeouts) as session:
        session.execute("CREATE TABLE t (a int)", "table t")


def test_the_truth_is_taken(server):
    server.lies = {}
    ask(server, Timeouts(connect=60, read=60))


@rounds
@pytest.mark.parametrize("method", ["OpenSession", "GetInfo", "ExecuteStatement"])
def test_any_bytes_of_a_sql_server_are_answers_or_errors(method, rounds, server):
    good = _body(method)
    rng = random.Random(f"{method} 11")
    tried = Counter()
    for _ in range(rounds):
        # What is cut short is followed by the connection's end.
        server.lies = {method: iter([reply(method, 0, damaged(rng, good)), b""])}
        try:
            ask(server, Timeouts(connect=60, read=60))
            tried["answer"] += 1
        except MetastoreError:
            tried["error"] += 1
    server.lies = {}
    assert tried["error"] and sum(tried.values()) == rounds


@pytest.mark.parametrize("method", ["OpenSession", "ExecuteStatement"])
def test_a_byte_now_and_then_does_not_put_off_the_time_out(method, server):
    def drip() -> Iterator[bytes]:
        """A long message of an error, which never ends."""
        text = field(TType.STRING, 5, struct.pack(">i", 1 << 20))
        yield reply(method, 0, field(TType.STRUCT, 0, field(TType.STRUCT, 1, text)))
        while True:
            server.pause(0.02)
            yield b"x"

    server.lies = {method: drip()}
    with pytest.raises(MetastoreError, match="time"):
        ask(server, Timeouts(connect=0.5, read=0.5))
    server.lies = {}
