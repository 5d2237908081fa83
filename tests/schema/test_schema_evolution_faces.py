"""Every query of the schema-evolution fixtures through every face that needs no JVM: real Hudi's rows.

``python -m integration.long.schema_faces`` prints the whole table, Spark's faces included.
"""

from __future__ import annotations

import pytest

from tests.support.fixture_tables import VERSIONS, expected, query_id
from tests.support.running.long import long_case
from tests.support.tables.schema_faces import CASES, FACES, difference

QUERIES = [(face, name, query) for face in FACES for name, query in CASES if query["kind"] in face.kinds]


def parameters():
    """All queries of the first face in every run, and of the others every third one, each of them at another face."""
    for face, name, query in QUERIES:
        at = FACES.index(face)
        id_ = f"{face.name}-{name}-{query_id(query)}"
        every = at == 0 or (CASES.index((name, query)) + at) % 3 == 0
        yield pytest.param(face, name, query, id=id_) if every else long_case(face, name, query, name=id_)


@pytest.mark.parametrize(("face", "name", "query"), list(parameters()))
def test_rows_are_those_of_hudi(face, name, query):
    assert difference(face, name, query) is None


def test_cases_cover_all_table_versions_types_and_query_kinds():
    tables = {(expected(name)["table_version"], expected(name)["table_type"]) for _, name, _ in QUERIES}
    assert tables == {(version, kind) for version in VERSIONS for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")}
    kinds = {query["kind"] for _, _, query in QUERIES}
    assert kinds == {"snapshot", "read_optimized", "time_travel", "incremental"}
    assert len(CASES) == 33 and len(QUERIES) == 33 * 4 + 6 + 18 + 9
