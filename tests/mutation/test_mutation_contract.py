"""The same tests on all kinds of mutations, one of them an implementation outside of the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.mutation import MappingInspector, merge
from hudi_hive.mutation.hudi import HudiMutatorClient, HudiMutatorCoordinator
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.hudi_mutation_helpers import QUICK, make
from tests.support.mutation.mutation_contract import MutationContract, MutationKind
from tests.support.mutation.mutation_kinds import AcidKind, CsvKind, HudiKind
from tests.support.running.long import long_case


class TestAcid(MutationContract):
    @pytest.fixture
    def kind(self, tmp_path: Path) -> Iterator[MutationKind]:
        with FakeMetastore() as fake:
            yield AcidKind(fake.uri, tmp_path, "t")


class TestHudi(MutationContract):
    @pytest.fixture(params=[COPY_ON_WRITE, long_case(MERGE_ON_READ)])
    def kind(self, tmp_path: Path, request: pytest.FixtureRequest) -> MutationKind:
        return HudiKind(tmp_path / "t", request.param)


class TestCsv(MutationContract):
    @pytest.fixture
    def kind(self, tmp_path: Path) -> MutationKind:
        return CsvKind(tmp_path / "t")


def test_a_column_of_identifiers_is_none_of_the_tables(tmp_path: Path) -> None:
    with FakeMetastore() as fake:
        kind = AcidKind(fake.uri, tmp_path, "t")
        with kind.client() as client, client.new_transaction() as transaction:
            for name in ("MSG", "country"):
                with pytest.raises(InvalidOptionError, match=r"column .* of its own"):
                    transaction.coordinator("default", "t", MappingInspector(name))
    with pytest.raises(InvalidOptionError):
        MappingInspector(" ")


def test_merges_feed_coordinators_whatever_their_column_of_identifiers_is_called(tmp_path: Path) -> None:
    with FakeMetastore() as fake:
        kind = AcidKind(fake.uri, tmp_path, "t")
        for message in ("first", "second"):
            with kind.client() as client, client.new_transaction() as transaction:
                changes = pa.table({"id": pa.array([1, 2], pa.int32()), "msg": [message] * 2, "country": ["nl"] * 2})
                merged = merge(transaction.reader("default", "t"), changes, ["id"])
                merged.feed(transaction.coordinator("default", "t", MappingInspector("rid")))
        assert kind.rows() == {("nl", 1): "second", ("nl", 2): "second"}


def test_a_column_of_identifiers_is_refused_where_records_have_keys(tmp_path: Path) -> None:
    table = make(tmp_path)
    with (
        HudiMutatorClient(table.path, QUICK) as client,
        client.new_transaction() as transaction,
        pytest.raises(InvalidOptionError, match="by their keys, not by a column rid"),
    ):
        HudiMutatorCoordinator(transaction.table(), inspector=MappingInspector("rid"))
