"""Files of Hive ACID tables: names of base and delta directories, row identifiers, and a snapshot reader."""

from __future__ import annotations

from hudi_hive.mutation.acid_table.acid_file_reader import OpenAcidFile
from hudi_hive.mutation.acid_table.acid_names import (
    MAX_BUCKETS,
    MAX_STATEMENT,
    STAGING,
    VERSION,
    VERSION_FILE,
    bucket_file,
    delta_folder,
    partition_path,
    staging_folder,
    stored_value,
)
from hudi_hive.mutation.acid_table.directories import AcidDirectory, AcidFile, PartitionState
from hudi_hive.mutation.acid_table.partition_texts import padded, partition_texts
from hudi_hive.mutation.acid_table.reader import AcidPartition, AcidReader
from hudi_hive.mutation.acid_table.row_ids import ROW_ID, ROW_ID_TYPE, RowIdColumns, key_order, row_id_keys
from hudi_hive.mutation.acid_table.table import ORC_INPUT, TABLE_TAG, AcidColumn, AcidTable

__all__ = [
    "MAX_BUCKETS",
    "MAX_STATEMENT",
    "ORC_INPUT",
    "ROW_ID",
    "ROW_ID_TYPE",
    "STAGING",
    "TABLE_TAG",
    "VERSION",
    "VERSION_FILE",
    "AcidColumn",
    "AcidDirectory",
    "AcidFile",
    "AcidPartition",
    "AcidReader",
    "AcidTable",
    "OpenAcidFile",
    "PartitionState",
    "RowIdColumns",
    "bucket_file",
    "delta_folder",
    "key_order",
    "padded",
    "partition_path",
    "partition_texts",
    "row_id_keys",
    "staging_folder",
    "stored_value",
]
