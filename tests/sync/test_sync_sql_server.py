"""A session with an SQL server that is slow, silent or gone: nothing hangs, nothing is mistaken, nothing is told."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from hudi_hive.errors import (
    InvalidOptionError,
    MetastoreConnectError,
    MetastoreLostError,
    MetastoreServerError,
    MetastoreTimeoutError,
)
from hudi_hive.metastore import Timeouts
from hudi_hive.sync import HiveSyncConfig
from hudi_hive.sync.apply.sql import JdbcAddress, SqlServer, parse_jdbc_url

OK = ttypes.TStatus(ttypes.TStatusCode.SUCCESS_STATUS)
HANDLE = ttypes.THandleIdentifier(guid=b"g" * 16, secret=b"s" * 16)
SESSION = ttypes.TSessionHandle(HANDLE)
OPERATION = ttypes.TOperationHandle(HANDLE, ttypes.TOperationType.EXECUTE_STATEMENT, hasResultSet=False)


class Server:
    """The calls of HiveServer2's protocol that a session makes, on a socket of its own, without SASL."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.closed = 0
        self.opening_takes = 0.0
        self.name_fails = False
        self.resume = threading.Event()
        self.reached = threading.Event()
        self._socket = TServerSocket("127.0.0.1", 0)
        self._socket.listen()
        self.port = self._socket.handle.getsockname()[1]
        self._threads: list[threading.Thread] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def address(self) -> JdbcAddress:
        return JdbcAddress("127.0.0.1", self.port, sasl=False)

    def _accept(self) -> None:
        while True:
            try:
                client = self._socket.accept()
            except (OSError, AttributeError):
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: object) -> None:
        processor, protocol = TCLIService.Processor(self), TBinaryProtocol(TBufferedTransport(client))
        try:
            while True:
                processor.process(protocol, protocol)
        except (TTransportException, OSError):
            protocol.trans.close()

    def stop(self) -> None:
        self.resume.set()
        self._socket.close()

    def OpenSession(self, request):
        time.sleep(self.opening_takes)
        return ttypes.TOpenSessionResp(OK, request.client_protocol, SESSION)

    def GetInfo(self, request):
        if self.name_fails:
            raise TTransportException(message="gone")
        return ttypes.TGetInfoResp(OK, ttypes.TGetInfoValue(stringValue="Apache Hive"))

    def ExecuteStatement(self, request):
        self.statements.append(request.statement)
        if "SLOW" in request.statement:
            self.reached.set()
            self.resume.wait(120)
        if "WRONG" in request.statement:
            status = ttypes.TStatus(ttypes.TStatusCode.ERROR_STATUS, errorMessage="no\n  at some.java.Class\nreally")
            return ttypes.TExecuteStatementResp(status)
        return ttypes.TExecuteStatementResp(OK, OPERATION)

    def CloseOperation(self, request):
        return ttypes.TCloseOperationResp(OK)

    def CloseSession(self, request):
        self.closed += 1
        return ttypes.TCloseSessionResp(OK)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


def test_statements_are_carried_out_or_fail(server):
    with SqlServer(server.address()) as session:
        session.execute("CREATE DATABASE d", "database d")
        with pytest.raises(MetastoreServerError, match=r"database d: no really \["):
            session.execute("WRONG", "database d")
        session.execute("USE d", "database d")
        assert (session.is_spark, session.statements) == (False, {"CREATE DATABASE": 1, "USE d": 1})
    assert server.statements == ["USE `default`", "CREATE DATABASE d", "WRONG", "USE d"]
    assert server.closed == 1


def test_a_session_may_take_longer_than_a_connection(server):
    server.opening_takes = 0.5
    with SqlServer(server.address(), timeouts=Timeouts(connect=0.2, read=120.0)) as session:
        session.execute("USE d", "database d")


def test_after_a_time_out_nothing_is_sent_or_waited_for(server):
    """The late answer to one statement must not be taken for the answer to the next one."""
    session = SqlServer(server.address(), timeouts=Timeouts(connect=300.0, read=2.0))
    with pytest.raises(MetastoreTimeoutError, match="table t"):
        session.execute("SLOW", "table t")
    with pytest.raises(MetastoreLostError, match="table u"):
        session.execute("USE u", "table u")
    session.close()
    session.close()
    assert server.statements == ["USE `default`", "SLOW"]
    server.resume.set()
    assert server.closed == 0


def test_ctrl_c_in_a_statement_ends_the_session_at_once(request, server):
    noticed = threading.Event()

    def interrupt() -> None:
        server.reached.wait(120)
        os.kill(os.getpid(), signal.SIGINT)
        while not noticed.wait(1):  # lost if it met a destructor, in which Python drops all errors
            os.kill(os.getpid(), signal.SIGINT)

    def handle(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)  # others of this process, such as Spark's, are no matter of this test
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    sender = threading.Thread(target=interrupt)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt), SqlServer(server.address()) as session:
            session.execute("SLOW", "table t")
    finally:
        noticed.set()
        sender.join()
    # Closing would have waited for the statement that the server is still busy with.
    assert not server.resume.is_set()
    assert server.closed == 0
    with pytest.raises(MetastoreLostError):
        session.execute("USE d", "database d")


def test_a_server_that_stops_while_a_session_opens_is_an_error(server):
    server.name_fails = True
    with pytest.raises(MetastoreLostError, match="SQL server"):
        SqlServer(server.address(), timeouts=Timeouts(connect=300.0, read=300.0))


def test_a_server_that_answers_no_sasl_greeting_is_an_error(server):
    """SASL's greeting is not answered by a server without it."""
    address = parse_jdbc_url(f"jdbc:hive2://127.0.0.1:{server.port}/default;user=me;password=SECRET")
    with pytest.raises(MetastoreConnectError, match="noSasl") as caught:
        SqlServer(address, timeouts=Timeouts(connect=0.5))
    assert "SECRET" not in str(caught.value)


# -- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:hive2://h:1/d;password=a;SECRET",
        "jdbc:hive2://h:1/d;password=a;SECRET=b",
        "jdbc:hive2://h:1/d;password=a?SECRET",
        "jdbc:hive2://h:1/d;password=a#SECRET",
        "jdbc:hive2://h:1/d;password:SECRET",
        "jdbc:hive2://me:SECRET@h:1/d",
        "jdbc:hive2://me:SECRET@h",
        "jdbc:hive2:/h:1/d;password=SECRET",
    ],
)
def test_an_address_that_is_refused_does_not_show_its_password(url):
    with pytest.raises(InvalidOptionError, match="jdbcurl") as caught:
        parse_jdbc_url(url)
    assert "SECRET" not in str(caught.value)


def test_an_address_with_an_open_bracket_is_refused():
    with pytest.raises(InvalidOptionError, match="host:port"):
        parse_jdbc_url("jdbc:hive2://[::1:10000/d")


def test_a_configuration_does_not_show_the_password_in_its_address():
    config = HiveSyncConfig(
        base_path="t", mode="hiveql", jdbc_url="jdbc:hive2://h/d;password=SECRET", password="SECRET"
    )
    assert "SECRET" not in repr(config)
