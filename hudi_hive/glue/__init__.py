"""AWS Glue's data catalog: databases, tables and partitions as a Hive metastore's structs, by boto3.

In come settings, names and structs of :mod:`hudi_hive.metastore`; out come the same structs, Arrow tables of partitions
and counts of requests. Requests keep Glue's limits, are tried again under one deadline, and never delete data.
"""

from __future__ import annotations

from hudi_hive.glue.catalog import READ_AT_ONCE, GlueCatalog
from hudi_hive.glue.client import aws_session
from hudi_hive.glue.settings import GlueSettings

__all__ = ["READ_AT_ONCE", "GlueCatalog", "GlueSettings", "aws_session"]
