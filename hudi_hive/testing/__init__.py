"""A Hive metastore for tests: Thrift on a loopback port, without Java, in memory, with faults on demand.

In comes nothing; out come a URI for any client and the calls that it made. It refuses what Hive 2.3 refuses and fills
in what Hive 2.3 fills in; one suite of tests runs against it and against the real one.
"""

from __future__ import annotations

from hudi_hive.testing.column_types import change_allowed, is_valid
from hudi_hive.testing.faults import Fault, FaultKind
from hudi_hive.testing.server import FakeMetastore, RecordedCall

__all__ = [
    "FakeMetastore",
    "Fault",
    "FaultKind",
    "RecordedCall",
    "change_allowed",
    "is_valid",
]
