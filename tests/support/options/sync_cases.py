"""Cases of the options of syncs and of clients of a metastore."""

from __future__ import annotations

import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.errors import HudiHiveError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore.connection import from_hive_properties, secured_uris
from hudi_hive.options import Face, Option, metastore, sync, table, write
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.held_calls import hold_until_together
from tests.support.options.cases import Case, Scenario
from tests.support.options.made_tables import made_once
from tests.support.options.write_cases import LEAN, make, put, rows

_VOLATILE = {"transient_lastDdlTime", "last_commit_time_sync", "last_commit_completion_time_sync"}


def _registered(client: HiveMetastore, folder: Path) -> Any:
    """Everything that a metastore has, but for times and the names of folders."""
    made: dict[str, Any] = {}
    for database in client.databases():
        for name in client.tables(database):
            entry = client.table(database, name)
            keys = [key.name for key in entry.partitionKeys or []]
            parts = client.partitions(database, name) if keys else []
            made[f"{database}.{name}"] = (
                [(column.name, column.type, column.comment) for column in entry.sd.cols],
                keys,
                (entry.sd.inputFormat, entry.sd.outputFormat, entry.tableType, entry.sd.bucketCols),
                dict(entry.sd.serdeInfo.parameters),
                {key: text for key, text in entry.parameters.items() if key not in _VOLATILE},
                entry.parameters.get("last_commit_time_sync") is None,
                sorted((tuple(part.values), part.sd.location) for part in parts),
            )
    return re.sub(rf"{re.escape(str(folder))}|\d{{17}}", "_", repr(made))


def _synced(prepare: Callable[[Path], None], change: Callable[[Path], None] | None = None) -> Scenario:
    """A scenario: a table is made and synced, and synced again behind a change if there is one."""

    def scenario(folder: Path, options: Mapping[str, str]) -> Any:
        path = folder / "t"
        prepare(path)
        (folder / "metastore").mkdir()
        with FakeMetastore(folder / "metastore") as server, HiveMetastore(server.uri) as client:
            made = {name: text.format(table=path, uri=server.uri) for name, text in options.items()}
            HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
            first = client.table("default", "t").parameters.get("last_commit_time_sync") if change else None
            if change is not None:
                change(path)
                HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
            stamp = client.table("default", "t").parameters.get("last_commit_time_sync") if change else None
            calls = dict(server.counts), [one.arguments for one in server.calls if "filter" in one.method]
            return _registered(client, folder), stamp == first, calls

    scenario.__qualname__ = f"synced {prepare.__name__} {change and change.__name__}"
    return scenario


def _copy_on_write_table(path: Path, options: Mapping[str, str]) -> None:
    make(path, database="default")
    put(path, options, rows(0, 4), rows(20, 4, p=["a%20b"] * 4))


@made_once
def _copy_on_write(path: Path) -> None:
    _copy_on_write_table(path, LEAN)


@made_once
def _merge_on_read(path: Path) -> None:
    make(path, table_type="MERGE_ON_READ")
    put(path, LEAN, rows(0, 20))


@made_once
def _with_times(path: Path) -> None:
    fields = [{"name": name, "type": ["null", "long"], "default": None, "doc": f"the {name}"} for name in ("id", "ts")]
    fields += [{"name": name, "type": ["null", "string"], "default": None} for name in ("name", "p")]
    time = {"type": "long", "logicalType": "timestamp-micros"}
    fields.append({"name": "at", "type": ["null", time], "default": None})
    make(path, create_schema={"type": "record", "name": "row", "fields": fields})
    columns = {"at": pa.array([0] * 4, pa.timestamp("us", "UTC"))}
    put(path, LEAN, rows(0, 4, **columns))


@made_once
def _with_stray_folder(path: Path) -> None:
    _copy_on_write_table(path, {})
    (path / "stray").mkdir()
    for name in (".hoodie_partition_metadata", next((path / "a").glob("*.parquet")).name):
        shutil.copy(path / "a" / name, path / "stray" / name)


def _more(path: Path) -> None:
    put(path, LEAN, rows(0, 6, ts=[9] * 6))


ONCE = _SYNC = _synced(_copy_on_write)
_MERGED = _synced(_merge_on_read)
_TYPED = _synced(_with_times)
_STRAY = _synced(_with_stray_folder)
_AGAIN = _synced(_copy_on_write, _more)


def refused_change(folder: Path, options: Mapping[str, str]) -> Any:
    """A sync whose change of the table the metastore refuses."""
    path = folder / "t"
    _copy_on_write(path)
    (folder / "metastore").mkdir()
    with FakeMetastore(folder / "metastore") as server, HiveMetastore(server.uri) as client:
        made = {name: text.format(table=path, uri=server.uri) for name, text in options.items()}
        HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
        entry = client.table("default", "t")
        entry.sd.cols = [*entry.sd.cols[:-1], type(entry.sd.cols[-1])(entry.sd.cols[-1].name, "string", None)]
        client.alter_table("default", "t", entry)
        HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
        return _registered(client, folder), server.counts["drop_table_with_environment_context"]


def side_by_side(folder: Path, options: Mapping[str, str]) -> Any:
    """Whether a metastore has several calls of a sync at once: all of a kind are held until a second one is there."""
    path = folder / "t"
    _copy_on_write(path)
    (folder / "metastore").mkdir()
    with FakeMetastore(folder / "metastore") as server:
        awaited = min(2, int(options.get(sync.CONNECTIONS.name, sync.USUAL_CONNECTIONS)))
        hold_until_together(server, "add_partitions_req", awaited)
        made = {name: text.format(table=path, uri=server.uri) for name, text in options.items()}
        HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
        return server.most_at_once > 1


@contextmanager
def _sql_server() -> Iterator[tuple[int, list[bytes]]]:
    """A port that takes one log-in and hangs up, and the bytes that it got."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.settimeout(300)
            with connection:
                data = b""
                while data.count(b"\0hive") < 1 and (more := connection.recv(4096)):
                    data += more
                    if b"PLAIN" in data and data.count(b"\0", data.index(b"PLAIN") + 9) >= 2:
                        break
                received.append(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], received
        socket.create_connection(listener.getsockname()).close()  # wakes a thread that nobody has called
        thread.join(300)


def logged_in(folder: Path, options: Mapping[str, str]) -> Any:
    """What an SQL server is told by a sync of one of the modes that send statements."""
    path = folder / "t"
    _merge_on_read(path)
    (folder / "metastore").mkdir()
    with _sql_server() as (port, received), FakeMetastore(folder / "metastore") as server:
        made = {name: text.format(table=path, uri=server.uri, port=port) for name, text in options.items()}
        try:
            HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
        except HudiHiveError:
            return received[:1]
        return "no log-in"


def configured(folder: Path, options: Mapping[str, str]) -> Any:
    """How a sync reaches the metastore."""
    return HiveSyncConfig.from_options({**options, sync.BASE_PATH.name: "/t"}).metastore_uris


def of_client(folder: Path, options: Mapping[str, str]) -> Any:
    """TLS and login of a client."""
    tls, sasl = from_hive_properties(options)
    return repr(tls), repr(sasl), None if sasl is None else sasl.password


def addresses(folder: Path, options: Mapping[str, str]) -> Any:
    """The addresses of a client."""
    return secured_uris(options)


TO_SYNC = _BOTH = {sync.BASE_PATH.name: "{table}", sync.METASTORE_URIS.name: "{uri}"}
_SQL = {**_BOTH, sync.MODE.name: "hiveql", sync.JDBC_URL.name: "jdbc:hive2://127.0.0.1:{port}"}


def _case(
    option: Option[Any], value: str, scenario: Scenario = _SYNC, base: Mapping[str, str] = _BOTH, **beside: str
) -> Case:
    constants = {**vars(write), **vars(table), **vars(metastore), **vars(sync)}
    named = {constants[name].name: text for name, text in beside.items()}
    return Case(
        option, Face.SYNC, scenario, value, {k: v for k, v in {**base, **named}.items() if k not in option.names}
    )


_URI = {sync.METASTORE_URIS.name: "thrift://h:9083"}
_TLS = {**_URI, metastore.USE_TLS.name: "true"}
_KERBEROS = {**_URI, metastore.USE_SASL.name: "true", metastore.KERBEROS_PRINCIPAL.name: "hive/_HOST@R"}
_SPEC = "CLUSTERED BY (id) INTO 4 BUCKETS"

SYNC_CASES = (
    _case(sync.BASE_PATH, "{table}"),
    _case(sync.METASTORE_URIS, "{uri}"),
    _case(sync.DATABASE, "other"),
    _case(sync.TABLE, "other"),
    _case(sync.MODE, "hiveql", logged_in, _SQL),
    _case(sync.USE_JDBC, "true", logged_in, {k: v for k, v in _SQL.items() if k != sync.MODE.name}),
    _case(sync.JDBC_URL, "jdbc:hive2://127.0.0.1:{port}", logged_in, _SQL),
    _case(sync.USERNAME, "me", logged_in, _SQL),
    _case(sync.PASSWORD, "secret", logged_in, _SQL),
    _case(sync.BASE_FILE_FORMAT, "ORC"),
    _case(sync.PARTITION_FIELDS, ""),
    _case(sync.PARTITION_EXTRACTOR, "NonPartitionedExtractor"),
    _case(sync.DECODE_PARTITION, "true"),
    _case(sync.PRE_APACHE_INPUT_FORMAT, "true"),
    _case(sync.AUTO_CREATE_DATABASE, "false", DATABASE="other"),
    _case(sync.SKIP_RO_SUFFIX, "true", _MERGED),
    _case(sync.SUPPORT_TIMESTAMP, "true", _TYPED),
    _case(sync.TABLE_PROPERTIES, "a=b"),
    _case(sync.SERDE_PROPERTIES, "a=b"),
    _case(sync.SYNC_AS_DATASOURCE, "false"),
    _case(sync.SCHEMA_STRING_LENGTH, "10"),
    _case(sync.CREATE_MANAGED_TABLE, "true"),
    _case(sync.OMIT_METADATA_FIELDS, "true"),
    _case(sync.BATCH_SIZE, "1"),
    _case(sync.CONNECTIONS, "1", side_by_side, BATCH_SIZE="1"),
    _case(sync.SYNC_COMMENT, "true", _TYPED),
    _case(sync.STRATEGY, "RO", _MERGED),
    _case(sync.FILTER_PUSHDOWN, "true", _AGAIN),
    _case(sync.FILTER_PUSHDOWN_SIZE, "0", _AGAIN, FILTER_PUSHDOWN="true"),
    _case(sync.RECREATE_ON_ERROR, "true", refused_change),
    _case(sync.FORCE_RECREATE, "true", _AGAIN),
    _case(sync.CONDITIONAL, "true", _AGAIN),
    _case(sync.SPARK_VERSION, "3.5.1"),
    _case(sync.SNAPSHOT_WITH_TABLE_NAME, "false", _MERGED),
    _case(sync.INCREMENTAL, "false", _AGAIN),
    _case(sync.NO_PARTITION_METADATA, "true"),
    _case(sync.METADATA_LISTING, "false", _STRAY, INCREMENTAL="false"),
    _case(sync.TOUCH_PARTITIONS, "true", _AGAIN),
    _case(sync.BUCKET_SYNC, "true", BUCKET_SPEC=_SPEC),
    _case(sync.BUCKET_SPEC, _SPEC, BUCKET_SYNC="true"),
    _case(table.NAME, "other"),
    _case(table.DATABASE, "other"),
    _case(table.PARTITION_FIELDS, "place"),
    _case(table.HIVE_STYLE_PARTITIONING, "true"),
    _case(table.URL_ENCODE_PARTITIONING, "true"),
    _case(table.BASE_FILE_FORMAT, "ORC"),
    _case(write.METADATA_ENABLE, "false", _STRAY, INCREMENTAL="false"),
    _case(metastore.URIS, "{uri}", _SYNC, {sync.BASE_PATH.name: "{table}"}),
    _case(metastore.USE_TLS, "true", configured, _URI),
    _case(metastore.TRUST_STORE, "/ca.pem", configured, _TLS),
    _case(metastore.USE_SASL, "true", configured, _URI, KERBEROS_PRINCIPAL="hive/_HOST@R"),
    _case(metastore.KERBEROS_PRINCIPAL, "hive/_HOST@R", configured, _URI, USE_SASL="true"),
    _case(metastore.CLIENT_KEYTAB, "/k", configured, _KERBEROS, CLIENT_PRINCIPAL="me@R"),
    _case(metastore.CLIENT_PRINCIPAL, "me@R", configured, _KERBEROS),
    _case(metastore.TICKET_CACHE, "/t", configured, _KERBEROS),
    _case(metastore.TOKEN_SIGNATURE, "lake", configured, _KERBEROS),
    _case(metastore.AUTH_MODE, "KERBEROS", configured, _URI, KERBEROS_PRINCIPAL="hive/_HOST@R"),
    _case(metastore.TRANSPORT_MODE, "http", configured, _URI),
    _case(metastore.HTTP_PATH, "x/y", configured, _URI, TRANSPORT_MODE="http"),
    _case(metastore.HTTP_HEADERS, "k=v", configured, _URI, TRANSPORT_MODE="http"),
)


def _of_client(option: Option[Any], value: str, **beside: str) -> Case:
    named = {vars(metastore)[name].name: text for name, text in beside.items()}
    return Case(option, Face.METASTORE, of_client, value, named)


def _of_http(option: Option[Any], value: str) -> Case:
    named = {metastore.URIS.name: "thrift://h", metastore.TRANSPORT_MODE.name: "http"}
    return Case(option, Face.METASTORE, addresses, value, named)


_LOGIN = {"USE_SASL": "true", "KERBEROS_PRINCIPAL": "hive/_HOST@R"}

METASTORE_CASES = (
    Case(metastore.URIS, Face.METASTORE, addresses, "thrift://h:9083"),
    _of_client(metastore.USE_TLS, "true"),
    _of_client(metastore.TRUST_STORE, "/ca.pem", USE_TLS="true"),
    _of_client(metastore.USE_SASL, "true", KERBEROS_PRINCIPAL="hive/_HOST@R"),
    _of_client(metastore.KERBEROS_PRINCIPAL, "hive/_HOST@R", USE_SASL="true"),
    _of_client(metastore.CLIENT_KEYTAB, "/k", CLIENT_PRINCIPAL="me@R", **_LOGIN),
    _of_client(metastore.CLIENT_PRINCIPAL, "me@R", **_LOGIN),
    _of_client(metastore.TICKET_CACHE, "/t", **_LOGIN),
    _of_client(metastore.TOKEN_SIGNATURE, "lake", **_LOGIN),
    Case(metastore.TRANSPORT_MODE, Face.METASTORE, addresses, "http", {metastore.URIS.name: "thrift://h"}),
    _of_http(metastore.HTTP_PATH, "x/y"),
    _of_http(metastore.HTTP_HEADERS, "k=v"),
    _of_client(metastore.AUTH_MODE, "PLAIN", PLAIN_USER="me", PLAIN_PASSWORD="secret"),
    _of_client(metastore.PLAIN_USER, "me", AUTH_MODE="PLAIN", PLAIN_PASSWORD="secret"),
    _of_client(metastore.PLAIN_PASSWORD, "secret", AUTH_MODE="PLAIN", PLAIN_USER="me"),
)
