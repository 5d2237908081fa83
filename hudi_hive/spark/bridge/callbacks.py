"""What calls from Java to Python would leave behind: connections of ended threads, proxies of stopped contexts.

py4j keeps a proxy as long as Java has the object that stands for it. Spark itself keeps sessions of contexts that were
stopped (a thread that watches idle Python workers never ends, and inherits the session), so a process that makes one
context after the other would have more and more proxies, although nobody calls them any more.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import threading
from typing import Any, Final
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkContext

from hudi_hive.spark.bridge.jvm import JavaProxy, Jvm
from hudi_hive.spark.versions import JavaValue

_COLLECTED: Final = re.compile(r"non existing python proxy p(\d+)$")

_guard: Final = threading.Lock()
_connections: Final[WeakKeyDictionary[JavaGateway, JavaValue]] = WeakKeyDictionary()


class _LateCollections(logging.Filter):
    """Keeps py4j from warning when Java lets go of a proxy that was released before.

    Attributes:
        end: number of the first proxy of the process that was not made when proxies were released last.
    """

    end = 0

    def filter(self, record: logging.LogRecord) -> bool:
        match = _COLLECTED.search(str(record.msg))
        return match is None or int(match.group(1)) >= self.end


_late_collections: Final = _LateCollections()


def tidy_callbacks(jvm: Jvm) -> None:
    """Close connections of threads that have ended from now on, and release proxies when a context stops. Idempotent.

    Args:
        jvm: of a running context.
    """
    logging.getLogger("py4j.java_gateway").addFilter(_late_collections)
    _release_at_stop()
    with _guard:
        if jvm.pins_threads and jvm.gateway not in _connections:
            client = jvm.gateway.java_gateway_server.getCallbackClient()
            _connections[jvm.gateway] = jvm.made("CallbackConnections", client)


def _release_at_stop() -> None:
    original: Any = SparkContext.stop
    if getattr(original, "_hudi_hive", False):
        return

    @functools.wraps(original)
    def stop(self: SparkContext) -> None:
        original(self)
        gateway = SparkContext._gateway
        if gateway is not None and SparkContext._active_spark_context is None:
            _release(gateway)

    stop._hudi_hive = True  # type: ignore[attr-defined]
    setattr(SparkContext, "stop", stop)  # noqa: B010 - a method is no attribute to a type checker


def _release(gateway: JavaGateway) -> None:
    """Let go of our proxies, and close the connections by which they were called; a stopped context calls none."""
    pool = gateway.gateway_property.pool
    with pool.lock:
        _late_collections.end = max(_late_collections.end, pool.next_id)
        for name, proxy in list(pool.dict.items()):
            if isinstance(proxy, JavaProxy) and not proxy.outlives_context:
                del pool.dict[name]
    connections = _connections.get(gateway)
    if connections is not None:
        with contextlib.suppress(Py4JError, OSError):  # where the JVM has ended, and its connections with it
            connections.closeAll()
