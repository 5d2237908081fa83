"""The tables that benchmarks generate are what they claim to be: two readers find the same rows in them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from tests.support.fixture_tables import encode_rows, rows_sha256


def load(name):
    path = Path(__file__).resolve().parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up, and the benchmarks each other
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables():
    return load("hudi_tables")


def peer(path) -> pa.Table:
    hudi = pytest.importorskip("hudi")
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("updates", [0.0, 0.1])
def test_tables_of_rows(tables, tmp_path, updates):
    made = tables.write_table(tmp_path / "t", rows=4_000, groups=4, updates=updates)
    ours = HudiTable.open(made.path).scan().to_arrow()
    assert ours.num_rows == made.rows == 4_000
    fresh = pc.sum(pc.equal(ours["_hoodie_commit_time"], tables.UPDATE)).as_py()
    assert fresh == made.updated - made.late and (made.late > 0) == (updates > 0)
    theirs = peer(made.path)
    columns = ours.column_names
    assert rows_sha256(encode_rows(ours, columns)) == rows_sha256(encode_rows(theirs, columns))


def test_folders_of_the_listing(tables, tmp_path):
    tables.write_listing_table(tmp_path / "t", 30, 7)
    listing = {"hoodie.metadata.enable": "false"}
    assert HudiTable.open(tmp_path / "t").scan(options=listing).plan().slices.num_rows == 210


def test_the_metadata_table_of_the_listing(tables, tmp_path):
    assert tables.write_listing_table(tmp_path / "t", 30, 7) == 210
    for stray in (tmp_path / "t" / "p00003").glob("*.parquet"):
        stray.unlink()  # only the metadata table names them now
    table = HudiTable.open(tmp_path / "t")
    assert len(table.partitions()) == 30
    assert table.scan().plan().slices.num_rows == 210
    assert table.client.counters["lists"] <= 3  # two timelines and one folder of the metadata table
    assert [
        len(table.timeline.archived().commit_metadata(i).write_stats) for i in table.timeline.archived().instants
    ] == [209]
    hudi = pytest.importorskip("hudi")
    assert len(hudi.HudiTableBuilder.from_base_uri(str(tmp_path / "t")).build().get_file_slices()) == 210


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("metadata", [True, False])
def test_wide_tables_of_benchmarks_are_valid(tables, tmp_path, kind, metadata):
    wide = load("wide_tables")
    made = wide.WideTable(tmp_path / "t", 30, kind=kind, metadata=metadata)
    made.append(4, again=2)
    table = HudiTable.open(tmp_path / "t")
    assert len(table.partitions()) == made.partitions == 34
    if metadata:
        assert table.client.counters["lists"] <= 3  # two timelines and one folder of the metadata table
    rows = table.scan().to_arrow()
    assert rows.num_rows == 2 * 36
    assert rows_sha256(encode_rows(rows, rows.column_names)) == rows_sha256(
        encode_rows(peer(tmp_path / "t"), rows.column_names)
    )


@pytest.fixture(scope="module")
def growth_tables():
    return load("growth_tables")


def test_tables_of_growth_are_listed_and_pruned(growth_tables, tmp_path):
    growth_tables.listed_table(tmp_path / "t", 40, 4, options=growth_tables.STATS)
    table = HudiTable.open(tmp_path / "t")
    assert len(table.partitions()) == 4
    assert table.scan().plan().slices.num_rows == 40
    assert table.scan("n = 17").plan().slices.num_rows == 1
    growth_tables.folders_table(tmp_path / "f", 40, 4, logs=True)
    slices = HudiTable.open(tmp_path / "f").scan().plan().slices
    assert pc.list_value_length(slices["log_files"]).to_pylist() == [1] * 40


@pytest.mark.parametrize("version", [6, 8])
def test_commits_of_growth_are_archived(growth_tables, tmp_path, version):
    growth_tables.commits_table(tmp_path / "t", 40, version=version)
    report = HudiTable.open(tmp_path / "t").archive({"hoodie.metadata.enable": "false"}).result
    assert len(report.archived) == 20


@pytest.mark.parametrize(("power", "flat"), [(1, 0.0), (2, 0.0), (1.3, 0.0), (1, 1e9)])
def test_the_exponent_is_that_of_what_is_above_the_fixed_part(growth_tables, power, flat):
    growth = load("growth")
    sizes = [10, 1_000, 2_000, 4_000, 8_000]
    costs = [5.0, *(5.0 + 0.01 * (size - 10) ** power for size in sizes[1:])]
    slope = growth.exponent(sizes, costs, flat)
    assert slope is None if flat else slope == pytest.approx(power)
    peaks = [max(5.0, cost - 5) for cost in costs]
    assert flat or growth.exponent(sizes, peaks, flat, adds=False) == pytest.approx(power, rel=0.02)
