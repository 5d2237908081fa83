"""``ConnectServer``: Spark's Connect server in this process' PySpark, with every client's session enabled.

Spark calls Python back to plan a statement, so the server is a PySpark driver: this process and its Java child.
Sessions of clients are derived from the one that is enabled here, and are enabled by that.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from subprocess import Popen, TimeoutExpired
from types import TracebackType
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.spark.bridge import REDACTED_NAMES, REDACTION, Jvm
from hudi_hive.spark.session import enable, require_java, session_builder

_SERVICE: Final = "org.apache.spark.sql.connect.service.SparkConnectService"
_OWN: Final = {"spark.connect.grpc.binding.address": "host", "spark.connect.grpc.binding.port": "port"}
_LOOK_SECONDS: Final = 0.2
_LEAVE_SECONDS: Final = 60.0
_LONGEST_REASON: Final = 300


class ConnectServer:
    """A Spark Connect server on which clients without Java read and write Hudi tables; one in a process.

    Args:
        host: the address that it listens on. Whoever reaches it may read and write all that the server may: there is
            no login but Spark's own token (``spark.connect.authenticate.token``, from Spark 4.0 on).
        port: TCP port; 0 takes a free one.
        metastore_uris: ``thrift://host:port`` of a Hive metastore, one or several; without it the settings decide.
        settings: Spark's own settings (``spark.…``), on top of these.
        storage_options: credentials and settings of stores, as for :func:`~hudi_hive.spark.enable`.

    Raises:
        InvalidOptionError: a port that is none, or a setting that is an argument here.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 15002,
        metastore_uris: str | Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        chosen = dict(settings or {})
        for name, argument in _OWN.items():
            if name in chosen:
                raise InvalidOptionError(f"{name} is not taken as a setting", remedy=f"use the argument {argument}")
        if not 0 <= port <= 65535:
            raise InvalidOptionError(f"there is no port {port}", remedy="use 0 to 65535")
        self._host = host
        self._metastore_uris = metastore_uris
        self._storage_options = storage_options
        self._settings = {
            # A client sees an error's own text, without the stack of the server below it.
            "spark.sql.connect.serverStacktrace.enabled": "false",
            REDACTION: REDACTED_NAMES,
            **chosen,
            "spark.connect.grpc.binding.address": host,
            "spark.connect.grpc.binding.port": str(port),
        }
        self._java: Popen[bytes] | None = None
        self._port = port

    @property
    def url(self) -> str:
        """What clients give to ``SparkSession.builder.remote``."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"sc://{host}:{self._port}"

    def start(self) -> Self:
        """Start Spark, enable its sessions and open the port.

        Raises:
            SparkError: a session runs already in this process, the port is taken, or Spark does not start.
            JavaNotFoundError: there is no Java.
        """
        if SparkContext._active_spark_context is not None:
            raise SparkError(
                "a Spark session runs already in this process", remedy="start the server in a process of its own"
            )
        require_java()
        if self._port and not _is_free(self._host, self._port):
            raise SparkError(
                f"port {self._port} on {self._host} is in use", remedy="choose another port, or 0 for a free one"
            )
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = session_builder(self._metastore_uris) if self._metastore_uris else SparkSession.builder
        try:
            spark = builder.config(map=dict(self._settings)).getOrCreate()
            enable(spark, storage_options=self._storage_options)
            self._port = self._open_port(spark.sparkContext)
        except (Py4JError, RuntimeError) as error:
            self.stop()
            text = " ".join(str(error).split())
            taken = "BindException" in text or "Failed to bind" in text
            raise SparkError(
                f"Spark Connect's server does not start at {self.url}: {text[:_LONGEST_REASON]}",
                remedy="choose another port or address; 0 takes a free port" if taken else "see what Spark printed",
            ) from error
        except BaseException:
            self.stop()
            raise
        gateway = spark.sparkContext._gateway
        self._java = None if gateway is None else gateway.proc
        return self

    def wait(self) -> None:
        """Wait for Spark to end by itself, which it should not.

        Raises:
            SparkError: it has ended.
        """
        while self._java is not None and self._java.poll() is None:
            time.sleep(_LOOK_SECONDS)
        raise SparkError("Spark Connect's server has ended by itself", remedy="see what Spark printed before")

    def stop(self) -> None:
        """Close the port and end Spark and its Java process. Idempotent."""
        context, gateway = SparkContext._active_spark_context, SparkContext._gateway
        if context is not None:
            with suppress(Py4JError, OSError):
                context.stop()
        if gateway is not None:
            java: Popen[bytes] = gateway.proc
            with suppress(Py4JError, OSError):
                gateway.shutdown()
            if java.stdin is not None:
                java.stdin.close()  # Java's order to leave
            try:
                java.wait(_LEAVE_SECONDS)
            except TimeoutExpired:
                java.kill()
                java.wait()
            SparkContext._gateway = SparkContext._jvm = None
        self._java = None

    def _open_port(self, context: SparkContext) -> int:
        """Listen, now that whoever connects gets an enabled session; gives the port."""
        jvm = Jvm(context)
        try:
            service = jvm.module(_SERVICE)
        except SparkError as error:
            raise SparkError(
                f"PySpark {context.version} has no Connect server in it",
                remedy="set spark.jars.packages to org.apache.spark:spark-connect_2.12 of the same version",
            ) from error
        service.start(context._jsc.sc())
        return int(service.localPort())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.errno != errno.EADDRINUSE  # what else is wrong with an address Spark says
    return True
