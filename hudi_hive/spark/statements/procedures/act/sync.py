"""``hive_sync`` brings the metastore up to date with a table, ``sync_validate`` compares two tables there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from hudi_hive.errors import MissingDependencyError, SparkError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.options import Option
from hudi_hive.options import sync as declared
from hudi_hive.spark.bridge import metastore_settings, quoted, session_settings, store_options
from hudi_hive.spark.catalog import sync_config
from hudi_hive.spark.statements.procedures.act.target import refreshed
from hudi_hive.spark.statements.procedures.base import TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.sync import HiveSyncTool
from hudi_hive.sync.config import read_options
from hudi_hive.table import MetaClient

if TYPE_CHECKING:
    from hudi_hive.sync.apply.sql import SqlServer

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

_OF_SESSION: Final[tuple[Option[Any], ...]] = (declared.CONNECTIONS, declared.BATCH_SIZE)
"""What the procedure has no parameter for and, as in Hudi, takes from the session's settings."""


def _hive_sync(call: ProcedureCall) -> Rows:
    entry, hook = call.entry, call.hook
    assert entry is not None  # as table must be given
    settings = session_settings(hook.session)
    options = dict(metastore_settings(hook.session))
    options |= {name: settings[name] for option in _OF_SESSION for name in option.names if name in settings}
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


# -- sync_validate -----------------------------------------------------------------------------------------------------


def _sync_validate(call: ProcedureCall) -> Rows:
    """How many rows more one of two tables has for an SQL server, and how many the later one got behind the other."""
    mode = str(call.value("mode"))
    if mode not in ("complete", "latestPartitions"):
        raise SparkError(f"CALL sync_validate: there is no mode {mode!r}", remedy="give complete or latestPartitions")
    where = "" if mode == "complete" else _latest(call.number("partition_cnt"))
    sides = []
    with _sql_server(call) as server:
        for table, database in (("src_table", "src_db"), ("dst_table", "target_db")):
            entry = call.entry_of(str(call.value(table)))
            client = MetaClient.load(entry.location, store_options(call.hook.session, entry.location))
            name = quoted(str(call.value(database)), client.config.name)
            about = f"CALL sync_validate counts {name}"
            sides.append(
                (client, server.number(f"SELECT count(`_hoodie_commit_time`) AS cnt FROM {name}{where}", about))
            )
    # The table with the later write is compared with the other one; the source where none is.
    (source, _), (target, _) = sides
    later, other = (sides[1], sides[0]) if _last(target) > _last(source) else (sides[0], sides[1])
    names = [client.config.name for client, _ in (later, other)]
    text = f"Count difference now is count({names[0]}) - count({names[1]}) == {later[1] - other[1]}"
    new = _new_rows(later[0], _last(other[0]))
    return [[text if new is None else f"{text}. Catach up count is {new}"]]  # as Hudi spells it


@contextmanager
def _sql_server(call: ProcedureCall) -> Iterator[SqlServer]:
    """A session with the server that a call names.

    Raises:
        MissingDependencyError: its client is not installed.
        MetastoreError: no session with it.
    """
    try:
        from hudi_hive.sync.apply.sql import SqlServer, parse_jdbc_url
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"CALL sync_validate needs the module {error.name}, which is not installed",
            remedy="pip install 'hudi-hive[hive]'",
        ) from error
    address = parse_jdbc_url(str(call.value("hive_server_url")))
    with SqlServer(address, call.text("hive_user") or _NOBODY, call.text("hive_pass") or _NOBODY) as server:
        if not server.is_spark:
            for setting in _HIVE_SETTINGS:
                server.execute(f"SET {setting}", "CALL sync_validate")
        yield server


def _latest(days: int) -> str:
    """The condition of rows of the last days, by the partition column that Hudi takes for it."""
    today = date.today()
    return f" WHERE datestr > '{today - timedelta(days=days)}' AND datestr <= '{today}'"


def _last(client: MetaClient) -> str:
    """When the last write of a table was requested; ``0`` without one."""
    return max((one.requested for one in client.timeline.write_instants()), default="0")


def _new_rows(client: MetaClient, after: str) -> int | None:
    """Rows that writes inserted that were requested after an instant; None without such writes."""
    later = [one for one in client.timeline.write_instants() if one.requested > after]
    stats = [client.timeline.commit_metadata(one).write_stats for one in later]
    counts = [[pc.sum(each.column(name)).as_py() or 0 for name in ("num_writes", "num_updates")] for each in stats]
    return sum(int(written - updated) for written, updated in counts) if later else None


_NOBODY: Final = "anonymous"
"""User and password where a call names none, as of Hive's JDBC driver."""

_HIVE_SETTINGS: Final = (
    "hive.input.format=org.apache.hadoop.hive.ql.io.HiveInputFormat",
    "hive.stats.autogather=false",
)

SYNC_PROCEDURES: Final = (
    Procedure(
        "hive_sync",
        "result string",
        _hive_sync,
        (TABLE, *(Parameter(name, default="") for name in _OPTIONS)),
        "Brings the metastore's entry and partitions of the table up to date.",
    ),
    Procedure(
        "sync_validate",
        "result string",
        _sync_validate,
        (
            *(Parameter(name, required=True) for name in ("src_table", "dst_table", "mode")),
            *(Parameter(name, required=True) for name in ("hive_server_url", "hive_pass")),
            Parameter("src_db", default="rawdata"),
            Parameter("target_db", default="dwh_hoodie"),
            Parameter("partition_cnt", "int", default=5),
            Parameter("hive_user", default=""),
        ),
        "How many rows more one of two tables has for HiveServer2, and how many the later one got behind the other.",
    ),
)
