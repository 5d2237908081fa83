"""A real Hive metastore does what the suite says, and the fake one agrees with it where the suite does not reach."""

from __future__ import annotations

import itertools
import json

import pytest

from hudi_hive.errors import InvalidOperationError
from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from hudi_hive.metastore.testing.column_types import change_allowed, is_valid
from tests.metastore_behaviour import MetastoreBehaviour, columns, table_of

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    with EmbeddedMetastore(tmp_path_factory.mktemp("metastore")) as metastore:
        yield metastore


class TestEmbeddedMetastore(MetastoreBehaviour):
    @pytest.fixture
    def metastore(self, embedded):
        return embedded


TYPES = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(12,1)", "boolean", "string"),
    *("varchar(10)", "char(5)", "binary", "date", "timestamp", "array<int>", "map<string,int>", "struct<a:int>"),
)


def test_fake_knows_which_type_changes_pass(embedded, tmp_path):
    """All pairs of types: the fake one's rule against the real metastore's answer."""
    pairs = list(itertools.permutations(TYPES, 2))
    disagreements = []
    with HiveMetastore(embedded.uri) as client:
        client.create_database("types")
        for old, new in pairs:
            client.create_table(table_of("types", "t", tmp_path / "t", cols=columns(("c", old))))
            table = client.table("types", "t")
            table.sd.cols = columns(("c", new))
            try:
                client.alter_table("types", "t", table)
                real = True
            except InvalidOperationError:
                real = False
            client.drop_table("types", "t")
            if real != change_allowed(old, new):
                disagreements.append((old, new, real))
    assert disagreements == []


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
def test_fake_knows_which_types_exist(embedded, tmp_path, text):
    with HiveMetastore(embedded.uri) as client:
        try:
            client.create_table(table_of("default", "probe", tmp_path, cols=columns(("c", text))))
            client.drop_table("default", "probe")
            real = True
        except InvalidOperationError:
            real = False
    assert is_valid(text) == real, json.dumps({"type": text, "metastore says": real})
