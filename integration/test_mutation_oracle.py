"""Tables that we mutate on real metastores 3.1.3 and 4.0.1, read by Hive's own readers of the same release."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hudi_hive.metastore import HiveMetastore, TransactionClient
from integration.hive_acid import HiveAcid
from integration.metastores import HIVE_EXEC, RELEASES, ReleasedMetastore
from integration.mutation_histories import SHAPES, History
from integration.mutation_judge import PROPERTIES, Judge

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module", params=sorted(RELEASES))
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """One release after the other."""
    version = request.param
    folder = tmp_path_factory.mktemp("metastore")
    with (
        HiveAcid(version) as hive,
        ReleasedMetastore(version, folder, properties=PROPERTIES, jars=[HIVE_EXEC[version]]) as server,
        HiveMetastore(server.uri) as metastore,
    ):
        yield Judge(server, TransactionClient(metastore), hive)


@pytest.mark.parametrize("shape", SHAPES)
def test_hive_sees_what_transactions_did(judge: Judge, shape: str) -> None:
    """Some are aborted, some tasks are tried twice; nothing is seen before the commit."""
    History(judge, SHAPES[shape], len(shape)).run(3)
