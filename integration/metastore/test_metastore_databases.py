"""Metastores on PostgreSQL and MariaDB: what Derby hides. At length: ``python -m integration.long.databases``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_hive.errors import MetastoreTextError, NoSuchObjectError, TableChangedError
from hudi_hive.metastore import HiveMetastore, partition_name
from integration.support.metastore_pool import MetastorePool
from integration.support.metastores import TRANSACTIONS, ReleasedMetastore
from integration.support.stores.database import DatabaseServer
from tests.support.metastore.metastore_behaviour import partition_of, table_of
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

VALUES = [
    "a",
    "A",
    " a",
    "B",
    "e",
    "é",
    "É",
    "a_b",
    "axb",
    "a%b",
    "a.b",
    "a\\b",
    "a\\_b",
    "a'b",
    'a"b',
    "a/b",
    "ß",
    "ss",
    "01",
    "1",
]
BEYOND_LATIN = ["日本", "Ω"]
BLANKS = ["a ", "a  "]


@pytest.fixture(scope="module", params=["postgres", long_case("mariadb")])
def database(request: pytest.FixtureRequest, databases: Callable[[str], DatabaseServer]) -> DatabaseServer:
    return databases(request.param)


@pytest.fixture(scope="module", params=["4.0.1", long_case("3.1.3")])
def server(request: pytest.FixtureRequest, metastores: MetastorePool, database: DatabaseServer) -> ReleasedMetastore:
    return metastores.start(request.param, TRANSACTIONS, with_hive=True, database=database)


def test_what_derby_hides(server: ReleasedMetastore, database: DatabaseServer, tmp_path: Path) -> None:
    with HiveMetastore(server.uri) as client:
        check_names(client, database, tmp_path)
        check_texts(client, database, tmp_path)
        check_lost_connections(client, database, server)
        check_comparison(client, server, tmp_path)
        check_batches_side_by_side(client, tmp_path)
        client.drop_database("odd", cascade=True)


def check_names(client: HiveMetastore, database: DatabaseServer, folder: Path) -> None:
    """Each partition is found under its own name alone, and what the database cannot hold is refused by name."""
    client.create_database("odd")
    client.create_table(table_of("odd", "t", folder / "t"))
    table = client.table("odd", "t")
    values = VALUES if database.name == "mariadb" else VALUES + BEYOND_LATIN + BLANKS
    names = {value: partition_name(table.partitionKeys, [value]) for value in values}
    client.add_partitions(
        "odd", "t", [partition_of(table, [value], folder / "t" / str(i)) for i, value in enumerate(values)]
    )
    assert sorted(client.partition_names("odd", "t")) == sorted(names.values())
    for value, name in names.items():
        assert [item.values for item in client.partitions("odd", "t", [name])] == [[value]]
        assert client.partition_names("odd", "t", values=[value]) == [name]
    assert [item.values for item in client.partitions("odd", "t", list(names.values()))] == [
        [value] for value in values
    ]
    if database.name == "mariadb":
        for value, message in (("日本", "cannot hold the name of partition value=日本"), ("a ", "for the same")):
            refused = partition_of(table, [value], folder / "t" / "other")
            with pytest.raises(MetastoreTextError, match=message):
                client.add_partitions("odd", "t", [refused])
        with pytest.raises(MetastoreTextError, match="p=日本"):
            list(client.partitions("odd", "t", ["p=a", "p=日本"]))
        assert list(client.partitions("odd", "t", ["p=a "])) == []
        client.drop_partitions("odd", "t", ["p=a ", "p=01"])
        assert sorted(client.partition_names("odd", "t")) == sorted(set(names.values()) - {"p=01"})
        with pytest.raises(NoSuchObjectError, match="'p=a '"):
            client.drop_partitions("odd", "t", ["p=a "], if_exists=False)
    client.drop_partitions("odd", "t", ["p=a", "p=a_b"])
    left = set(names.values()) - {"p=a", "p=a_b", *(["p=01"] if database.name == "mariadb" else [])}
    assert set(client.partition_names("odd", "t")) == left


def check_batches_side_by_side(client: HiveMetastore, folder: Path) -> None:
    """Batches that alter or drop partitions of one column list do not wait for one another, as they do on Derby."""
    client.create_table(table_of("odd", "many", folder / "many"))
    table = client.table("odd", "many")
    names = [f"p={number:03d}" for number in range(80)]
    for place in ("one", "two"):
        partitions = [partition_of(table, [name[2:]], folder / place) for name in names]
        if place == "one":
            client.add_partitions("odd", "many", partitions, batch_size=10, ahead=4)
        else:
            client.alter_partitions("odd", "many", partitions, batch_size=10, ahead=4)
        places = {item.sd.location.rpartition("/")[2] for item in client.partitions("odd", "many")}
        assert places == {place}
    client.drop_partitions("odd", "many", names[:70], batch_size=10, ahead=4)
    assert client.partition_names("odd", "many") == names[70:]


def check_texts(client: HiveMetastore, database: DatabaseServer, folder: Path) -> None:
    """A definition is kept as it is, or the table is not made."""
    for name, place, comment in (("place", "日本", ""), ("comment", "t2", "Ω")):
        table = table_of("odd", name, folder / place)
        table.sd.cols[0].comment = comment
        if database.name == "mariadb":
            with pytest.raises(MetastoreTextError, match="location" if comment == "" else "comment of column id"):
                client.create_table(table)
            assert client.find_table("odd", name) is None
        else:
            client.create_table(table)
            found = client.table("odd", name)
            assert (found.sd.location.rpartition("/")[2], found.sd.cols[0].comment) == (place, comment)
    if database.name == "mariadb":
        table = client.table("odd", "t")
        table.parameters["k"] = "Ω"
        with pytest.raises(MetastoreTextError, match="parameter k"):
            client.alter_table("odd", "t", table)


def check_lost_connections(client: HiveMetastore, database: DatabaseServer, server: ReleasedMetastore) -> None:
    """A database that ended all its connections, as one that is started anew does, costs no call."""
    assert server.store is not None
    assert database.end_connections(server.store.name) > 0
    assert client.table("odd", "t").tableName == "t"
    assert database.end_connections(server.store.name) > 0
    assert "p=B" in client.partition_names("odd", "t")


def check_comparison(client: HiveMetastore, server: ReleasedMetastore, folder: Path) -> None:
    """Metastore 4 compares a parameter in the transaction of the change, at the first time of asking."""
    if server.release.version == "3.1.3":
        return
    # The metastore begins a call anew when it meets a lost connection late, and then finds its own table.
    stamped = table_of("odd", "stamped", folder / "s", parameters={"EXTERNAL": "TRUE", "stamp": "1"})
    client.create_table(stamped, if_not_exists=True)
    table = client.table("odd", "stamped")
    table.parameters["stamp"] = "2"
    with client.call_counter.measure() as calls:
        client.alter_table("odd", "stamped", table, expected=("stamp", "1"))
        with pytest.raises(TableChangedError):
            client.alter_table("odd", "stamped", table, expected=("stamp", "1"))
    assert calls == {"alter_table_with_environment_context": 2}
