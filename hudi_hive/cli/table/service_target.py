"""The common parts of the commands of table services: the table, Hudi's options, threads with a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hudi_hive.cli.common import pairs, storage_options
from hudi_hive.cli.option_groups import option_group

if TYPE_CHECKING:
    from hudi_hive.table import MetaClient
    from hudi_hive.write.services import TableServices

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ServiceTarget:
    """The table of a service command, and the options and threads to run it with.

    Attributes:
        path: the table's base path.
        conf: Hudi's write options, as ``key=value``.
        threads: file groups at a time; None for one a processor.
        storage_option: arguments of the file system, as ``key=value``.
    """

    path: str
    conf: tuple[str, ...]
    threads: int | None
    storage_option: tuple[str, ...]

    def open(self, title: str) -> TableServices:
        """Open the table with the lock provider that the options name.

        All that a write takes is accepted, and nothing else: a mistyped option is not passed over.

        Args:
            title: the service, for the progress bar.

        Raises:
            HudiHiveError: there is no such table, or an option is unknown or not supported.
        """
        from hudi_hive.metastore.transactions import MetastoreLock
        from hudi_hive.write.coordination import LocalExecutor
        from hudi_hive.write.services import TableServices

        executor = LocalExecutor(self.threads, title)
        return TableServices.open(self.load(), self.options(), executor=executor, metastore_lock=MetastoreLock.connect)

    def load(self) -> MetaClient:
        """The table as it is now.

        Raises:
            HudiHiveError: there is no such table.
        """
        from hudi_hive.table import MetaClient

        return MetaClient.load(self.path, pairs(self.storage_option, "--storage-option"))

    def options(self) -> dict[str, str]:
        """Hudi's write options."""
        return pairs(self.conf, "--conf")


def service_target(function: F) -> F:
    """Add PATH, ``--conf``, ``--threads`` and ``--storage-option``; the command gets them as ``target``."""
    return option_group(
        "target",
        ServiceTarget,
        click.argument("path"),
        click.option("--conf", multiple=True, metavar="K=V", help="One of Hudi's write options (repeatable)."),
        click.option("--threads", type=click.IntRange(min=1), help="File groups at a time."),
        storage_options,
    )(function)
