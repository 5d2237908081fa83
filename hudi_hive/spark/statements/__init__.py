"""SQL statements over Hudi tables: parser, writes, ALTER, SHOW PARTITIONS, time travel, refusals."""

from __future__ import annotations

from hudi_hive.spark.statements.frame_commands import COMMAND_RULES
from hudi_hive.spark.statements.guarded_writers import guard_writers
from hudi_hive.spark.statements.parser import HudiParser

__all__ = [
    "COMMAND_RULES",
    "HudiParser",
    "guard_writers",
]
