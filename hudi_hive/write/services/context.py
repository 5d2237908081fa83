"""What every table service works with: the table, its lock, where tasks run, and the metadata table to keep in step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from hudi_hive.table import MetaClient
from hudi_hive.write.executor import Executor, LocalExecutor

Lock = Callable[[], AbstractContextManager[Any]]
"""Gives the table's lock as a context manager."""


@dataclass(frozen=True)
class ServiceContext:
    """One run of table services on one table.

    Attributes:
        client: the table at the moment that the service plans from.
        options: Hudi's write options.
        executor: where tasks run.
        lock: the table's lock, held while instants are drawn and completed.
    """

    client: MetaClient
    options: Mapping[str, str] = field(default_factory=dict)
    executor: Executor = field(default_factory=LocalExecutor)
    lock: Lock = nullcontext

    def reload(self) -> ServiceContext:
        """The same with the table as it is now."""
        return replace(self, client=self.client.reload())
