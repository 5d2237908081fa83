"""Between Python and Spark's JVM: calls by py4j, proxies, errors, rows and Arrow types."""

from __future__ import annotations

from hudi_hive.spark.bridge.arrow_types import (
    from_arrow_schema,
    in_microseconds,
    quoted,
    repartition_by_number,
    to_arrow_schema,
)
from hudi_hive.spark.bridge.callbacks import tidy_callbacks
from hudi_hive.spark.bridge.job_labels import statement_jobs, step_jobs
from hudi_hive.spark.bridge.jvm import (
    Function1,
    Function2,
    JavaProxy,
    Jvm,
    PrivateField,
    Rewrite,
    class_name,
    java_source,
    option,
    relations,
)
from hudi_hive.spark.bridge.metastores import metastore_settings
from hudi_hive.spark.bridge.py4j_errors import hint_at_enable, to_java, watch
from hudi_hive.spark.bridge.rows import DIRECTORY_SCHEMA, RowBuilder, packed, packed_files, strictly
from hudi_hive.spark.bridge.secrets import REDACTED_NAMES, REDACTION, hide_secrets, unlogged
from hudi_hive.spark.bridge.sessions import (
    in_session,
    planning_once,
    plans_once,
    python_session,
    session_settings,
)
from hudi_hive.spark.bridge.shipping import class_files, class_folder, map_in_arrow, ship, ship_classes, use_this_python
from hudi_hive.spark.bridge.store_options import (
    reader_settings,
    set_session_options,
    store_options,
    use_session_options_in_pickles,
)
from hudi_hive.spark.bridge.types import java_schema, java_type
from hudi_hive.spark.bridge.weak import Weak
from hudi_hive.spark.bridge.worker import release_memory
from hudi_hive.spark.versions import JavaValue, scala_items

__all__ = [
    "DIRECTORY_SCHEMA",
    "REDACTED_NAMES",
    "REDACTION",
    "Function1",
    "Function2",
    "JavaProxy",
    "JavaValue",
    "Jvm",
    "PrivateField",
    "Rewrite",
    "RowBuilder",
    "Weak",
    "class_files",
    "class_folder",
    "class_name",
    "from_arrow_schema",
    "hide_secrets",
    "hint_at_enable",
    "in_microseconds",
    "in_session",
    "java_schema",
    "java_source",
    "java_type",
    "map_in_arrow",
    "metastore_settings",
    "option",
    "packed",
    "packed_files",
    "planning_once",
    "plans_once",
    "python_session",
    "quoted",
    "reader_settings",
    "relations",
    "release_memory",
    "repartition_by_number",
    "scala_items",
    "session_settings",
    "set_session_options",
    "ship",
    "ship_classes",
    "statement_jobs",
    "step_jobs",
    "store_options",
    "strictly",
    "tidy_callbacks",
    "to_arrow_schema",
    "to_java",
    "unlogged",
    "use_session_options_in_pickles",
    "use_this_python",
    "watch",
]
