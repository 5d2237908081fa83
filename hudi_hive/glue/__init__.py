"""AWS Glue's data catalog: databases, tables and partitions as a Hive metastore's structs, by boto3.

In come settings, names and structs of :mod:`hudi_hive.metastore`; out come the same structs, Arrow tables of partitions
and counts of requests. Requests keep Glue's limits, are tried again under one deadline, and never delete data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.glue.settings import READ_AT_ONCE, GlueSettings
from hudi_hive.lazy_names import lazy_names

if TYPE_CHECKING:
    from hudi_hive.glue.catalog import GlueCatalog
    from hudi_hive.glue.client import aws_session

__all__ = ["READ_AT_ONCE", "GlueCatalog", "GlueSettings", "aws_session"]

_HOMES = {
    "GlueCatalog": "catalog",
    "aws_session": "client",
}

# Loaded on first use: a sync to a Hive metastore needs the settings alone.
__getattr__ = lazy_names(__name__, _HOMES)
