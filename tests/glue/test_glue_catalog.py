"""The client of AWS Glue against a stand-in on loopback with Glue's limits: requests, faults, conflicts, indexes."""

from __future__ import annotations

import pytest

from hudi_hive.errors import (
    InvalidOperationError,
    InvalidOptionError,
    MetastoreConnectError,
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreThrottledError,
    NoSuchObjectError,
    TableChangedError,
)
from hudi_hive.glue import GlueCatalog, GlueSettings
from hudi_hive.metastore import FieldSchema, Partition, SerDeInfo, StorageDescriptor, Table
from tests.support.glue.glue_server import GlueFault, GlueServer

SECRET = "wJalrXUtnFEMI"
THROTTLED = GlueFault("ThrottlingException", "Rate exceeded")


@pytest.fixture(scope="module")
def shared():
    with GlueServer() as server:
        yield server


@pytest.fixture
def server(shared):
    shared.catalogs.clear()
    shared.reset()
    return shared


def settings(server, **more):
    own = {"endpoint": server.url, "region": "eu-west-1", "access_key": "AKIA1", "secret_key": SECRET}
    return GlueSettings(**{**own, **more})


def descriptor(location):
    return StorageDescriptor(
        cols=[FieldSchema(name="id", type="bigint", comment="")],
        location=location,
        inputFormat="in",
        outputFormat="out",
        compressed=False,
        numBuckets=0,
        bucketCols=[],
        sortCols=[],
        parameters={},
        serdeInfo=SerDeInfo(serializationLib="serde", parameters={"serialization.format": "1"}),
    )


def partitions(start, stop):
    numbers = range(start, stop)
    return [
        Partition(
            values=[f"{one}", f"a/{one % 3}"], sd=descriptor(f"/t/{one}"), parameters={}, dbName="d", tableName="t"
        )
        for one in numbers
    ]


def name_of(number):
    return f"x={number}/y=a%2F{number % 3}"


@pytest.fixture
def catalog(server):
    with GlueCatalog(settings(server)) as client:
        client.create_database("d")
        client.create_table(
            Table(
                tableName="t",
                dbName="d",
                sd=descriptor("/t"),
                partitionKeys=[FieldSchema(name=key, type="string", comment="") for key in ("x", "y")],
                parameters={"stamp": "1"},
                tableType="EXTERNAL_TABLE",
            )
        )
        server.reset()
        yield client


def test_requests_hold_as_many_partitions_as_glue_takes(server, catalog):
    catalog.add_partitions("d", "t", partitions(0, 2250), batch_size=1000)
    assert server.counts == {"BatchCreatePartition": 23}
    server.reset()
    found = catalog.partitions_table("d", "t", keys=["x", "y"])
    assert server.counts == {"GetPartitions": 3}
    assert sorted(found["name"].to_pylist()) == sorted(name_of(one) for one in range(2250))
    assert all(one[1]["ExcludeColumnSchema"] for one in server.requests)
    server.reset()
    wanted = [name_of(one) for one in range(1200, 3300)]
    read = list(catalog.partitions("d", "t", wanted))
    assert [one.values[0] for one in read] == [f"{one}" for one in range(1200, 2250)]
    assert read[0].sd.cols[0].name == "id" and read[0].sd.location == "/t/1200"
    assert server.counts == {"BatchGetPartition": 3}
    server.reset()
    changed = partitions(0, 150)
    for one in changed:
        one.sd.location = "/moved"
    catalog.alter_partitions("d", "t", changed)
    catalog.drop_partitions("d", "t", [name_of(one) for one in range(140, 200)])
    assert server.counts == {"BatchUpdatePartition": 2, "BatchDeletePartition": 3}
    assert len(server.partitions("d", "t")) == 2190
    assert catalog.calls["batch_delete_partition"] == 3


@pytest.mark.parametrize("segments", [1, 4])
def test_all_partitions_are_read_page_by_page_and_in_segments_side_by_side(server, catalog, segments):
    catalog.add_partitions("d", "t", partitions(0, 700))
    server.reset()
    server.page = 100
    try:
        with GlueCatalog(settings(server, all_partitions_read_parallelism=segments)) as client:
            found = client.partitions_table("d", "t", keys=["x", "y"])
    finally:
        server.page = 1000
    assert found.num_rows == len(set(found["name"].to_pylist())) == 700
    asked = {one[1].get("Segment", {}).get("SegmentNumber") for one in server.requests if one[0] == "GetPartitions"}
    assert asked == ({None} if segments == 1 else {0, 1, 2, 3})
    assert server.counts["GetPartitions"] >= 7


def test_as_many_requests_are_under_way_as_options_say(server, catalog):
    own = settings(
        server,
        partition_change_parallelism=3,
        changed_partitions_read_parallelism=2,
        all_partitions_read_parallelism=5,
    )
    expected = {"BatchCreatePartition": 3, "BatchGetPartition": 2, "GetPartitions": 5}
    with GlueCatalog(own) as client:
        for operation, number in expected.items():
            server.wait_for(operation, number)
        client.add_partitions("d", "t", partitions(0, 600))
        client.partitions_table("d", "t", [name_of(one) for one in range(3500)], keys=["x", "y"])
        assert client.partitions_table("d", "t", keys=["x", "y"]).num_rows == 600
    server.stop_waiting()
    assert {name: server.most_at_once[name] for name in expected} == expected


def test_keys_that_glue_did_not_come_to_are_asked_for_again(server, catalog):
    catalog.add_partitions("d", "t", partitions(0, 90))
    server.page = 40
    try:
        found = list(catalog.partitions("d", "t", [name_of(one) for one in range(95)]))
    finally:
        server.page = 1000
    assert len(found) == 90 and server.counts["BatchGetPartition"] == 3


def test_throttled_requests_are_sent_again_and_only_what_was_throttled(server, catalog):
    server.fail("BatchCreatePartition", THROTTLED, "item:ThrottlingException", GlueFault("", "", 503))
    catalog.add_partitions("d", "t", partitions(0, 100))
    sizes = [len(one[1]["PartitionInputList"]) for one in server.requests]
    assert sizes == [100, 100, 1, 1] and len(server.partitions("d", "t")) == 100
    server.fail("BatchDeletePartition", "item:ConcurrentModificationException", "lost")
    catalog.drop_partitions("d", "t", [name_of(one) for one in range(10)])
    assert len(server.partitions("d", "t")) == 90


def test_a_deadline_ends_the_tries(server, catalog):
    server.fail("GetTable", *[THROTTLED] * 1000)
    try:
        with GlueCatalog(settings(server, retry_timeout_s=0.3)) as client:
            with pytest.raises(MetastoreThrottledError, match=r"too many requests.*parallelism") as caught:
                client.table("d", "t")
            assert client.calls["get_table"] < 1000
    finally:
        server.stop_failing()
    assert caught.value.path == server.url


def test_an_answer_that_was_lost_does_no_harm(server, catalog):
    for operation in ("BatchCreatePartition", "BatchUpdatePartition", "BatchDeletePartition", "DeleteTable"):
        server.fail(operation, "lost")
    catalog.add_partitions("d", "t", partitions(0, 5))
    catalog.alter_partitions("d", "t", partitions(0, 5))
    catalog.drop_partitions("d", "t", [name_of(0)])
    assert len(server.partitions("d", "t")) == 4
    assert not catalog.drop_table("d", "t", if_exists=True)  # the first request did it
    assert catalog.find_table("d", "t") is None


def test_of_two_changes_of_one_version_the_second_is_refused(server, catalog):
    first, second = catalog.table("d", "t"), catalog.table("d", "t")
    first.parameters["by"] = "first"
    second.parameters["by"] = "second"
    catalog.alter_table("d", "t", first, expected=("stamp", "1"))
    with pytest.raises(TableChangedError, match="has been modified"):
        catalog.alter_table("d", "t", second, expected=("stamp", "1"))
    assert server.table("d", "t")["Parameters"]["by"] == "first"
    assert server.counts == {"GetTable": 2, "UpdateTable": 2} and not server.archived["t"]
    plain = Table(
        **{name: getattr(first, name) for name in ("tableName", "dbName", "sd", "partitionKeys", "parameters")}
    )
    plain.tableType = "EXTERNAL_TABLE"
    with pytest.raises(TableChangedError):
        catalog.alter_table("d", "t", plain, expected=("stamp", "2"))
    with GlueCatalog(settings(server, skip_table_archive=False)) as client:
        client.alter_table("d", "t", plain, expected=("stamp", "1"))
    assert server.archived["t"] == 1


def test_what_hive_has_no_place_for_outlives_a_change(server, catalog):
    server.table("d", "t")["Description"] = "of users"
    server.table("d", "t")["StorageDescriptor"]["AdditionalLocations"] = ["/more"]
    table = catalog.table("d", "t")
    table.parameters["a"] = "b"
    catalog.alter_table("d", "t", table)
    after = server.table("d", "t")
    assert after["Description"] == "of users" and after["StorageDescriptor"]["AdditionalLocations"] == ["/more"]
    assert after["Parameters"] == {"stamp": "1", "a": "b"}


def test_columns_reach_the_partitions_that_have_others(server, catalog):
    catalog.add_partitions("d", "t", partitions(0, 120))
    for one in list(server.partitions("d", "t").values())[:5]:
        one["StorageDescriptor"]["Columns"] = [{"Name": "id", "Type": "string", "Comment": ""}]
    table = catalog.table("d", "t")
    table.sd.cols = [FieldSchema(name="id", type="string", comment="")]
    server.reset()
    catalog.alter_table("d", "t", table, cascade=True)
    types = {one["StorageDescriptor"]["Columns"][0]["Type"] for one in server.partitions("d", "t").values()}
    assert types == {"string"}
    assert server.counts == {"GetPartitions": 1, "BatchUpdatePartition": 2, "UpdateTable": 1}
    assert sum(len(one[1]["Entries"]) for one in server.requests if one[0] == "BatchUpdatePartition") == 115


def test_a_change_of_columns_that_came_second_leaves_the_partitions_with_those_of_the_first(server, catalog):
    catalog.add_partitions("d", "t", partitions(0, 3))
    first, second = catalog.table("d", "t"), catalog.table("d", "t")
    first.sd.cols = [FieldSchema(name="id", type="bigint", comment=""), FieldSchema(name="n", type="int", comment="")]
    second.sd.cols = [FieldSchema(name="id", type="string", comment="")]
    catalog.alter_table("d", "t", first, cascade=True)
    with pytest.raises(TableChangedError):
        catalog.alter_table("d", "t", second, cascade=True)
    columns = [one["StorageDescriptor"]["Columns"] for one in server.partitions("d", "t").values()]
    assert all([one["Type"] for one in found] == ["bigint", "int"] for found in columns)


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (
            GlueFault("AccessDeniedException", "User is not authorized to perform: glue:GetTable"),
            MetastoreSecurityError,
            "the right",
        ),
        (GlueFault("ExpiredTokenException", "expired"), MetastoreSecurityError, "get a new one"),
        (GlueFault("UnrecognizedClientException", "invalid"), MetastoreSecurityError, "access key"),
        (
            GlueFault("InvalidSignatureException", "mismatch"),
            MetastoreSecurityError,
            "secret key, and this machine's clock",
        ),
        (GlueFault("EntityNotFoundException", "Entity Not Found"), NoSuchObjectError, "table d.t"),
        (GlueFault("InvalidInputException", "bad name"), InvalidOperationError, "bad name"),
        (GlueFault("SomethingElse", "strange"), MetastoreServerError, "strange"),
    ],
)
def test_errors_say_what_is_wrong_and_are_not_tried_again(server, catalog, fault, kind, said):
    server.fail("GetTable", fault)
    with pytest.raises(kind, match=said) as caught:
        catalog.table("d", "t")
    assert server.counts["GetTable"] == 1 and caught.value.path == server.url
    assert SECRET not in str(caught.value) and SECRET not in repr(catalog)


def test_places_and_credentials_that_make_no_sense(server, monkeypatch):
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    keys = {"access_key": None, "secret_key": None}
    with (
        GlueCatalog(settings(server, **keys)) as client,
        pytest.raises(MetastoreSecurityError, match=r"aws\.access\.key"),
    ):
        client.find_table("d", "t")
    with GlueCatalog(settings(server, region=None)) as client, pytest.raises(InvalidOptionError, match="region"):
        client.find_table("d", "t")
    with (
        GlueCatalog(settings(server, **keys, profile="nobody")) as client,
        pytest.raises(InvalidOptionError, match="nobody"),
    ):
        client.find_table("d", "t")
    with pytest.raises(InvalidOptionError, match=r"only one of hoodie\.aws"):
        GlueCatalog(GlueSettings(access_key="a"))
    nowhere = settings(server, endpoint="http://127.0.0.1:1", retry_timeout_s=0.01)
    with GlueCatalog(nowhere) as client, pytest.raises(MetastoreConnectError, match=r"glue\.endpoint"):
        client.find_table("d", "t")


def test_requests_are_signed_with_the_credentials_of_a_role(server, catalog, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    with GlueCatalog(settings(server, role_arn="arn:aws:iam::1:role/sync", external_id="me")) as client:
        assert client.find_table("d", "t") is not None
        assert client.find_table("d", "other") is None
    roles = [one for one in server.requests if one[0] == "AssumeRole"]
    assert [one[1]["ExternalId"] for one in roles] == ["me"]
    signed = [one[2]["Authorization"] for one in server.requests if one[0] == "GetTable"]
    assert all("Credential=sync-key/" in one and "/eu-west-1/glue/" in one for one in signed)


def test_indexes_are_made_and_only_those_of_syncs_dropped(server, catalog):
    assert catalog.keep_indexes("d", "t", [("x",), ("x", "y")]) == []
    assert sorted(server.indexes("d", "t")) == ["hudi_managed_x", "hudi_managed_x_y"]
    catalog.keep_indexes("d", "t", [("x",), ("x", "y")])
    assert server.counts == {"GetPartitionIndexes": 2, "CreatePartitionIndex": 2}
    users = {"IndexName": "of_users", "Keys": [{"Name": "y", "Type": "string"}], "IndexStatus": "ACTIVE"}
    server.indexes("d", "t")["of_users"] = users
    catalog.keep_indexes("d", "t", [("x",)])
    assert sorted(server.indexes("d", "t")) == ["hudi_managed_x", "of_users"]
    with pytest.raises(InvalidOperationError, match="not partition keys"):
        catalog.keep_indexes("d", "t", [("z",)])
    server.indexes("d", "t").clear()
    server.fail("CreatePartitionIndex", "", GlueFault("OperationNotSupportedException", "one is being made"))
    assert catalog.keep_indexes("d", "t", [("x",), ("y",)]) == ["hudi_managed_y"]
    assert catalog.keep_indexes("d", "t", [("x",), ("y",)]) == []
    assert len(server.indexes("d", "t")) == 2
