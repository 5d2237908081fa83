"""A real Hive metastore does what the suite says, and the fake one agrees with it where the suite does not reach."""

from __future__ import annotations

import json

import pytest

from hudi_hive.errors import InvalidOperationError, MethodNotSupportedError
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.testing import change_allowed, is_valid
from tests.support.metastore.metastore_behaviour import MetastoreBehaviour, columns, table_of

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def embedded(metastore_server):
    return metastore_server


class TestEmbeddedMetastore(MetastoreBehaviour):
    @pytest.fixture
    def metastore(self, embedded):
        return embedded


TYPES = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(12,1)", "boolean", "string"),
    *("varchar(10)", "char(5)", "binary", "date", "timestamp", "array<int>", "map<string,int>", "struct<a:int>"),
)


@pytest.mark.parametrize("old", TYPES)
def test_the_fake_metastore_allows_the_type_changes_of_a_real_one(embedded, tmp_path, old):
    """One type to all others: the fake one's rule against the real metastore, which names the columns it refuses."""
    others = {f"c{number}": new for number, new in enumerate(TYPES) if new != old}
    with HiveMetastore(embedded.uri) as client:
        client.create_table(table_of("default", "t", tmp_path, cols=columns(*((name, old) for name in others))))
        table = client.table("default", "t")
        table.sd.cols = columns(*others.items())
        try:
            client.alter_table("default", "t", table)
            refused = set()
        except InvalidOperationError as error:
            assert "incompatible" in error.message
            refused = set(error.message.rpartition(":")[2].strip().split(","))
        client.drop_table("default", "t")
    assert {others[name] for name in refused} == {new for new in others.values() if not change_allowed(old, new)}


@pytest.mark.parametrize(
    "text",
    (
        *(
            "decimal",
            "decimal(5)",
            "varchar",
            "char",
            "int(3)",
            "uniontype<int,string>",
            "array<int",
            "void",
            "map<int>",
        ),
        *(
            "struct<a:int,b:x>",
            "interval_year_month",
            "Decimal(10,2)",
            "array<array<date>>",
            "integer",
            "int int",
            "<int>",
        ),
    ),
)
def test_the_fake_metastore_has_the_types_of_a_real_one(embedded, tmp_path, text):
    with HiveMetastore(embedded.uri) as client:
        try:
            client.create_table(table_of("default", "probe", tmp_path, cols=columns(("c", text))))
            client.drop_table("default", "probe")
            real = True
        except InvalidOperationError:
            real = False
    assert is_valid(text) == real, json.dumps({"type": text, "metastore says": real})


def test_transactions_on_a_metastore_2_3_are_refused(embedded):
    with HiveMetastore(embedded.uri) as metastore:
        client = TransactionClient(metastore)
        with pytest.raises(MethodNotSupportedError, match=r"3\.1 or newer: get_valid_write_ids is missing"):
            client.open()
        assert metastore.calls["open_txns"] == 0
