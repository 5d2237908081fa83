"""Holds calls to a metastore for tests back until several are under way: tests wait for calls, not for time."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from hudi_hive.testing import FakeMetastore
from tests.support.running.waiting import SECONDS


def hold_until_together(server: FakeMetastore, method: str, count: int, table: str = "") -> None:
    """Hold calls of a method back until so many of them have been under way at once.

    Args:
        server: the metastore.
        method: name of the method.
        count: how many calls are awaited; behind the last of them none is held any more.
        table: only calls whose arguments have this text.
    """
    together, arrived, do = threading.Event(), itertools.count(1), server._do

    def holding(call: Any, listener: Any) -> Any:
        if call.method == method and table in str(call.arguments):
            if next(arrived) >= count:
                together.set()
            together.wait(SECONDS)
        return do(call, listener)

    server._do = holding  # type: ignore[method-assign]
