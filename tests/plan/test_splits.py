"""Splits: a plan cut into pieces of work, with weights; and back to slices for reading."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError
from hudi_hive.plan import PLAN_SCHEMA, SPLIT_SCHEMA, PartitionPlanner, Query, SplitOptions, make_splits, plan_scan
from hudi_hive.plan.splits.cut_points import read_row_groups
from hudi_hive.plan.splits.splits import (
    ROW_GROUP_SCHEMA,
    files_to_cut,
    split_files,
    split_slices,
    split_table,
    to_splits,
)
from hudi_hive.read.scan import read_plan
from hudi_hive.storage import Storage
from tests.support.fixture_tables import fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

MIB = 1 << 20


def slices(*rows):
    """Slices from (base size or None, log sizes) pairs."""
    lines = []
    for number, (base, *logs) in enumerate(rows):
        name = None if base is None else f"f{number}_0-0-0_20240101000000000.parquet"
        lines.append(
            {
                "partition": "p",
                "file_id": f"f{number}",
                "base_instant": "20240101000000000",
                "base_file": name,
                "base_size": base,
                "log_files": [f".f{number}.log.{i}" for i in range(len(logs))],
                "log_sizes": logs,
                "path": None if name is None else f"p/{name}",
            }
        )
    return pa.Table.from_pylist(lines, PLAN_SCHEMA)


def row_groups(table, *sizes, start=4):
    """Row groups laid end to end in the first file of slices."""
    starts = start + np.cumsum([0, *sizes[:-1]])
    path = table.column("path")[0].as_py()
    return pa.table([[path] * len(sizes), starts, list(sizes)], ROW_GROUP_SCHEMA)


# -- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "logs", "weight"),
    [
        (0, (), 5),
        (1, (), 5),
        (round(6.4 * MIB), (), 5),  # 5 % of 128 MiB, a fraction of a byte more or less
        (64 * MIB, (), 50),
        (64 * MIB + 1, (), 51),
        (64 * MIB, (32 * MIB, 32 * MIB), 100),
        (None, (32 * MIB,), 25),
        (128 * MIB, (), 100),
        (1 << 50, (1 << 50,), 100),
    ],
)
def test_weight_is_a_share_of_the_standard_size(size, logs, weight):
    table = make_splits(slices((size, *logs)))
    assert table.schema == SPLIT_SCHEMA
    assert table.column("weight").to_pylist() == [weight]


def test_every_whole_share_weighs_what_it_is():
    sizes = [number * MIB for number in range(1, 101)]
    options = SplitOptions(standard_weight_size=100 * MIB, minimum_weight=0.01)
    table = make_splits(slices(*((size,) for size in sizes)), options)
    assert table.column("weight").to_pylist() == list(range(1, 101))


def test_slices_of_a_slice_of_a_table_keep_their_logs():
    table = slices((10 * MIB, 1), (10 * MIB,), (10 * MIB, 118 * MIB), (None, 64 * MIB), (0,))
    assert make_splits(table.slice(2)).column("weight").to_pylist() == [100, 50, 5]
    chunked = pa.concat_tables([table.slice(0, 2), table.slice(2)])
    assert make_splits(chunked).column("weight").to_pylist() == [8, 8, 100, 50, 5]


@pytest.mark.parametrize(
    "wrong", [{"target_size": 0}, {"standard_weight_size": -1}, {"minimum_weight": 0}, {"minimum_weight": 1.1}]
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidOptionError, match=next(iter(wrong))):
        SplitOptions(**wrong)


# -- cutting ---------------------------------------------------------------------------------------------------------


def test_only_large_files_with_row_groups_and_without_logs_are_cut():
    table = slices((300,), (300, 1), (100,), (None, 500))
    others = [table.slice(0, 1).to_pylist()[0] for _ in range(2)]
    for row, kind in zip(others, ("orc", "hfile"), strict=True):
        row |= {"file_id": kind, "path": row["path"].replace("parquet", kind)}
    table = pa.concat_tables([table, pa.Table.from_pylist(others, PLAN_SCHEMA)])
    wanted = [table.column("path")[0].as_py(), others[0]["path"]]
    assert files_to_cut(table, SplitOptions(target_size=100)) == wanted
    assert files_to_cut(table, SplitOptions(target_size=100, split_row_groups=False)) == []
    assert files_to_cut(table) == []


def test_a_file_is_cut_where_row_groups_begin():
    table = slices((404,), (50,))
    splits = make_splits(table, SplitOptions(target_size=200), row_groups(table, 100, 100, 100, 100))
    assert splits.select(["file_id", "start", "length", "file_size"]).to_pylist() == [
        {"file_id": "f0", "start": 0, "length": 204, "file_size": 404},
        {"file_id": "f0", "start": 204, "length": 200, "file_size": 404},
        {"file_id": "f1", "start": 0, "length": 50, "file_size": 50},
    ]


def test_a_file_of_one_row_group_stays_whole():
    table = slices((1000,))
    splits = make_splits(table, SplitOptions(target_size=100), row_groups(table, 990))
    assert splits.select(["start", "length"]).to_pylist() == [{"start": 0, "length": 1000}]


@settings(max_examples=100, deadline=None)
@given(
    files=st.lists(st.lists(st.integers(0, 500), max_size=12), min_size=1, max_size=5),
    target=st.integers(1, 600),
    gap=st.integers(0, 9),
    shuffle=st.randoms(use_true_random=False),
)
def test_each_row_group_is_in_one_piece(files, target, gap, shuffle):
    """Whatever the sizes, gaps and order of row groups: pieces cover each file and share no row group's middle."""
    tables, groups, places = [], [], []
    for number, sizes in enumerate(files):
        at, own = 4, []
        for size in sizes:
            own.append((at, size))
            at += size + gap
        places.append(own)
        tables.append(at + 8)
        groups += [(number, *place) for place in own]
    table = slices(*((size,) for size in tables))
    paths = table.column("path").to_pylist()
    shuffle.shuffle(groups)
    known = pa.table(
        [[paths[n] for n, _, _ in groups], [s for _, s, _ in groups], [z for _, _, z in groups]], ROW_GROUP_SCHEMA
    )
    splits = make_splits(table, SplitOptions(target_size=target), known).to_pylist()
    assert [split["file_id"] for split in splits] == sorted(split["file_id"] for split in splits)
    for number, own in enumerate(places):
        pieces = [split for split in splits if split["file_id"] == f"f{number}"]
        ends = [0]
        for piece in pieces:
            assert piece["start"] == ends[-1] and piece["length"] > 0
            ends.append(piece["start"] + piece["length"])
        assert ends[-1] == tables[number]
        if tables[number] <= target:
            assert len(pieces) == 1
        for piece in pieces if len(pieces) > 1 else []:
            inside = [s for s, z in own if piece["start"] <= s + z // 2 < piece["start"] + piece["length"]]
            assert inside, "a piece without row groups"
        assert len(pieces) <= max(1, math.ceil(sum(z for _, z in own) / target))


@pytest.fixture(scope="module")
def many_groups(tmp_path_factory):
    """A table with one Parquet file of 20 row groups."""
    path = unzip_fixture("v6_cow_nonpart", tmp_path_factory.mktemp("groups"))
    table = HudiTable.open(path)
    file = table.scan().plan().files.to_pylist()[0]["path"]
    rows = pq.read_table(path / file)
    rows = pa.concat_tables([rows] * (2000 // rows.num_rows + 1)).slice(0, 2000)
    pq.write_table(rows, path / file, row_group_size=100)
    return path


def test_pieces_of_real_files_hold_each_row_once(many_groups):
    table = HudiTable.open(many_groups)
    plan = table.scan().plan()
    groups = read_row_groups(table.client.storage, plan.files.column("path").to_pylist())
    assert groups.num_rows >= 20
    whole = table.scan().to_arrow()
    size = sum(groups.column("size").to_pylist())  # the rest of the file is a footer with a large bloom filter
    for target in (1, size // 7, size // 3, size):
        splits = make_splits(plan.slices, SplitOptions(target_size=target), groups)
        assert splits.num_rows == min(20, math.ceil(size / target))
        storage, files = table.client.storage, split_files(splits)
        parts = [list(read_plan(storage, plan, files=files.slice(i, 1))) for i in range(files.num_rows)]
        assert all(parts)
        assert pa.Table.from_batches([batch for part in parts for batch in part]).equals(whole)
        assert files.num_rows == splits.num_rows


def test_pieces_of_orc_files_hold_each_row_once(tmp_path):
    path = unzip_fixture("v6_cow_orc", tmp_path)
    file = HudiTable.open(path).scan().plan().files.to_pylist()[0]["path"]
    rows = orc.read_table(path / file)
    rows = pa.concat_tables([rows] * (60_000 // rows.num_rows))
    orc.write_table(rows, path / file, stripe_size=1, batch_size=1000, compression="uncompressed")
    table = HudiTable.open(path)
    plan = table.scan().plan()
    paths = files_to_cut(plan.slices, SplitOptions(target_size=10_000))
    assert file in paths
    groups = read_row_groups(table.client.storage, paths)
    splits = make_splits(plan.slices, SplitOptions(target_size=10_000), groups)
    pieces = split_files(splits.filter(pc.equal(splits.column("path"), file)))
    assert groups.num_rows >= pieces.num_rows > 2
    read = [list(read_plan(table.client.storage, plan, files=pieces.slice(i, 1))) for i in range(pieces.num_rows)]
    assert all(read)
    assert sum(batch.num_rows for part in read for batch in part) == rows.num_rows
    whole = table.scan().to_arrow()
    assert sum(batch.num_rows for batch in read_plan(table.client.storage, plan, files=split_files(splits))) == len(
        whole
    )


def test_footers_are_read_for_large_files_only(many_groups):
    table = HudiTable.open(many_groups)
    with table.client.counters.measure() as cost, table.scan().splits() as loader:
        assert [split.is_part for split in loader] == [False] * table.scan().plan().slices.num_rows
    assert not any(path.endswith(".parquet") for path in table.client.counters.opened)
    del cost
    with table.scan().splits(SplitOptions(target_size=1000)) as loader:
        parts = list(loader)
    assert sum(part.is_part for part in parts) >= 20
    opened = {path: count for path, count in table.client.counters.opened.items() if path.endswith(".parquet")}
    assert set(opened.values()) == {1}


def test_row_groups_of_a_missing_file(tmp_path):
    from hudi_hive.errors import FileVanishedError

    with pytest.raises(FileVanishedError):
        read_row_groups(Storage(tmp_path), ["gone.parquet"])
    assert read_row_groups(Storage(tmp_path), []).schema == ROW_GROUP_SCHEMA


# -- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(fixture_names()), fixture_names()))
def test_splits_are_the_plan(name):
    """All splits of a fixture, made batch by batch, have the plan's slices, and their rows are the scan's."""
    path = unzip_fixture(name)
    table = HudiTable.open(path)
    plan = table.scan().plan()
    planner = PartitionPlanner(HudiTable.open(path).client)
    partitions = planner.partitions()
    batches = [planner.plan([partition]) for partition in partitions]
    splits = pa.concat_tables([SPLIT_SCHEMA.empty_table(), *(make_splits(batch.slices) for batch in batches)])
    assert split_slices(splits).to_pylist() == plan.slices.to_pylist()
    objects = pickle.loads(pickle.dumps(to_splits(splits, planner.template())))
    assert split_table(objects).equals(splits.combine_chunks())
    assert {split.base_path for split in objects} <= {plan.base_path}
    for split in objects:
        assert (split.merge_instant is not None) == bool(split.log_files)
        assert list(split.partition_keys) in ([], list(plan.partition_fields))
    read = replace(planner.template(), slices=split_slices(objects))
    assert pa.Table.from_batches(list(read_plan(table.client.storage, read)), plan.schema).equals(
        pa.Table.from_batches(list(read_plan(table.client.storage, plan)), plan.schema)
    )


def test_partition_keys_are_derived_from_the_path():
    table = HudiTable.open(unzip_fixture("v8_cow_ymd_hive"))
    with table.scan(row_filter="month = '01'").splits() as loader:
        splits = list(loader)
    assert splits
    for split in splits:
        assert split.partition == "/".join(f"{name}={value}" for name, value in split.partition_keys.items())
        assert split.partition_keys["month"] == "01"
        assert split.predicate is not None and split.predicate.columns == ("month",)


def test_no_slices_no_splits():
    empty = make_splits(PLAN_SCHEMA.empty_table())
    assert empty.schema == SPLIT_SCHEMA and not empty.num_rows
    assert not split_slices([]).num_rows and not split_files([]).num_rows
    assert make_splits(PLAN_SCHEMA.empty_table(), SplitOptions(target_size=1), ROW_GROUP_SCHEMA.empty_table()) == empty


# -- some partitions only ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v6_cow_ymd_hive", "v8_mor_types", "v9_cow_part_mdt", "v9_cow_nonpart"])
def test_a_plan_of_some_partitions_is_that_part_of_the_plan(name):
    client = HudiTable.open(unzip_fixture(name)).client
    whole = plan_scan(client, Query()).slices.to_pylist()
    for count in range(len(client.partition_paths()) + 1):
        wanted = client.partition_paths()[:count]
        narrow = plan_scan(client, Query(), partitions=[*wanted, *wanted])
        assert narrow.slices.to_pylist() == [row for row in whole if row["partition"] in wanted]
        assert narrow.partitions_total == count


def test_partitions_do_not_go_with_a_range():
    client = HudiTable.open(unzip_fixture("v9_cow_part_mdt")).client
    with pytest.raises(InvalidOptionError, match="partitions"):
        plan_scan(client, Query.of(begin="earliest"), partitions=["rome"])
