"""Tables whose base files are HFiles: what real Hudi wrote, read back; damage ends in errors of ours."""

from __future__ import annotations

import random
import shutil

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import FormatError, HudiHiveError, UnsupportedTableError
from hudi_hive.formats.base import open_base_file
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from tests.formats.shared.hfile_base_helpers import folder
from tests.support.fixture_tables import unzip_fixture


def written(column, updated=False):
    """The rows that went in; a column called ``key`` shows the record key where the base file is asked."""
    rows = []
    for i in range(40):
        new = updated and i < 10
        text = f"v{i}u" if new else f"k{i:03d}" if column == "key" else f"v{i}"
        rows.append(
            {
                "id": f"k{i:03d}",
                "ts": i + 100 if new else i,
                column: text,
                "price": i / 2,
                "p": f"p{i % 2}",
                "maybe": None if i % 3 else i,
            }
        )
    return rows


def by_id(table: pa.Table):
    return table.select([name for name in table.column_names if not name.startswith("_")]).sort_by("id").to_pylist()


def test_copy_on_write():
    table = HudiTable.open(folder() / "hfile_cow")
    assert table.config.base_file_format == "hfile"
    found = table.scan().to_arrow()
    assert by_id(found) == written("name")
    assert found.schema.equals(table.schema())
    assert found["_hoodie_record_key"].to_pylist() == found["id"].to_pylist()
    assert set(found["_hoodie_commit_time"].to_pylist()) == {table.scan().plan().instant}


def test_merge_on_read():
    table = HudiTable.open(folder() / "hfile_mor")
    assert by_id(table.scan().to_arrow()) == written("key", updated=True)
    assert by_id(table.scan(query_type="read_optimized").to_arrow()) == written("key")


@pytest.mark.parametrize(
    "text", ["id = 'k007'", "_hoodie_record_key IN ('k007', 'k030', 'x')", "price > 17.5", "p = 'p1'"]
)
def test_filters_and_projections(text):
    table = HudiTable.open(folder() / "hfile_cow")
    everything = table.scan().to_arrow()
    wanted = sorted(everything.filter(table.scan(text).plan().row_filter.evaluate(everything))["id"].to_pylist())
    assert 0 < len(wanted) < 40
    assert sorted(table.scan(text, ["id"]).to_arrow()["id"].to_pylist()) == wanted
    assert table.scan(text).count() == len(wanted)


def test_a_range_of_commits():
    table = HudiTable.open(folder() / "hfile_mor")
    first = table.timeline.write_instants()[0].completed
    new = table.scan(begin=first, selected_fields=["id"]).to_arrow()["id"].to_pylist()
    assert sorted(new) == [f"k{i:03d}" for i in range(10)]


def test_byte_ranges_give_each_row_once():
    storage = Storage(folder() / "hfile_cow")
    (path,) = [path for path in storage.list("p0").column("path").to_pylist() if path.endswith(".hfile")]
    with open_base_file(storage, path) as file:
        assert file.num_rows == 20
        ((start, size),) = file.row_ranges()
        assert start == 0
        half = size // 2
        counts = [sum(b.num_rows for b in file.batches(["id"], byte_range=part)) for part in ((0, half), (half, size))]
        assert counts == [0, 20]
        assert [b.num_rows for b in file.batches(["ts"], batch_size=8)] == [8, 8, 4]
        assert [b.num_rows for b in file.batches([])] == [20]


def test_damaged_files_end_in_errors_of_ours(tmp_path):
    source = Storage(folder() / "hfile_cow")
    (path,) = [path for path in source.list("p0").column("path").to_pylist() if path.endswith(".hfile")]
    data = source.read_bytes(path)
    shutil.copytree(folder() / "hfile_cow", tmp_path / "t")
    storage = Storage(tmp_path / "t")
    dice = random.Random(7)
    failed = 0
    for _ in range(300):
        broken = bytearray(data[: dice.randrange(len(data))] if dice.random() < 0.2 else data)
        for _ in range(dice.randrange(1, 4)):
            if broken:
                broken[dice.randrange(len(broken))] = dice.randrange(256)
        (tmp_path / "t" / path).write_bytes(bytes(broken))
        try:
            with open_base_file(storage, path) as file:
                for batch in file.batches(file.schema.names):
                    batch.validate(full=True)
        except HudiHiveError as error:
            assert isinstance(error, FormatError) or "schema" in str(error).lower()
            failed += 1
    assert failed > 100


def test_a_metadata_table_is_no_table_to_plan_or_to_sync():
    path = unzip_fixture("v8_cow_part_mdt") / ".hoodie" / "metadata"
    with pytest.raises(UnsupportedTableError, match="is only read"):
        MetaClient.load(path)
