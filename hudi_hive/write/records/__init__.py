"""Records on their way into a table: keys, partition paths, locations."""

from __future__ import annotations

from hudi_hive.write.records.carried_keys import FILE_NAME, carried_files, config_for, names_records, refuse_gone_groups
from hudi_hive.write.records.incoming import KEYS_SCHEMA, check_required, combine, conformed, prepare, prepare_keys
from hudi_hive.write.records.key_style import longest_partition_path, table_generator
from hudi_hive.write.records.keyed_records import (
    Prepared,
    job_of,
    physical_schema,
    prepared_keys,
    prepared_rows,
    row_generator,
)
from hudi_hive.write.records.nested_partitions import refuse_nested_partitions
from hudi_hive.write.records.tagged_changes import OPERATION, Located, flagged

__all__ = [
    "FILE_NAME",
    "KEYS_SCHEMA",
    "OPERATION",
    "Located",
    "Prepared",
    "carried_files",
    "check_required",
    "combine",
    "config_for",
    "conformed",
    "flagged",
    "job_of",
    "longest_partition_path",
    "names_records",
    "physical_schema",
    "prepare",
    "prepare_keys",
    "prepared_keys",
    "prepared_rows",
    "refuse_gone_groups",
    "refuse_nested_partitions",
    "row_generator",
    "table_generator",
]
