"""Records on their way into a table: keys, partition paths, locations."""

from __future__ import annotations

from hudi_hive.write.records.carried_keys import FILE_NAME, carried_files, config_for, names_records, refuse_gone_groups
from hudi_hive.write.records.incoming import (
    RECORD_KEY_SCHEMA,
    check_required,
    combine,
    conformed,
    prepare,
    prepare_keys,
)
from hudi_hive.write.records.key_style import longest_partition_path, table_generator
from hudi_hive.write.records.keyed_records import (
    KeyedRecords,
    physical_schema,
    prepare_deletes,
    prepare_records,
    row_generator,
    write_context_of,
)
from hudi_hive.write.records.nested_partitions import refuse_nested_partitions
from hudi_hive.write.records.operations import DELETE, INSERT, OPERATION, UPDATE, operation_numbers
from hudi_hive.write.records.staying_records import with_partitions
from hudi_hive.write.records.tagged_changes import TaggedChanges, with_is_gone

__all__ = [
    "DELETE",
    "FILE_NAME",
    "INSERT",
    "OPERATION",
    "RECORD_KEY_SCHEMA",
    "UPDATE",
    "KeyedRecords",
    "TaggedChanges",
    "carried_files",
    "check_required",
    "combine",
    "config_for",
    "conformed",
    "longest_partition_path",
    "names_records",
    "operation_numbers",
    "physical_schema",
    "prepare",
    "prepare_deletes",
    "prepare_keys",
    "prepare_records",
    "refuse_gone_groups",
    "refuse_nested_partitions",
    "row_generator",
    "table_generator",
    "with_is_gone",
    "with_partitions",
    "write_context_of",
]
