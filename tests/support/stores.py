"""The S3 server, the proxy that counts requests, and tables of many files, for benchmarks."""

from __future__ import annotations

from integration.support.stores.proxy import Recording, StoreProxy
from integration.support.stores.s3 import S3Server
from integration.support.stores.wide_tables import ROWS, write_wide_table

__all__ = ["ROWS", "Recording", "S3Server", "StoreProxy", "write_wide_table"]
