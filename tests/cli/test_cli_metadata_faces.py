"""The metadata table's faces: listings of sub paths, their fallback, sync state, validation of writes, metrics."""

from __future__ import annotations

import json
import shutil
from urllib.request import urlopen

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli.main import cli
from hudi_hive.errors import InvalidOptionError, MetadataTableError
from hudi_hive.metadata import list_committed, list_partitions
from hudi_hive.metrics import METADATA_METRICS
from tests.support.options.write_cases import free_port

OFF = {"hoodie.metadata.enable": "false"}
VALIDATE = {"hoodie.metadata.validate": "true"}
DAYS = ("2024/01/01", "2024/01/02", "2024/010/01", "2025/01/01")


def put(table, *ids, day=DAYS[0], **options):
    rows = pa.table({"id": list(map(str, ids)), "day": [day] * len(ids), "ts": [1] * len(ids)})
    return table.write("upsert", rows, {"hoodie.parquet.small.file.limit": "0", **options})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table of nested partitions with a metadata table."""
    path = tmp_path_factory.mktemp("faces") / "t"
    table = HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["day"])
    rows = pa.table({"id": list("abcd"), "day": list(DAYS), "ts": [1] * 4})
    table.write("upsert", rows)
    return path


@pytest.fixture
def copied(made, tmp_path):
    return HudiTable.open(shutil.copytree(made, tmp_path / "t"))


def values():
    return dict(METADATA_METRICS.snapshot())


def counted(before):
    """What was counted since."""
    after = values()
    return {
        name.split(".")[1]: int(after[name] - before.get(name, 0))
        for name in after
        if name.endswith(".count") and after[name] != before.get(name, 0)
    }


def run(*arguments, code=0):
    result = CliRunner().invoke(cli, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


# -- sub paths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (["2024/01"], ["2024/01/01", "2024/01/02"]),  # not 2024/010
        (["2024"], ["2024/01/01", "2024/01/02", "2024/010/01"]),
        (["/2025/", "2024/01/02"], ["2024/01/02", "2025/01/01"]),
        (["2024", "2024/01"], ["2024/01/01", "2024/01/02", "2024/010/01"]),
        (["2024/01/01"], ["2024/01/01"]),
        (["nowhere"], []),
        ([".hoodie"], []),
        ([""], sorted(DAYS)),
    ],
)
def test_partitions_below_paths_by_the_metadata_table_and_by_folders(made, below, expected):
    table = HudiTable.open(made)
    assert table.metadata.partitions(below) == expected
    assert table.partitions(below) == expected
    assert table.partitions([f"{table.path}/{path.strip('/')}" for path in below]) == expected
    assert sorted(set(table.metadata.files(below=below).column("partition").to_pylist())) == expected
    assert all("/.hoodie/" in path for path in table.client.counters.listed)
    folders = table.client.with_listing(None)
    assert list_partitions(folders, below) == (expected, "directory listing")
    by_name = [("partition", "ascending"), ("name", "ascending")]
    if expected:
        files = list_committed(folders, expected).sort_by(by_name)
        assert files.equals(table.metadata.files(below=below).sort_by(by_name))


def test_folders_are_listed_below_the_path_alone(made):
    client = HudiTable.open(made).client.with_listing(None)
    _ = client.timeline
    with client.counters.measure() as cost:
        assert list_partitions(client, ["2024/01"]).partitions == ["2024/01/01", "2024/01/02"]
    assert cost["lists"] == 3  # the folder and its two partitions


# -- commands ------------------------------------------------------------------------------------------------------


def test_lists_fall_back_to_folders_with_a_note(copied):
    path = copied.client.storage.root
    files = json.loads(run("metadata", "list-files", path, "--format", "json").stdout)
    copied.metadata.delete()
    listed = run("metadata", "list-partitions", path, "--below", "2024/01", "--format", "json")
    assert json.loads(listed.stdout) == [{"partition": "2024/01/01"}, {"partition": "2024/01/02"}]
    assert "directory listing (the metadata table is off)" in listed.stderr
    assert json.loads(run("metadata", "list-files", path, "--format", "json").stdout) == files
    one = run("metadata", "list-files", path, "--below", "2025", "--partition", "2024/01/01", code=1)
    assert "knows no such partition: '2024/01/01'" in str(one.exception)


def test_stats_tell_whether_it_is_in_sync(copied):
    path = copied.client.storage.root
    shown = json.loads(run("metadata", "stats", path, "--format", "json").stdout)["metadata table"]
    assert shown["isInSync"] is True
    # A writer that keeps no metadata table and does not say so in the properties.
    config = copied.client.storage.read_bytes(".hoodie/hoodie.properties")
    metadata = shutil.copytree(f"{path}/.hoodie/metadata", f"{path}.kept")
    put(copied, "e", **OFF)
    shutil.copytree(metadata, f"{path}/.hoodie/metadata")
    copied.client.storage.replace_bytes(".hoodie/hoodie.properties", config)
    result = run("metadata", "stats", path, "--format", "json")
    after = json.loads(result.stdout)["metadata table"]
    assert after == {**shown, "isInSync": False}
    assert "lacks the completed" in result.stderr
    status = HudiTable.open(path).metadata.status()
    assert not status.in_sync and status.error is not None and status.by_partition.num_rows


def test_creation_tells_how_long_it_took(copied):
    path = copied.client.storage.root
    copied.metadata.delete()
    before = values()
    shown = json.loads(run("metadata", "create", path, "--format", "json").stdout)
    assert shown["durationInMs"] >= 0 and "files" in shown["made"]
    assert counted(before)["initialize"] == 1


def test_another_folder_of_the_metadata_table_is_refused(copied):
    path = copied.client.storage.root
    result = run("metadata", "set", path, "--on", "--metadata-dir", "/elsewhere", code=1)
    assert isinstance(result.exception, InvalidOptionError) and "--metadata-dir=/elsewhere" in str(result.exception)
    run("metadata", "set", path, "--on", "--metadata-dir", f"{path}/.hoodie/metadata/")


def test_its_records_are_read_as_a_table(made):
    rows = json.loads(run("read", f"{made}/.hoodie/metadata", "--where", "type = 1", "--format", "json").stdout)
    assert [row["key"] for row in rows] == ["__all_partitions__"]


# -- validation of writes ------------------------------------------------------------------------------------------


def test_a_write_that_validates_refuses_a_wrong_metadata_table(copied):
    assert not put(copied, "e", **VALIDATE).failed
    victim = next(iter(copied.scan("day = '2025/01/01'").plan().slices.column("path").to_pylist()))
    copied.client.storage.delete(victim)
    before = copied.refresh().timeline.instants
    with pytest.raises(MetadataTableError, match=victim) as refused:
        put(copied, "f", **VALIDATE)
    assert "differ: 1 differences" in str(refused.value)
    assert copied.refresh().timeline.instants == before
    assert not put(copied, "f").failed  # without


def test_a_write_reports_what_differs_behind_it(copied, monkeypatch):
    from hudi_hive.metadata.writer import MetadataWriter

    apply = MetadataWriter.apply

    def forgetful(self, instant, action, changes, **more):
        apply(self, instant, action, type(changes)(), **more)

    monkeypatch.setattr(MetadataWriter, "apply", forgetful)
    report = put(copied, "e", **VALIDATE)
    assert "null bytes" not in str(report.failed) and "differ" in str(report.failed["metadata validation"])


def test_a_metadata_table_that_is_behind_is_made_anew_by_a_write_that_validates(copied):
    path = copied.client.storage.root
    config = copied.client.storage.read_bytes(".hoodie/hoodie.properties")
    kept = shutil.copytree(f"{path}/.hoodie/metadata", f"{path}.kept")
    put(copied, "e", **OFF)
    shutil.copytree(kept, f"{path}/.hoodie/metadata")
    copied.client.storage.replace_bytes(".hoodie/hoodie.properties", config)
    assert not put(HudiTable.open(path), "f", **VALIDATE).failed
    assert HudiTable.open(path).metadata.validate().is_valid


# -- metrics -------------------------------------------------------------------------------------------------------


def test_metrics_count_first_creations_and_what_is_brought_in(tmp_path):
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], partition_fields=["day"])
    before = values()
    put(table, "a")
    assert {name: counted(before).get(name) for name in ("initialize", "sync")} == {"initialize": 1, "sync": 1}
    put(table, "b")
    assert {name: counted(before).get(name) for name in ("initialize", "sync")} == {"initialize": 1, "sync": 2}
    before = values()
    for _ in range(3):
        HudiTable.open(tmp_path / "t").scan().to_arrow()
    read = counted(before)
    assert read.keys().isdisjoint({"initialize", "sync"}) and read["lookup_files"] == 3
    table.rollback(table.timeline.last_completed_write().requested)
    assert counted(before)["sync"] == 1


def test_metrics_are_printed_by_any_command(made):
    result = run("read", made, "--metrics", "--format", "json")
    assert len(json.loads(result.stdout)) == 4
    assert "HoodieMetadata.lookup_files.count" in result.stderr
    assert "HoodieMetadata.lookup_files.duration" in run("metadata", "stats", "--metrics", made).stderr


def test_reporters_of_a_write(copied, tmp_path, capsys):
    on = {"hoodie.metrics.on": "true"}
    kind = "hoodie.metrics.reporter.type"
    put(copied, "e", **on, **{kind: "CONSOLE"})
    printed = dict(line.split() for line in capsys.readouterr().err.splitlines() if line.startswith("HoodieMetadata."))
    assert int(printed["HoodieMetadata.sync.count"]) >= 1
    file = tmp_path / "metrics.json"
    put(copied, "f", **on, **{kind: "json", "hoodie.metrics.json.path": str(file)})
    written = json.loads(file.read_bytes())
    assert written["HoodieMetadata.sync.count"] == int(printed["HoodieMetadata.sync.count"]) + 1
    stats = {row["partition"]: row for row in copied.metadata.stats().to_pylist()}
    assert written["HoodieMetadata.files.totalLogFileSizeInBytes"] == stats["files"]["log_bytes"] > 0
    assert written["HoodieMetadata.files.baseFileCount"] == stats["files"]["base_files"]
    pytest.importorskip("prometheus_client")
    port = free_port()
    put(copied, "g", **on, **{kind: "PROMETHEUS", "hoodie.metrics.prometheus.port": str(port)})
    scraped = urlopen(f"http://127.0.0.1:{port}/metrics").read().decode().splitlines()
    assert any(line.startswith('hudi_metadata_operations_total{action="sync"}') for line in scraped)
    assert any(line.startswith('hudi_metadata_size{partition="files",size="baseFileCount"}') for line in scraped)
    served = put(copied, "h", **on, **{kind: "PROMETHEUS", "hoodie.metrics.prometheus.port": str(port)})
    assert not served.failed


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hoodie.metrics.reporter.type": "GRAPHITE"}, "hoodie.metrics.reporter.type='GRAPHITE'"),
        ({"hoodie.metrics.reporter.type": "DATADOG"}, "'DATADOG' is not one of CONSOLE, JSON, PROMETHEUS"),
        ({}, "needs hoodie.metrics.reporter.type"),
        ({"hoodie.metrics.reporter.type": "JSON"}, "hoodie.metrics.json.path"),
        ({"hoodie.metrics.reporter.type": "JSON", "hoodie.metrics.json.path": "s3://b/m.json"}, "local path"),
    ],
)
def test_other_reporters_are_refused_before_anything_is_written(copied, options, named):
    before = copied.timeline.instants
    with pytest.raises(InvalidOptionError, match=named.replace(".", "[.]")):
        put(copied, "e", **{"hoodie.metrics.on": "true", **options})
    assert copied.refresh().timeline.instants == before
