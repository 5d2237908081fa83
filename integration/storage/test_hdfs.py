"""Tables on a real HDFS: files are created by one of several, writes and reads are as on the local disk."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    LockLostError,
    PathExistsError,
    PathNotFoundError,
    StoreUnreachableError,
    TableExistsError,
)
from hudi_hive.input_format import (
    HoodieCombineHiveInputFormat,
    HoodieParquetInputFormat,
    HoodieParquetRealtimeInputFormat,
    JobConf,
)
from hudi_hive.plan.splits import SplitOptions
from hudi_hive.storage import PathKind, Storage
from hudi_hive.write.coordination.locks import FileSystemLock, LockProvider, StoreLock
from integration.support.stores.hdfs import HdfsServer
from tests.support.running.long import long_case

ROWS = 30
FIELDS = {"name": "t", "record_keys": ["id"], "partition_fields": ["p"], "ordering_fields": ["ts"]}


@pytest.fixture(scope="module")
def server() -> Iterator[HdfsServer]:
    """A running HDFS of two data nodes."""
    with HdfsServer(["node1.test", "node2.test"]) as started:
        yield started


@pytest.fixture(scope="module")
def hdfs(server: HdfsServer) -> str:
    """URI of a running HDFS."""
    return server.uri


def rows(first: int) -> pa.Table:
    """Thirty rows of three partitions."""
    numbers = range(first, first + ROWS)
    return pa.table(
        {
            "id": [f"k{number}" for number in numbers],
            "p": [f"p{number % 3}" for number in numbers],
            "ts": pa.array([first] * ROWS, pa.int64()),
            "v": pa.array(numbers, pa.int64()),
        }
    )


def test_files_are_written_read_listed_moved_and_deleted(hdfs: str) -> None:
    storage = Storage(f"{hdfs}/files")
    storage.write_bytes("a/b", b"hello")
    assert storage.read_bytes("a/b") == b"hello" and storage.read_bytes("a/b", 1, 2) == b"el"
    assert storage.read_bytes("a/b", 9, 2) == b""
    assert sorted(storage.list(recursive=True).column("path").to_pylist()) == ["a", "a/b"]
    assert storage.status("a").kind is PathKind.FOLDER and storage.status("a/b").size == 5
    storage.replace_bytes("a/b", b"new")
    with storage.open_output("a/large") as stream:
        for _ in range(5):
            stream.write(bytes(1 << 20))
    with storage.open_input("a/large") as stream:
        assert stream.size() == 5 << 20 and len(stream.read()) == 5 << 20 and len(stream.read_at(100, 5)) == 100
    storage.move("a/b", storage.child("c"), "d")
    assert storage.read_bytes("c/d") == b"new" and not storage.exists("a/b")
    for call in (lambda: storage.read_bytes("none"), lambda: storage.list("none"), lambda: storage.list("c/d")):
        with pytest.raises(PathNotFoundError):
            call()
    storage.delete_tree("a")
    assert storage.list("a", missing_ok=True).num_rows == 0


def test_a_file_that_was_deleted_while_it_was_written_does_not_come_back(hdfs: str) -> None:
    """The name node takes the lease away with the file: what a writer that stood still sends later makes nothing."""
    storage = Storage(f"{hdfs}/leases")
    stream = storage.open_output("p/x.parquet")
    stream.write(bytes(1 << 20))
    storage.delete("p/x.parquet")
    with pytest.raises(Exception, match=r"(?i)lease|does not exist|not open"):
        stream.write(bytes(1 << 20))
        stream.close()
    assert not storage.exists("p/x.parquet")


@pytest.mark.parametrize("rounds", [5, long_case(1_000)])
def test_one_of_eight_that_race_creates_a_file(hdfs: str, rounds: int) -> None:
    def create(number: int, name: str) -> bool:
        try:
            Storage(f"{hdfs}/race").create_if_absent(name, b"%d" % number)
        except PathExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        for number in range(rounds):
            name = f"{rounds}-{number}"
            winners = [i for i, won in enumerate(threads.map(create, range(8), [name] * 8)) if won]
            assert len(winners) == 1
            assert Storage(f"{hdfs}/race").read_bytes(name) == b"%d" % winners[0]
    assert all(not name.startswith(".tmp") for name in Storage(f"{hdfs}/race").list().column("path").to_pylist())


def locks(uri: str) -> list[LockProvider]:
    """Both locks that a table on HDFS has by itself."""
    storage = Storage(uri)
    return [StoreLock(storage), FileSystemLock(storage, ".hoodie/lock")]


def test_locks_exclude_others(hdfs: str) -> None:
    for first, second in zip(locks(f"{hdfs}/locked"), locks(f"{hdfs}/locked"), strict=True):
        assert first.try_acquire() and not second.try_acquire()
        assert "process" in second.holder()
        first.verify()
        first.release()
        assert second.try_acquire()
        with pytest.raises(LockLostError):
            first.verify()
        second.release()
    assert Storage(f"{hdfs}/locked").list(recursive=True).filter(~pc.field("is_dir")).num_rows == 0


HOLDER = """
import os, sys
from integration.storage.test_hdfs import locks
assert all(lock.try_acquire() for lock in locks(sys.argv[1]))
print("taken", flush=True)
sys.stdin.read()
"""


def test_locks_of_a_killed_holder_are_taken_over(hdfs: str) -> None:
    uri = f"{hdfs}/killed"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert holder.stdout is not None and holder.stdout.readline() == "taken\n"
    mine = locks(uri)
    assert not any(lock.try_acquire() for lock in mine)
    holder.kill()
    holder.communicate()
    for lock, another in zip(mine, locks(uri), strict=True):
        assert lock.try_acquire()
        assert not another.try_acquire()
        lock.verify()
        lock.release()


@pytest.mark.parametrize(
    ("kind", "version"),
    [("MERGE_ON_READ", 8), long_case("COPY_ON_WRITE", 8), long_case("MERGE_ON_READ", 6), long_case("COPY_ON_WRITE", 9)],
)
def test_a_table_lives_on_hdfs(hdfs: str, kind: str, version: int) -> None:
    path = f"{hdfs}/lake/{kind}{version}"
    table = HudiTable.create(path, **FIELDS, table_type=kind, version=version)
    with pytest.raises(TableExistsError):
        HudiTable.create(path, **FIELDS)
    for first in (0, 10, 20):
        table.upsert(rows(first))
    table.delete(rows(0).slice(0, 5))
    if kind == "MERGE_ON_READ":
        table.compact()
    table.clean()
    expected = {f"k{number}": number for number in range(5, 50)}
    for seen in (table, HudiTable.open(path)):
        result = seen.scan().to_arrow()
        assert dict(zip(result.column("id").to_pylist(), result.column("v").to_pylist(), strict=True)) == expected
    filtered = HudiTable.open(path).scan(row_filter="p = 'p1'").to_arrow()
    assert sorted(filtered.column("v").to_pylist()) == [n for n in range(5, 50) if n % 3 == 1]


def test_a_name_node_that_does_not_answer_is_said_to() -> None:
    storage = Storage("hdfs://127.0.0.1:1/lake", {"retry_timeout": 1})
    with pytest.raises(StoreUnreachableError, match="no answer from HDFS"):
        storage.read_bytes("x")


# -- where blocks are --------------------------------------------------------------------------------------------------


def web_options(server: HdfsServer) -> dict[str, str]:
    """Options with the name node's web address, which may take its time."""
    return {"dfs.namenode.http-address": server.web, "request_timeout": "300"}


@pytest.fixture(scope="module")
def spread_table(server: HdfsServer) -> HudiTable:
    """A table with a file of several blocks, which two nodes have, opened with the name node's web address."""
    options = web_options(server)
    table = HudiTable.create(f"{server.uri}/located", storage_options=options, **FIELDS)
    names = pa.array([os.urandom(1 << 10).hex() for _ in range(3000)])
    table.upsert(rows(0))
    more = {"id": [f"x{i}" for i in range(3000)], "p": ["p1"] * 3000, "ts": [1] * 3000, "v": [1] * 3000, "t": names}
    table.bulk_insert(pa.table(more), {"hoodie.parquet.block.size": str(1 << 20)})
    return table.refresh()


def most_held(blocks: list[tuple[int, int, tuple[str, ...]]], start: int, length: int) -> set[str]:
    """The nodes that have most of a range, by Hadoop's own client's answer."""
    held: dict[str, int] = {}
    for offset, size, hosts in blocks:
        share = min(offset + size, start + length) - max(offset, start)
        for host in hosts if share > 0 else ():
            held[host] = held.get(host, 0) + share
    return {host for host, size in held.items() if size == max(held.values())}


@pytest.mark.long
def test_splits_of_the_connector_name_the_hosts_that_hadoop_names(server: HdfsServer, spread_table: HudiTable) -> None:
    with spread_table.scan().splits(options=SplitOptions(target_size=1 << 20)) as loader:
        splits = list(loader)
    assert any(split.is_part for split in splits)
    named = set()
    for split in splits:
        blocks = server.blocks(f"/located/{split.path}")
        assert len(split.hosts) == 1 and set(split.hosts) <= most_held(blocks, split.start, split.length)
        named |= set(split.hosts)
    assert named <= {"node1.test", "node2.test"}
    assert pickle.loads(pickle.dumps(splits)) == splits
    assert sum(len(list(spread_table.scan().page_sources().read(split))) > 0 for split in splits) == len(splits)


@pytest.mark.long
def test_splits_of_the_input_formats_name_them_too(server: HdfsServer, spread_table: HudiTable) -> None:
    conf = {"mapreduce.input.fileinputformat.inputdir": f"{server.uri}/located", "dfs.blocksize": "1048576"}
    web = web_options(server)
    for kind in (HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat):
        splits = kind(JobConf(conf), storage_options=web).get_splits(8)
        assert len(splits) > 4
        for split in splits:
            blocks = server.blocks(split.path.removeprefix(server.uri))
            assert len(split.hosts) == 1 and set(split.hosts) <= most_held(blocks, split.start, split.length)
        assert all(split.hosts == () for split in kind(JobConf(conf)).get_splits(8))  # nobody said where to ask
    combined = HoodieCombineHiveInputFormat(
        JobConf({**conf, "mapreduce.input.fileinputformat.split.minsize.per.node": "1"}), storage_options=web
    ).get_splits()
    assert {host for split in combined for host in split.hosts} <= {"node1.test", "node2.test"}
    for split in combined:
        for part in split.splits if split.hosts else ():
            first = next(iter(server.blocks(part.path.removeprefix(server.uri))[part.start >> 20 :]))
            assert set(split.hosts) <= set(first[2])


def test_a_name_node_that_does_not_tell_is_asked_once(server: HdfsServer, spread_table: HudiTable, caplog) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    web = {"dfs.namenode.http-address": f"127.0.0.1:{port}"}
    table = HudiTable.open(f"{server.uri}/located", web)
    with table.scan().splits() as loader:
        splits = list(loader)
    assert splits and all(split.hosts == () for split in splits)
    assert sum("no name node tells" in record.message for record in caplog.records) == 1


def test_name_nodes_of_a_service_are_asked_in_turn(
    server: HdfsServer, spread_table: HudiTable, tmp_path, monkeypatch
) -> None:
    """One is down; addresses stand in the files of HADOOP_CONF_DIR, as clients of Hadoop have them."""
    names = {
        "dfs.nameservices": "ours",
        "dfs.ha.namenodes.ours": "a,b",
        "dfs.namenode.rpc-address.ours.a": "127.0.0.1:1",
        "dfs.namenode.rpc-address.ours.b": server.uri.removeprefix("hdfs://"),
        "dfs.namenode.http-address.ours.a": "127.0.0.1:1",
        "dfs.namenode.http-address.ours.b": server.web,
    }
    entries = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in names.items())
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{entries}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with HudiTable.open("hdfs://ours/located", {"request_timeout": "300"}).scan().splits() as loader:
        assert all(len(split.hosts) == 1 for split in loader)
