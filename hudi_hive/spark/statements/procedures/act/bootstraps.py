"""The procedure that bootstraps a table.

Source: Hudi's ``RunBootstrapProcedure``.
"""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.names import HOODIE_BOOTSTRAP_MODE_SELECTOR
from hudi_hive.options import table as options_of_tables
from hudi_hive.spark.bridge import python_session
from hudi_hive.spark.statements.procedures.act.target import option_pairs
from hudi_hive.spark.statements.procedures.base import Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.spark.write import bootstrap

_INDEX_CLASSES: Final = ("HFileBootstrapIndex",)
_CLASSES: Final = {
    "key_generator_class": options_of_tables.KEY_GENERATOR.name,
    "payload_class": options_of_tables.PAYLOAD_CLASS.name,
}
_PROVIDERS: Final = ("SparkParquetBootstrapDataProvider",)


def _run(call: ProcedureCall) -> Rows:
    """One row, 0, when the table is made."""
    _check(call)
    texts = {
        options_of_tables.NAME.name: call.text("table"),
        options_of_tables.TYPE.name: call.text("table_type"),
        options_of_tables.RECORD_KEY_FIELDS.name: call.text("rowKey_field"),
        options_of_tables.PARTITION_FIELDS.name: call.text("partition_path_field"),
        HOODIE_BOOTSTRAP_MODE_SELECTOR: call.text("selector_class"),
    }
    # Their defaults are those of Hudi's procedure, whatever the table's columns; without them we have its writers'.
    for parameter, option in _CLASSES.items():
        if parameter in call.values:
            texts[option] = call.text(parameter)
    options = {name: text for name, text in texts.items() if text} | option_pairs(call)
    source, path = call.text("bootstrap_path"), call.text("base_path")
    assert source is not None and path is not None
    bootstrap(python_session(call.hook.session), source, path, options)
    return [[0]]


def _check(call: ProcedureCall) -> None:
    """Refuse values of parameters that have no effect here."""
    wrong = {
        "base_file_format": str(call.text("base_file_format")).upper() != "PARQUET",
        "bootstrap_index_class": str(call.text("bootstrap_index_class")).rpartition(".")[2] not in _INDEX_CLASSES,
        "full_bootstrap_input_provider": str(call.text("full_bootstrap_input_provider")).rpartition(".")[2]
        not in _PROVIDERS,
        "schema_provider_class": bool(call.text("schema_provider_class")),
        "props_file_path": bool(call.text("props_file_path")),
        "enable_hive_sync": call.flag("enable_hive_sync"),
        "bootstrap_overwrite": call.flag("bootstrap_overwrite"),
    }
    for name in (name for name, holds in wrong.items() if holds):
        raise SparkError(
            f"CALL {call.procedure.name}: {name} => {call.value(name)} is not carried out", remedy=f"leave {name} out"
        )


BOOTSTRAP_PROCEDURES: Final = (
    Procedure(
        "run_bootstrap",
        "status int",
        _run,
        (
            *(
                Parameter(name, required=True)
                for name in ("table", "table_type", "bootstrap_path", "base_path", "rowKey_field")
            ),
            Parameter("base_file_format", default="PARQUET"),
            Parameter("partition_path_field", default=""),
            Parameter(
                "bootstrap_index_class", default="org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex"
            ),
            Parameter(
                "selector_class", default="org.apache.hudi.client.bootstrap.selector.MetadataOnlyBootstrapModeSelector"
            ),
            Parameter("key_generator_class", default="org.apache.hudi.keygen.SimpleKeyGenerator"),
            Parameter(
                "full_bootstrap_input_provider", default="org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider"
            ),
            Parameter("schema_provider_class", default=""),
            Parameter("payload_class", default="org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
            Parameter("parallelism", "int", default=1500),
            Parameter("enable_hive_sync", "boolean", default=False),
            Parameter("props_file_path", default=""),
            Parameter("bootstrap_overwrite", "boolean", default=False),
            Parameter("options"),
        ),
        "Makes a table of a folder of Parquet files; parallelism changes nothing.",
    ),
)
