"""Secondary and expression indexes leave out files without hits, and never a row."""

from __future__ import annotations

import functools
import tarfile
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.predicate import parse_filter
from tests.support.column_indexes import refuse_differences
from tests.support.fixture_tables import DATA


@functools.cache
def unpacked(folder, name):
    target = tempfile.mkdtemp()
    with tarfile.open(DATA / folder / f"{name}.tar.xz") as archive:
        archive.extractall(target)
    return str(Path(target) / name)


def table(name, folder="column_indexes"):
    return HudiTable.open(unpacked(folder, name))


def groups_of(rows):
    """File groups of rows, by the names of their files."""
    return set(pc.list_element(pc.split_pattern(rows.column("_hoodie_file_name"), "_"), 0).to_pylist())


def check(opened, condition, index):
    """The file groups that an index leaves, and those that hold hits; the rows are those of a scan without it."""
    everything = opened.scan(options={"hoodie.enable.data.skipping": "false"}).to_arrow()
    wanted = everything.filter(parse_filter(condition, everything.schema).evaluate(everything))
    scan = opened.scan(row_filter=condition)
    rows = scan.to_arrow()
    keys = [sorted(some.column("_hoodie_record_key").to_pylist()) for some in (rows, wanted)]
    assert keys[0] == keys[1]
    steps = [step.name for step in scan.plan().steps]
    assert f"{index} that the filter leaves" in steps
    return set(scan.plan().slices.column("file_id").to_pylist()), groups_of(wanted)


@pytest.mark.parametrize("value", ["'moved'", "'bob$x'", "''", "'C\\d'", "'ünï'", "'nobody'"])
@pytest.mark.parametrize("name", ["v8_mor_secondary", "v9_mor_secondary"])
def test_a_secondary_index_leaves_only_files_with_hits(name, value):
    left, hit = check(table(name), f"rider = {value}", "secondary index secondary_index_by_rider")
    assert left == hit


@pytest.mark.parametrize(
    ("column", "value"),
    [("day", "DATE '1999-12-31'"), ("day", "'2020-05-05'"), ("small", "2")],
)
def test_dates_and_numbers_are_looked_up(column, value):
    left, hit = check(table("v8_cow_types"), f"{column} = {value}", f"secondary index secondary_index_by_{column}")
    assert left == hit


@pytest.mark.parametrize("condition", ["at = TIMESTAMP '1999-12-31'", "fare = 12.25", "flag", "price = 1.01"])
def test_values_whose_texts_are_not_certain_are_not_looked_up(condition):
    scan = table("v8_cow_types").scan(row_filter=condition)
    assert scan.to_arrow().num_rows
    assert not [step for step in scan.plan().steps if "secondary" in step.name]


@pytest.mark.parametrize("name", ["v8_indexes", "v9_indexes"])
def test_a_list_of_values_is_looked_up(name):
    left, hit = check(
        table(name, "indexes"), "rider IN ('moved', 'r$2\\x')", "secondary index secondary_index_by_rider"
    )
    assert left == hit
    assert len(hit) == 2


@pytest.mark.parametrize("name", ["v8_indexes", "v9_indexes"])
@pytest.mark.parametrize("day", ["2023-11-14", "2023-11-16", "1999-01-01"])
def test_statistics_of_a_format_leave_files_out(name, day):
    found = table(name, "indexes")
    everything = {row["file_id"] for row in found.scan().plan().slices.to_pylist()}
    left, hit = check(found, f"from_unixtime(epoch, 'yyyy-MM-dd') = '{day}'", "expression index expr_index_by_day")
    assert hit <= left < everything


CONDITIONS = {
    "year(at) = 2021": ("expr_index_y", 1),
    "year(at) > 2021": ("expr_index_y", 2),
    "year(at) < 2000": ("expr_index_y", 1),
    "year(at) IN (1999, 2030)": ("expr_index_y", 1),
    "lower(rider) = 'moved'": ("expr_index_lo", 4),
    "lower(rider) > 'ÿ'": ("expr_index_lo", 1),
    "upper(id) = 'K051'": ("expr_index_up", 1),
    "upper(id) = 'zz'": ("expr_index_up", 1),
}
"""Index that is asked, and how many of the four file groups it leaves; Hudi has put no record of one of them there."""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_functions_of_columns_leave_files_out(condition):
    index, count = CONDITIONS[condition]
    left, hit = check(table("v9_cow_expression"), condition, f"expression index {index}")
    assert hit <= left
    assert len(left) == count


def test_an_arrow_expression_asks_an_expression_index():
    found = table("v9_cow_expression")
    scan = found.scan(row_filter=pc.equal(pc.year(pc.field("at")), 1999))
    assert scan.to_arrow().column("_hoodie_record_key").to_pylist() == ["k003"]
    assert scan.plan().slices.num_rows == 1


@pytest.mark.parametrize("condition", ["lower(rider) = 'moved'", "year(at) = 1999"])
def test_an_index_whose_definition_is_gone_prunes_nothing(condition, tmp_path):
    with tarfile.open(DATA / "column_indexes" / "v9_cow_expression.tar.xz") as archive:
        archive.extractall(tmp_path)
    base = tmp_path / "v9_cow_expression"
    (base / ".hoodie/.index_defs/index.json").write_text('{"indexDefinitions": {}}')
    scan = HudiTable.open(str(base)).scan(row_filter=condition)
    assert scan.to_arrow().num_rows == 1
    assert not [step for step in scan.plan().steps if "index" in step.name]


def test_an_index_that_was_never_filled_is_not_believed(caplog):
    """Hudi 1.1.1 committed the index of ``num`` without a record, and lists it as complete."""
    found = table("v9_cow_half_built")
    assert found.metadata.reader.has("secondary_index_by_num")
    rows = found.scan(row_filter="num IN (1, 2)").to_arrow()
    assert sorted(rows.column("_hoodie_record_key").to_pylist()) == ["k007", "k010", "k021", "k029", "k040", "k051"]
    assert "was not built in full" in caplog.text
    left, hit = check(found, "rider = 'zed'", "secondary index secondary_index_by_rider")
    assert left == hit


def test_an_index_that_lacks_a_key_of_the_record_index_is_not_believed(tmp_path, caplog):
    with tarfile.open(DATA / "column_indexes" / "v9_mor_secondary.tar.xz") as archive:
        archive.extractall(tmp_path)
    base = tmp_path / "v9_mor_secondary"
    newest = max(path.name.split("_")[1][:17] for path in base.glob(".hoodie/metadata/secondary_index_by_rider/.*log*"))
    for path in base.glob(f".hoodie/metadata/secondary_index_by_rider/.*_{newest}.log*"):
        path.unlink()  # so that the index has keys that were deleted
    rows = HudiTable.open(str(base)).scan(row_filter="rider = ''").to_arrow()
    assert sorted(rows.column("_hoodie_record_key").to_pylist()) == ["k013", "k021", "k029"]
    assert "which the record index does not have" in caplog.text


def test_old_slices_are_not_asked_of_a_secondary_index():
    found = table("v9_mor_secondary")
    first = found.client.timeline.write_instants()[0].requested
    scan = found.scan(row_filter="rider = 'zed'", as_of=first)
    assert not [step for step in scan.plan().steps if "secondary" in step.name]
    assert scan.to_arrow().num_rows == 3


REGEX_CONDITIONS = {
    "regexp_extract(id, '([a-z]+)-', 1) = 'ab'": 1,
    "regexp_extract(id, '([a-z]+)-', 1) IN ('ab', 'ef')": 2,
    "regexp_replace(id, '[^0-9]+', '') > '5'": 1,
    "regexp_extract(id, '([a-z]+)-', 0) = 'ab-'": 3,
}


@pytest.mark.parametrize("condition", REGEX_CONDITIONS)
def test_functions_of_regular_expressions_leave_files_out(condition, tmp_path):
    fields = {"record_keys": ["id"], "partition_fields": ["part"]}
    made = HudiTable.create(tmp_path / "t", name="t", version=9, **fields)
    ids = ["ab-1", "ab-2", "cd-3", "cd-4", "ef-5", "ef-6"]
    made.insert(pa.table({"id": ids, "part": [key[0] for key in ids]}))
    pattern = {"expr": "regexp_extract", "pattern": "([a-z]+)-", "idx": "1"}
    made.metadata.create_index("word", "id", "bloom_filters", pattern)
    digits = {"expr": "regexp_replace", "pattern": "[^0-9]+", "replacement": ""}
    made.metadata.create_index("digits", "id", "column_stats", digits)
    assert refuse_differences(tmp_path / "t") == ["expr_index_digits", "expr_index_word"]
    scan = HudiTable.open(tmp_path / "t").scan(row_filter=condition)
    everything = made.refresh().scan().to_arrow()
    wanted = everything.filter(parse_filter(condition, everything.schema).evaluate(everything))
    assert sorted(scan.to_arrow().column("id").to_pylist()) == sorted(wanted.column("id").to_pylist()) != []
    assert scan.plan().slices.num_rows == REGEX_CONDITIONS[condition]
