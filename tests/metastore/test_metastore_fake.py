"""The fake metastore behaves as the suite says (``integration`` runs the same suite against the real one)."""

from __future__ import annotations

import pytest

from hudi_hive.errors import MetastoreConnectError, MetastoreServerError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.testing import FakeMetastore, change_allowed, is_valid
from tests.support.metastore.metastore_behaviour import MetastoreBehaviour, columns, table_of


@pytest.fixture(scope="module")
def fake():
    with FakeMetastore() as server:
        yield server


class TestFakeMetastore(MetastoreBehaviour):
    @pytest.fixture
    def metastore(self, fake):
        return fake


def test_type_check_can_be_switched_off(tmp_path):
    with FakeMetastore(check_types=False) as server, HiveMetastore(server.uri) as client:
        client.create_table(table_of("default", "t", tmp_path))
        table = client.table("default", "t")
        table.sd.cols = columns(("n", "timestamp"))
        client.alter_table("default", "t", table)
        assert [c.type for c in client.table("default", "t").sd.cols] == ["timestamp"]


def test_it_keeps_what_it_holds_over_a_restart():
    with FakeMetastore() as server, HiveMetastore(server.uri) as client:
        client.create_database("kept")
        server.stop()
        with pytest.raises(MetastoreConnectError):
            client.databases()
        server.start()
        assert client.databases() == ["default", "kept"]


def test_internal_errors_are_silent_on_standard_error(capfd):
    with FakeMetastore() as server, HiveMetastore(server.uri) as client:
        server.inject("internal")
        with pytest.raises(MetastoreServerError, match="failed in get_all_databases"):
            client.databases()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "text", ["int", "decimal(10,2)", "map<string,array<struct<a:int,b_c:varchar(3)>>>", "array<int"]
)
def test_hive_s_types_are_valid(text):
    assert is_valid(text)


@pytest.mark.parametrize("text", ["", "wrong", "BIGINT", "<int>", "integer"])
def test_other_texts_are_no_types(text):
    assert not is_valid(text)


def test_changes_of_types_that_hive_allows():
    assert change_allowed("int", "bigint") and change_allowed("int", "string") and change_allowed("date", "string")
    assert not change_allowed("bigint", "int") and not change_allowed("bigint", "timestamp")
    assert not change_allowed("array<int>", "array<bigint>")
