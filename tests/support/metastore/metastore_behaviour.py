"""What a metastore does, whichever it is: run against the fake one in ``tests``, the real one in ``integration``.

A subclass gives the fixture ``metastore`` (anything with ``uri`` and ``warehouse``).
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from hudi_hive.errors import AlreadyExistsError, InvalidOperationError, MetastoreServerError, NoSuchObjectError
from hudi_hive.metastore import (
    BatchSizes,
    Database,
    FieldSchema,
    HiveMetastore,
    Partition,
    Retries,
    SerDeInfo,
    StorageDescriptor,
    Table,
    partition_name,
)

INPUT = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
OUTPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"

_numbers = itertools.count(int(time.time() * 1000))  # a metastore of somebody else keeps earlier runs' databases


def columns(*pairs: tuple[str, str]) -> list[FieldSchema]:
    return [FieldSchema(name=name, type=kind, comment="") for name, kind in pairs]


def descriptor(location, cols=None) -> StorageDescriptor:
    return StorageDescriptor(
        cols=cols or columns(("id", "string"), ("n", "int")),
        location=None if location is None else str(location),
        inputFormat=INPUT,
        outputFormat=OUTPUT,
        compressed=False,
        numBuckets=0,
        serdeInfo=SerDeInfo(serializationLib=SERDE, parameters={"serialization.format": "1", "path": str(location)}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def table_of(database, name, location, keys=("p",), cols=None, parameters=None, kind="EXTERNAL_TABLE") -> Table:
    return Table(
        tableName=name,
        dbName=database,
        owner="somebody",
        sd=descriptor(location, cols),
        partitionKeys=columns(*((key, "string") for key in keys)),
        parameters={"EXTERNAL": "TRUE"} if parameters is None else parameters,
        tableType=kind,
    )


def partition_of(table: Table, values, location) -> Partition:
    return Partition(
        values=list(values), dbName=table.dbName, tableName=table.tableName, sd=descriptor(location), parameters={}
    )


def add_numbered(client, table: Table, count: int, folder: Path) -> list[str]:
    """``count`` partitions ``p=0000`` …; their names."""
    client.add_partitions(
        table.dbName,
        table.tableName,
        [partition_of(table, [f"{i:04d}"], folder / f"p={i:04d}") for i in range(count)],
    )
    return [f"p={i:04d}" for i in range(count)]


class MetastoreBehaviour:
    """The suite."""

    strict_names = True
    """Whether names may only hold letters, digits and ``_`` (metastore 4 takes more)."""

    @pytest.fixture
    def client(self, metastore):
        with HiveMetastore(metastore.uri, retries=Retries(attempts=1)) as client:
            yield client

    @pytest.fixture
    def database(self, client) -> str:
        name = f"db{next(_numbers)}"
        client.create_database(name, description="for tests")
        return name

    @pytest.fixture
    def table(self, client, database, tmp_path) -> Table:
        client.create_table(table_of(database, "t", tmp_path / "t"))
        return client.table(database, "t")

    # -- databases ---------------------------------------------------------------------------------------------------

    def test_database_round_trip(self, client, metastore):
        name = f"Db{next(_numbers)}"
        assert client.create_database(Database(name=name, description="d", parameters={"k": "v"})) is True
        found = client.database(name)
        assert (found.name, found.description, found.parameters) == (name.lower(), "d", {"k": "v"})
        assert found.locationUri == f"file:{metastore.warehouse}/{name.lower()}.db"
        assert (Path(metastore.warehouse) / f"{name.lower()}.db").is_dir()
        assert name.lower() in client.databases()
        assert client.databases(f"{name}|nothing*") == [name.lower()]

    def test_a_database_that_exists_is_an_error(self, client, database):
        with pytest.raises(AlreadyExistsError, match=database):
            client.create_database(database)
        assert client.create_database(database, if_not_exists=True) is False

    def test_a_missing_database_is_an_error(self, client):
        with pytest.raises(NoSuchObjectError, match="nowhere"):
            client.database("nowhere")
        with pytest.raises(NoSuchObjectError):
            client.drop_database("nowhere")
        assert client.drop_database("nowhere", if_exists=True) is False
        with pytest.raises(NoSuchObjectError):
            client.tables("nowhere")

    def test_database_name_refused(self, client):
        if not self.strict_names:
            pytest.skip("this metastore takes any name")
        with pytest.raises(InvalidOperationError, match="not a valid"):
            client.create_database("a-b")

    def test_drop_database(self, client, database, table, tmp_path):
        data = tmp_path / "t" / "data.parquet"
        data.write_bytes(b"x")
        with pytest.raises(InvalidOperationError, match="not empty"):
            client.drop_database(database)
        assert client.drop_database(database, cascade=True) is True
        assert database not in client.databases()
        assert data.exists()

    def test_default_database_stays(self, client):
        with pytest.raises(MetastoreServerError, match="default"):
            client.drop_database("default")

    # -- tables ------------------------------------------------------------------------------------------------------

    def test_table_round_trip(self, client, database, tmp_path):
        given = table_of(
            database.upper(), "MixedCase", tmp_path / "mc", cols=columns(("Id", "string"), ("b", "bigint"))
        )
        given.sd.cols[0].comment = "a comment with ü"
        assert client.create_table(given) is True
        found = client.table(database, "mixedcase")
        assert (found.dbName, found.tableName, found.tableType) == (database, "mixedcase", "EXTERNAL_TABLE")
        assert [(c.name, c.type, c.comment) for c in found.sd.cols] == [
            ("id", "string", "a comment with ü"),
            ("b", "bigint", ""),
        ]
        assert found.sd.location == f"file:{tmp_path}/mc"
        assert (found.owner, found.retention, found.lastAccessTime, found.rewriteEnabled) == ("somebody", 0, 0, False)
        assert found.sd.serdeInfo.parameters == {"serialization.format": "1", "path": f"{tmp_path}/mc"}
        assert found.sd.skewedInfo.skewedColNames == [] and found.sd.storedAsSubDirectories is False
        assert set(found.parameters) == {"EXTERNAL", "transient_lastDdlTime"}
        assert found.parameters["transient_lastDdlTime"] == str(found.createTime)
        assert (tmp_path / "mc").is_dir()

    def test_table_kind_follows_the_parameter(self, client, database, tmp_path):
        client.create_table(table_of(database, "managed", tmp_path / "a", parameters={}))
        client.create_table(table_of(database, "external", tmp_path / "b", kind="MANAGED_TABLE"))
        assert client.table(database, "managed").tableType == "MANAGED_TABLE"
        assert client.table(database, "external").tableType == "EXTERNAL_TABLE"

    def test_table_without_location(self, client, database, metastore):
        client.create_table(table_of(database, "m", None, parameters={}, kind="MANAGED_TABLE"))
        assert client.table(database, "m").sd.location == f"file:{metastore.warehouse}/{database}.db/m"

    def test_stats_of_an_unpartitioned_table(self, client, database, tmp_path):
        folder = tmp_path / "np"
        (folder / "sub").mkdir(parents=True)
        for name, size in (("a", 5), ("sub/b", 3), (".hidden", 9), ("_c", 7)):
            (folder / name).write_bytes(b"x" * size)
        client.create_table(table_of(database, "np", folder, keys=()))
        found = client.table(database, "np")
        assert (found.parameters["numFiles"], found.parameters["totalSize"]) == ("2", "8")
        (folder / "later").write_bytes(b"1234")
        found.parameters["mine"] = "1"
        client.alter_table(database, "np", found)
        assert client.table(database, "np").parameters["numFiles"] == "3"
        assert client.table(database, "np").parameters["mine"] == "1"

    def test_a_table_that_exists_is_an_error(self, client, table):
        with pytest.raises(AlreadyExistsError, match=rf"{table.dbName}\.T"):
            client.create_table(table_of(table.dbName, "T", "/tmp/t"))
        assert client.create_table(table_of(table.dbName, "T", "/tmp/t"), if_not_exists=True) is False

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"dbName": "nowhere"}, InvalidOperationError),
            ({"cols": [("a", "wrong")]}, InvalidOperationError),
            ({"cols": [("a", "Int")]}, InvalidOperationError),
            ({"serde": None}, MetastoreServerError),
            ({"location": "file"}, MetastoreServerError),
        ],
        ids=str,
    )
    def test_create_table_refused(self, client, database, tmp_path, change, error):
        given = table_of(database, "bad", tmp_path / "bad")
        given.dbName = change.get("dbName", given.dbName)
        if "cols" in change:
            given.sd.cols = columns(*change["cols"])
        if "serde" in change:
            given.sd.serdeInfo = None
        if "location" in change:
            (tmp_path / "file").write_text("not a folder")
            given.sd.location = str(tmp_path / "file")
        with pytest.raises(error):
            client.create_table(given)
        assert client.tables(database) == []

    def test_table_name_refused(self, client, database, tmp_path):
        if not self.strict_names:
            pytest.skip("this metastore takes any name")
        with pytest.raises(InvalidOperationError, match="not a valid"):
            client.create_table(table_of(database, "a-b", tmp_path / "x"))

    def test_a_missing_table_is_an_error(self, client, database):
        for call in (client.table, client.drop_table, client.fields, client.schema, client.partition_names):
            with pytest.raises(NoSuchObjectError, match="nothing"):
                call(database, "nothing")
        assert client.find_table(database, "nothing") is None
        assert client.drop_table(database, "nothing", if_exists=True) is False
        with pytest.raises(InvalidOperationError):
            client.alter_table(database, "nothing", table_of(database, "nothing", "/tmp"))

    def test_listing_and_several_tables(self, client, database, tmp_path):
        for name in ("trips", "trips_ro", "other"):
            client.create_table(table_of(database, name, tmp_path / name))
        assert sorted(client.tables(database)) == ["other", "trips", "trips_ro"]
        assert sorted(client.tables(database, "trips*")) == ["trips", "trips_ro"]
        assert sorted(client.tables(database, "other|*_ro")) == ["other", "trips_ro"]
        assert client.tables(database, "zzz") == []
        found = list(client.table_objects(database, ["trips", "missing", "OTHER"]))
        assert sorted(table.tableName for table in found) == ["other", "trips"]
        with pytest.raises(NoSuchObjectError):
            list(client.table_objects("nowhere", ["trips"]))

    def test_fields_and_schema(self, client, table):
        assert [f.name for f in client.fields(table.dbName, "t")] == ["id", "n"]
        assert [f.name for f in client.schema(table.dbName, "t")] == ["id", "n", "p"]

    def test_alter_parameters(self, client, table):
        table.parameters["k"] = "v" * 4000
        client.alter_table(table.dbName, "t", table)
        found = client.table(table.dbName, "t")
        assert found.parameters == table.parameters
        assert found.createTime == table.createTime

    def test_alter_location_makes_no_folder(self, client, table, tmp_path):
        table.sd.location = str(tmp_path / "elsewhere")
        client.alter_table(table.dbName, "t", table)
        assert client.table(table.dbName, "t").sd.location == f"file:{tmp_path}/elsewhere"
        assert not (tmp_path / "elsewhere").exists()

    @pytest.mark.parametrize("cascade", [True, False])
    def test_alter_columns(self, client, table, tmp_path, cascade):
        add_numbered(client, table, 2, tmp_path)
        table.sd.cols = columns(("id", "string"), ("n", "bigint"), ("extra", "array<struct<a:int,b:decimal(5,1)>>"))
        client.alter_table(table.dbName, "t", table, cascade=cascade)
        assert [c.type for c in client.table(table.dbName, "t").sd.cols][1] == "bigint"
        kept = [c.name for c in client.partition(table.dbName, "t", ["0001"]).sd.cols]
        assert kept == (["id", "n", "extra"] if cascade else ["id", "n"])

    @pytest.mark.parametrize(
        "cols", [(("n", "int"),), (("x", "int"), ("id", "string")), (("id", "string"), ("n", "timestamp"))], ids=str
    )
    def test_alter_columns_refused_by_position(self, client, table, cols):
        table.sd.cols = columns(*cols)
        with pytest.raises(InvalidOperationError, match="incompatible"):
            client.alter_table(table.dbName, "t", table, cascade=True)
        assert [c.name for c in client.table(table.dbName, "t").sd.cols] == ["id", "n"]

    def test_alter_keys_refused(self, client, table):
        table.partitionKeys = columns(("q", "string"))
        with pytest.raises(InvalidOperationError, match="partition keys"):
            client.alter_table(table.dbName, "t", table)

    def test_a_table_is_renamed(self, client, table, tmp_path):
        add_numbered(client, table, 2, tmp_path)
        client.create_table(table_of(table.dbName, "other", tmp_path / "other"))
        table.tableName = "other"
        with pytest.raises(InvalidOperationError, match="exists"):
            client.alter_table(table.dbName, "t", table)
        table.tableName = "renamed"
        client.alter_table(table.dbName, "t", table)
        assert sorted(client.tables(table.dbName)) == ["other", "renamed"]
        assert {p.tableName for p in client.partitions(table.dbName, "renamed")} == {"renamed"}

    @pytest.mark.parametrize("kind", ["EXTERNAL_TABLE", "MANAGED_TABLE"])
    def test_drop_table_keeps_data(self, client, database, tmp_path, kind):
        parameters = {"EXTERNAL": "TRUE"} if kind == "EXTERNAL_TABLE" else {}
        client.create_table(table_of(database, "d", tmp_path / "d", parameters=parameters, kind=kind))
        (tmp_path / "d" / "data").write_text("x")
        assert client.drop_table(database, "d") is True
        assert client.tables(database) == []
        assert (tmp_path / "d" / "data").read_text() == "x"

    # -- partitions --------------------------------------------------------------------------------------------------

    def test_add_partitions(self, client, table, tmp_path):
        (tmp_path / "old").mkdir()
        (tmp_path / "old" / "data").write_bytes(b"123")
        client.add_partitions(
            table.dbName,
            "t",
            [partition_of(table, ["a"], tmp_path / "old"), partition_of(table, ["b"], tmp_path / "new")],
        )
        old, new = client.partitions(table.dbName, "t")
        assert (old.parameters["numFiles"], old.parameters["totalSize"]) == ("1", "3")
        assert set(new.parameters) == {"transient_lastDdlTime"}
        assert new.sd.location == f"file:{tmp_path}/new" and (tmp_path / "new").is_dir()
        assert new.createTime == int(new.parameters["transient_lastDdlTime"]) > 0

    def test_add_existing_partitions(self, client, table, tmp_path):
        add_numbered(client, table, 3, tmp_path)
        again = [partition_of(table, [value], tmp_path / "other") for value in ("0001", "0099")]
        client.add_partitions(table.dbName, "t", again)
        assert client.partition(table.dbName, "t", ["0001"]).sd.location == f"file:{tmp_path}/p=0001"
        assert len(client.partition_names(table.dbName, "t")) == 4
        again = [partition_of(table, [value], tmp_path / "other") for value in ("0100", "0001")]
        with pytest.raises(AlreadyExistsError):
            client.add_partitions(table.dbName, "t", again, if_not_exists=False)
        assert len(client.partition_names(table.dbName, "t")) == 4

    def test_add_partitions_refused(self, client, table, tmp_path):
        with pytest.raises(MetastoreServerError, match="partition key"):
            client.add_partitions(table.dbName, "t", [partition_of(table, ["a", "b"], tmp_path / "x")])
        (tmp_path / "file").write_text("")
        with pytest.raises(MetastoreServerError, match="not a directory"):
            client.add_partitions(table.dbName, "t", [partition_of(table, ["a"], tmp_path / "file")])
        other = table_of(table.dbName, "missing", tmp_path)
        with pytest.raises(InvalidOperationError):
            client.add_partitions(table.dbName, "missing", [partition_of(other, ["a"], tmp_path / "x")])
        assert client.partition_names(table.dbName, "t") == []

    def test_odd_partition_values_come_back_as_they_are(self, client, database, tmp_path):
        given = table_of(database, "odd", tmp_path / "odd", keys=("P", "q"))
        client.create_table(given)
        table = client.table(database, "odd")
        pairs = [("a/b=c d%:é", "x#y"), ("", "1"), ("日本", "__HIVE_DEFAULT_PARTITION__"), ("a'b\"c", "[z]{w}")]
        client.add_partitions(
            database, "odd", [partition_of(table, pair, tmp_path / str(i)) for i, pair in enumerate(pairs)]
        )
        names = client.partition_names(database, "odd")
        assert sorted(names) == sorted(partition_name(table.partitionKeys, pair) for pair in pairs)
        assert {tuple(p.values) for p in client.partitions(database, "odd")} == set(pairs)
        one = partition_name(table.partitionKeys, pairs[0])
        assert [tuple(p.values) for p in client.partitions(database, "odd", [one])] == [pairs[0]]
        client.drop_partitions(database, "odd", names, if_exists=False)
        assert client.partition_names(database, "odd") == []

    def test_partition_names(self, client, table, tmp_path):
        names = add_numbered(client, table, 5, tmp_path)
        assert client.partition_names(table.dbName, "t") == names
        assert client.partition_names(table.dbName, "t", 2) == names[:2]
        assert client.partition_names(table.dbName, "t", 0) == []
        assert client.partition_names(table.dbName, "t", 100_000) == names
        assert client.partition_names(table.dbName, "t", values=["0003"]) == ["p=0003"]
        assert sorted(client.partition_names(table.dbName, "t", values=[""])) == names

    def test_partitions_in_growing_batches(self, client, table, tmp_path):
        names = add_numbered(client, table, 200, tmp_path)
        with client.call_counter.measure() as calls:
            batches = list(client.partition_batches(table.dbName, "t"))
        assert [len(batch) for batch in batches] == [10, 20, 40, 80, 50]
        assert [f"p={p.values[0]}" for batch in batches for p in batch] == names
        assert calls == {"get_partition_names": 1, "get_partitions_by_names": 5}
        sizes = BatchSizes(initial=64, maximum=128)
        with client.call_counter.measure() as calls:
            batches = list(client.partition_batches(table.dbName, "t", names, batch=sizes))
        assert [len(batch) for batch in batches] == [64, 128, 8]
        assert calls == {"get_partitions_by_names": 3}

    def test_partitions_by_name_leaves_out_missing_ones(self, client, table, tmp_path):
        add_numbered(client, table, 3, tmp_path)
        found = client.partitions(table.dbName, "t", ["p=0002", "p=zzz", "p=0000"])
        assert [p.values for p in found] == [["0002"], ["0000"]]
        assert list(client.partitions(table.dbName, "t", [])) == []
        with pytest.raises(NoSuchObjectError):
            list(client.partitions(table.dbName, "missing", ["p=1"]))

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('p = "0002"', ["0002"]),
            ("P='0001' or p=\"0003\"", ["0001", "0003"]),
            ('p >= "0001" and (p < "0003" or p = "0004")', ["0001", "0002", "0004"]),
            ('p between "0001" and "0002"', ["0001", "0002"]),
            ('"0003" <= p', ["0003", "0004"]),
            ('p <> "0000" and p != "0001"', ["0002", "0003", "0004"]),
            ("", ["0000", "0001", "0002", "0003", "0004"]),
        ],
    )
    def test_partitions_by_filter(self, client, table, tmp_path, text, expected):
        add_numbered(client, table, 5, tmp_path)
        with client.call_counter.measure() as calls:
            found = list(client.partitions(table.dbName, "t", filter=text))
        assert sorted(p.values[0] for p in found) == expected
        assert calls == {"get_partitions_by_filter": 1}
        assert client.count_partitions(table.dbName, "t", text) == len(expected)

    @pytest.mark.parametrize("text", ['q = "1"', "p =", "p = 1", 'p in ("1")', 'not p = "1"', "p ? 1"])
    def test_a_wrong_filter_is_an_error(self, client, table, text):
        with pytest.raises(MetastoreServerError):
            list(client.partitions(table.dbName, "t", filter=text))

    def test_integral_and_date_keys(self, client, database, tmp_path):
        given = table_of(database, "typed", tmp_path / "typed", keys=("n", "d"))
        given.partitionKeys[0].type, given.partitionKeys[1].type = "int", "date"
        client.create_table(given)
        rows = [("9", "2024-01-01"), ("10", "2024-02-01")]
        client.add_partitions(database, "typed", [partition_of(given, row, tmp_path / row[0]) for row in rows])

        def fitting(text):
            return sorted(p.values[0] for p in client.partitions(database, "typed", filter=text))

        assert fitting("n > 9") == ["10"]
        assert fitting("n = 9 and d = 2024-01-01") == ["9"]
        assert fitting('d >= "2024-01-15"') == ["10"]

    def test_a_missing_partition_is_an_error(self, client, table):
        with pytest.raises(NoSuchObjectError, match="zz"):
            client.partition(table.dbName, "t", ["zz"])

    def test_alter_partitions(self, client, table, tmp_path):
        add_numbered(client, table, 2, tmp_path)
        fresh = partition_of(table, ["0001"], tmp_path / "moved")
        fresh.parameters = {"mine": "1"}
        fresh.createTime = 0
        client.alter_partitions(table.dbName, "t", [fresh])
        found = client.partition(table.dbName, "t", ["0001"])
        assert found.sd.location == f"{tmp_path}/moved"
        assert found.createTime == 0
        assert found.parameters["mine"] == "1" and found.parameters["numFiles"] == "0"
        assert int(found.parameters["transient_lastDdlTime"]) > 0
        with pytest.raises(InvalidOperationError):
            client.alter_partitions(table.dbName, "t", [fresh, partition_of(table, ["zz"], tmp_path / "zz")])

    def test_drop_partitions(self, client, table, tmp_path):
        names = add_numbered(client, table, 6, tmp_path)
        (tmp_path / "p=0000" / "data").write_text("x")
        client.drop_partitions(table.dbName, "t", [names[0], "p=zz", names[1]])
        assert client.partition_names(table.dbName, "t") == names[2:]
        assert (tmp_path / "p=0000" / "data").exists()
        with pytest.raises(NoSuchObjectError):
            client.drop_partitions(table.dbName, "t", [names[2], "p=zz"], if_exists=False)
        assert client.partition_names(table.dbName, "t") == names[2:]
        with client.call_counter.measure() as calls:
            client.drop_partitions(table.dbName, "t", names[2:], batch_size=3)
        assert calls == {"drop_partitions_req": 2}
        with pytest.raises(NoSuchObjectError):
            client.drop_partitions(table.dbName, "missing", ["p=1"])

    def test_partitions_table(self, client, table, tmp_path):
        names = add_numbered(client, table, 25, tmp_path)
        found = client.partitions_table(table.dbName, "t")
        assert found.column("name").to_pylist() == names
        assert found.column("key_p").to_pylist() == [name[2:] for name in names]
        assert found.column("values").to_pylist()[3] == ["0003"]
        assert found.column("location").to_pylist()[3] == f"file:{tmp_path}/p=0003"
        assert set(found.column("input_format").to_pylist()) == {INPUT}
        assert set(found.column("serde").to_pylist()) == {SERDE}
        assert dict(found.column("parameters").to_pylist()[0])["transient_lastDdlTime"]
        empty = client.partitions_table(table.dbName, "t", [])
        assert empty.num_rows == 0 and empty.schema == found.schema
