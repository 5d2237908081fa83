"""The names of the meta columns that Hudi adds to the rows of a table (``HoodieRecord``).

See ``docs/format.md#meta-columns``.
"""

from __future__ import annotations

from typing import Final

META_COLUMN_PREFIX: Final = "_hoodie_"
COMMIT_SEQNO_COLUMN: Final = "_hoodie_commit_seqno"
COMMIT_TIME_COLUMN: Final = "_hoodie_commit_time"
FILE_NAME_COLUMN: Final = "_hoodie_file_name"
IS_DELETED_COLUMN: Final = "_hoodie_is_deleted"
OPERATION_COLUMN: Final = "_hoodie_operation"
PARTITION_PATH_COLUMN: Final = "_hoodie_partition_path"
RECORD_KEY_COLUMN: Final = "_hoodie_record_key"
