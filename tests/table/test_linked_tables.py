"""Tables with symbolic links in their folders, on every way of reading: right rows or an error that names the link."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive.errors import HudiHiveError, UnsafePathError
from hudi_hive.input_format import HoodieParquetInputFormat, JobConf
from hudi_hive.metrics import IoCounters
from hudi_hive.plan.core import plan_scan
from hudi_hive.plan.model import Query
from hudi_hive.read.scan import read_plan
from hudi_hive.sync.run import discover_tables
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.view.listing import DirectoryLister, walk, walk_batches
from hudi_hive.table_api import HudiTable

LISTED = {"hoodie.metadata.enable": "false"}
ROWS = [{"id": str(number), "city": city} for number, city in enumerate("abc")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "table"
    table = HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["city"])
    table.insert(pa.Table.from_pylist(ROWS))
    return path


@pytest.fixture
def table(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "table"))


def rows(path: Path, options: dict[str, str] | None = None, **storage: object) -> list[dict[str, object]]:
    found = HudiTable.open(path, storage or None).scan(options=options or {}).to_arrow()
    return sorted(found.select(["id", "city"]).to_pylist(), key=repr)


@pytest.mark.parametrize("links", [1, 2, 10])
def test_each_real_folder_is_listed_once(table: Path, links: int) -> None:
    for number in range(links):
        (table / f"l{number}").symlink_to(".")
        (table / f"self{number}").symlink_to(f"self{number}")
        (table / f"city{number}").symlink_to("a")
        (table / "a" / f"up{number}").symlink_to("..")
    client = MetaClient.load(table)
    for step in (
        lambda: DirectoryLister(client.storage).partitions(),
        lambda: walk(client.storage, [""])[0],
        lambda: sorted(name for names, _ in walk_batches(client.storage, [""]) for name in names),
    ):
        with client.counters.measure() as cost:
            assert step() == ["a", "b", "c"]
        assert cost["lists"] == 4
    assert rows(table) == ROWS
    with client.counters.measure() as cost:
        client.storage.list(recursive=True)
    assert cost["lists"] == sum(path.is_dir() and not path.is_symlink() for path in [table, *real_folders(table)])


def real_folders(folder: Path) -> list[Path]:
    found = []
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            found += [path, *real_folders(path)]
    return found


def test_a_base_path_that_is_a_link_is_read_and_written(table: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(table)
    HudiTable.open(tmp_path / "link").upsert(pa.Table.from_pylist([{"id": "9", "city": "d"}]))
    assert rows(tmp_path / "link") == rows(table) == [*ROWS, {"id": "9", "city": "d"}]


def test_a_link_out_of_the_table_without_partitions_does_not_count(table: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "outside" / "notes.txt").write_text("notes")
    (table / "docs").symlink_to(tmp_path / "outside")
    (table / "a" / "README").symlink_to(tmp_path / "outside" / "notes.txt")
    client = MetaClient.load(table)
    assert DirectoryLister(client.storage).partitions() == ["a", "b", "c"]
    assert rows(table) == ROWS


@pytest.mark.parametrize("deep", [False, True])
def test_a_partition_outside_is_refused_or_read_as_the_option_says(table: Path, tmp_path: Path, deep: bool) -> None:
    outside = tmp_path / "outside"
    shutil.move(table / "b", outside / "inner" if deep else outside)
    (table / "b").symlink_to(outside / "inner" if deep else outside)
    for options in (None, LISTED):
        with pytest.raises(UnsafePathError, match="follow_links") as caught:
            rows(table, options)
        assert str(table / "b") in str(caught.value)
        assert rows(table, options, follow_links=True) == ROWS
    before = sorted(outside.rglob("*"))
    changed = pa.Table.from_pylist([{"id": "1", "city": "b"}])
    with pytest.raises(HudiHiveError, match="symbolic link"):
        HudiTable.open(table, {"follow_links": "true"}).upsert(changed)
    assert sorted(outside.rglob("*")) == before
    assert rows(table, follow_links=True) == ROWS


def test_a_data_file_outside_is_refused(table: Path, tmp_path: Path) -> None:
    (file,) = (table / "b").glob("*.parquet")
    shutil.move(file, tmp_path / file.name)
    file.symlink_to(tmp_path / file.name)
    for options in (None, LISTED):
        with pytest.raises(UnsafePathError, match=file.name):
            rows(table, options)
        assert rows(table, options, follow_links=True) == ROWS


def test_a_partition_whose_disk_is_gone_is_not_passed_over(table: Path, tmp_path: Path) -> None:
    shutil.rmtree(table / "b")
    (table / "b").symlink_to(tmp_path / "nowhere")
    for options in (None, LISTED):
        with pytest.raises(HudiHiveError, match="table/b"):
            rows(table, options)


def test_tables_behind_links_are_found_once(table: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    shutil.copytree(table, lake / "own")
    for number in range(6):
        (lake / f"l{number}").symlink_to(".")
        (lake / f"self{number}").symlink_to(f"self{number}")
        (lake / "own" / f"up{number}").symlink_to(lake)
    (lake / "far").symlink_to(table)
    assert discover_tables(str(lake), depth=8) == [f"{lake}/far", f"{lake}/own"]


def test_the_input_format_lists_real_folders_once(table: Path) -> None:
    for number in range(6):
        (table / f"l{number}").symlink_to(".")
        (table / "a" / f"up{number}").symlink_to("..")
    conf = JobConf({"mapreduce.input.fileinputformat.inputdir": str(table)})
    assert len(HoodieParquetInputFormat(conf).list_status()) == 3


@pytest.mark.parametrize("links", [1, 2, 8])
def test_plain_folders_are_walked_once(tmp_path: Path, links: int) -> None:
    folder = tmp_path / "plain" / "sub"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "f.parquet")
    for number in range(links):
        (folder / f"up{number}").symlink_to(tmp_path / "plain")
        (tmp_path / "plain" / f"l{number}").symlink_to(".")
    conf = {"mapreduce.input.fileinputformat.inputdir": str(tmp_path / "plain")}
    recursive = {"mapreduce.input.fileinputformat.input.dir.recursive": "true"}
    counters = IoCounters()
    found = HoodieParquetInputFormat(JobConf({**conf, **recursive}), counters=counters).list_status()
    assert len(found) == 1 and counters["lists"] == 2


@pytest.mark.parametrize("folder", [".hoodie", ".hoodie/metadata", ".hoodie/timeline", ".hoodie/.temp", ".hoodie/.aux"])
def test_metadata_behind_a_link_is_not_written(table: Path, tmp_path: Path, folder: str) -> None:
    outside = tmp_path / "outside"
    (table / folder).mkdir(exist_ok=True)
    shutil.move(table / folder, outside)
    (table / folder).symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    options = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    for number in range(4):
        try:
            HudiTable.open(table).upsert(pa.Table.from_pylist([{"id": str(number), "city": "a"}]), options)
        except HudiHiveError as error:
            assert "symbolic link" in str(error)
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
    try:
        found = rows(table)
    except HudiHiveError as error:
        assert "symbolic link" in str(error)
    else:
        assert {row["city"] for row in found} <= {"a", "b", "c"}


@pytest.mark.parametrize(
    "partition", ["../outside", "/etc", "a/../../outside", ".hoodie/metadata/files", "a/.hoodie", "a\0", "link"]
)
def test_records_of_the_metadata_table_that_name_files_elsewhere(table: Path, tmp_path: Path, partition: str) -> None:
    (file,) = (table / "b").glob("*.parquet")
    outside = tmp_path / "outside"
    shutil.copytree(table / "b", outside)
    (table / "link").symlink_to(outside)

    class Lying(DirectoryLister):
        """Says what a metadata table can say."""

        def partitions(self) -> list[str]:
            return ["a", partition]

        def files(self, partitions: list[str]) -> pa.Table:
            honest = super().files([path for path in partitions if path != partition])
            size = file.stat().st_size
            lie = pa.table([[partition], [file.name], [size]], schema=FILES_SCHEMA)
            return pa.concat_tables([honest, lie.slice(0, int(partition in partitions))])

    client = MetaClient.load(table, listing=lambda client: Lying(client.storage))
    with pytest.raises(UnsafePathError):
        list(read_plan(client.storage, plan_scan(client, Query()), ["id"]))
