"""Complex keys of a single field: rows written later get keys like those that the table has."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table_api import HudiTable
from tests.support.running.long import with_long_cases

ENCODING = "hoodie.write.complex.keygen.new.encoding"


def made(path, version, kind="COPY_ON_WRITE"):
    return HudiTable.create(
        path / "t",
        name="t",
        version=version,
        table_type=kind,
        record_keys=["id"],
        partition_fields=["p", "q"],
        key_generator="COMPLEX",
    )


def keys(table):
    return sorted(HudiTable.open(table.path).scan().to_arrow().column("_hoodie_record_key").to_pylist())


ROWS = pa.table({"id": ["a", "b"], "p": ["x", "y"], "q": ["1", "2"], "v": [1, 2]})
LATER = pa.table({"id": ["b", "c"], "p": ["y", "y"], "q": ["2", "2"], "v": [20, 30]})


STYLES = [(6, {}, 0), (8, {}, 0), (6, {ENCODING: "false"}, 1), (9, {}, 1)]
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")


@pytest.mark.parametrize(
    ("version", "first", "named", "kind"),
    with_long_cases(
        [(*style, KINDS[at % 2]) for at, style in enumerate(STYLES)],
        [(*style, kind) for style in STYLES for kind in KINDS],
    ),
)
def test_later_keys_are_like_the_first(tmp_path, version, kind, first, named):
    table = made(tmp_path, version, kind)
    table.insert(ROWS, first)
    table.upsert(LATER)
    assert keys(table) == [f"id:{key}" if named else key for key in "abc"]
    assert table.delete(ROWS.slice(0, 1)).deleted == 1
    assert keys(table) == [f"id:{key}" if named else key for key in "bc"]


def test_an_option_that_contradicts_the_key_encoding_of_the_table_is_refused(tmp_path):
    table = made(tmp_path, 8)
    table.insert(ROWS)
    with pytest.raises(InvalidOptionError, match=f"{ENCODING}=false contradicts the table"):
        table.upsert(LATER, {ENCODING: "false"})
