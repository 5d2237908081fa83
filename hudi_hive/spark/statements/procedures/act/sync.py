"""``hive_sync``: brings the metastore up to date with a table."""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.options import sync as declared
from hudi_hive.spark.bridge import metastore_settings, store_options
from hudi_hive.spark.catalog import sync_config
from hudi_hive.spark.statements.procedures.act.target import refreshed
from hudi_hive.spark.statements.procedures.base import TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.sync import HiveSyncTool
from hudi_hive.sync.config import read_options

_OPTIONS: Final = {
    "metastore_uri": declared.METASTORE_URIS.name,
    "username": declared.USERNAME.name,
    "password": declared.PASSWORD.name,
    "use_jdbc": declared.USE_JDBC.name,
    "mode": declared.MODE.name,
    "partition_fields": declared.PARTITION_FIELDS.name,
    "partition_extractor_class": declared.PARTITION_EXTRACTOR.name,
    "strategy": declared.STRATEGY.name,
    "sync_incremental": declared.INCREMENTAL.name,
}


def _hive_sync(call: ProcedureCall) -> Rows:
    entry, hook = call.entry, call.hook
    assert entry is not None  # as table must be given
    options = dict(metastore_settings(hook.session))
    for name, option in _OPTIONS.items():
        text = call.text(name)
        if text is not None:
            options[option] = text
    uris = read_options(options)[0].get("metastore_uris") or ()
    if not uris:
        raise SparkError(
            "CALL hive_sync: the session has no metastore",
            path=call.location,
            remedy="give metastore_uri => 'thrift://host:9083', or set hive.metastore.uris",
        )
    with HiveMetastore(uris) as metastore:
        client = call.client
        config = sync_config(metastore, entry, client, options, store_options(hook.session, call.location))
        HiveSyncTool(config, metastore=metastore, client=client).sync()
    refreshed(call)
    return [["hive sync success."]]


SYNC_PROCEDURES: Final = (
    Procedure(
        "hive_sync",
        "result string",
        _hive_sync,
        (TABLE, *(Parameter(name, default="") for name in _OPTIONS)),
        "Brings the metastore's entry and partitions of the table up to date.",
    ),
)
