"""Connections to a metastore: addresses, time-outs, SASL and TLS, retries, answers checked and counted."""

from __future__ import annotations

from hudi_hive.metastore.connection.address import Address, parse_addresses
from hudi_hive.metastore.connection.calls import CallCounter
from hudi_hive.metastore.connection.hive_site import SECURITY, URIS, read_hive_site, secured_uris
from hudi_hive.metastore.connection.pool import ConnectionPool
from hudi_hive.metastore.connection.sasl import SaslTransport, make_mechanism
from hudi_hive.metastore.connection.security import Http, Sasl, Tls, from_hive_properties
from hudi_hive.metastore.connection.settings import BatchSizes, Retries, Timeouts
from hudi_hive.metastore.connection.tokens import DelegationToken, read_token_file, write_token_file
from hudi_hive.metastore.connection.wire import BoundedExchange, BoundedSocket

__all__ = [
    "SECURITY",
    "URIS",
    "Address",
    "BatchSizes",
    "BoundedExchange",
    "BoundedSocket",
    "CallCounter",
    "ConnectionPool",
    "DelegationToken",
    "Http",
    "Retries",
    "Sasl",
    "SaslTransport",
    "Timeouts",
    "Tls",
    "from_hive_properties",
    "make_mechanism",
    "parse_addresses",
    "read_hive_site",
    "read_token_file",
    "secured_uris",
    "write_token_file",
]
