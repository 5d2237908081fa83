"""AWS Glue's data catalog: databases, tables and partitions as a Hive metastore's structs, by boto3.

In come settings, names and structs of :mod:`hudi_hive.metastore`; out come the same structs, Arrow tables of partitions
and counts of requests. Requests keep Glue's limits, are tried again under one deadline, and never delete data.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hudi_hive.glue.settings import READ_AT_ONCE, GlueSettings

if TYPE_CHECKING:
    from hudi_hive.glue.catalog import GlueCatalog
    from hudi_hive.glue.client import aws_session

__all__ = ["READ_AT_ONCE", "GlueCatalog", "GlueSettings", "aws_session"]

_HOMES = {
    "GlueCatalog": "catalog",
    "aws_session": "client",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562 gives whatever the module holds
    """Loaded on first use: a sync to a Hive metastore needs the settings alone."""
    if name in _HOMES:
        return getattr(import_module(f"hudi_hive.glue.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hudi_hive.glue' has no attribute {name!r}")
