"""A real Hive metastore in a child process, for demos and tests."""

from __future__ import annotations

from hudi_hive.metastore.embedded.embedded import EmbeddedMetastore, find_jars
from hudi_hive.metastore.embedded.embedded_files import JAVA_OPTIONS
from hudi_hive.metastore.embedded.embedded_lock import RunningMetastore, find_running
from hudi_hive.metastore.embedded.java import Java, find_java
from hudi_hive.metastore.embedded.java_process import end_process, wait_for_port
from hudi_hive.metastore.embedded.private_files import make_private_folder, open_private, write_private

__all__ = [
    "JAVA_OPTIONS",
    "EmbeddedMetastore",
    "Java",
    "RunningMetastore",
    "end_process",
    "find_jars",
    "find_java",
    "find_running",
    "make_private_folder",
    "open_private",
    "wait_for_port",
    "write_private",
]
