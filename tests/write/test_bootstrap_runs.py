"""Bootstraps of ours: the sources of real Hudi's fixtures become tables with the rows of theirs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    PartitionValueError,
    SchemaError,
    TableExistsError,
    UnsupportedFormatError,
    WriteError,
)
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap import BootstrapIndex, is_skeleton
from hudi_hive.write.bootstrap import bootstrap
from tests.support.bootstrapped import unzip_bootstrapped
from tests.support.fixture_tables import encode_rows, expected
from tests.support.running.long import with_long_cases

SELECTOR = "hoodie.bootstrap.mode.selector"
PACKAGE = "org.apache.hudi.client.bootstrap.selector"
MODES = {
    "metadata": ({}, {"00000000000001"}),
    "full": ({SELECTOR: f"{PACKAGE}.FullRecordBootstrapModeSelector"}, {"00000000000002"}),
    "mixed": (
        {
            SELECTOR: f"{PACKAGE}.BootstrapRegexModeSelector",
            f"{SELECTOR}.regex": ".*eu.*",
            f"{SELECTOR}.regex.mode": "METADATA_ONLY",
        },
        {"00000000000001", "00000000000002"},
    ),
}


def options_of(name, version):
    config = expected(name)["table_config"]
    fields = expected(name)["partition_fields"]
    return {
        "hoodie.table.name": "made",
        "hoodie.write.table.version": str(version),
        "hoodie.datasource.write.table.type": expected(name)["table_type"],
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": ",".join(fields),
        "hoodie.datasource.write.hive_style_partitioning": config["hoodie.datasource.write.hive_style_partitioning"],
    }


def source_rows(table):
    source = table.with_name(table.name + "_source")
    return sum(pq.ParquetFile(path).metadata.num_rows for path in source.rglob("*.parquet"))


CASES = [
    (name, mode, version)
    for name in ("cow_metadata_only", "mor_plain_folders")
    for mode in MODES
    for version in (6, 8, 9)
]


@pytest.mark.parametrize(("name", "mode", "version"), with_long_cases(CASES[::5], CASES))
def test_rows_are_those_of_the_source(name, mode, version, tmp_path):
    fixture = f"bootstrapped/v{version}_{name}"
    theirs = unzip_bootstrapped(fixture, tmp_path)
    source, path = f"{theirs}_source", tmp_path / "made"
    more, instants = MODES[mode]
    report = bootstrap(source, path, options_of(fixture, version) | more)
    assert set(report.instants) == instants and report.rows == source_rows(theirs)
    table = HudiTable.open(path)
    rows = table.scan().to_arrow()
    data = [column for column in rows.column_names if not column.startswith("_hoodie_")]
    first = expected(fixture)["commits"][0]["requested"]
    hudis = HudiTable.open(theirs).scan(as_of=first).to_arrow()
    assert sorted(encode_rows(rows, data), key=str) == sorted(encode_rows(hudis, data), key=str)
    meta = ["_hoodie_record_key", "_hoodie_partition_path"]
    assert sorted(encode_rows(rows, meta)) == sorted(encode_rows(hudis, meta))
    paths = table.scan().plan().slices["path"].to_pylist()
    assert sum(map(is_skeleton, paths)) == report.skeletons
    assert (report.skeletons > 0) == ("00000000000001" in instants)
    if report.skeletons:
        assert len(BootstrapIndex(Storage(path)).sources()) == report.skeletons
    table.upsert(rows.slice(0, 3).drop_columns([c for c in rows.column_names if c.startswith("_hoodie_")]))
    assert HudiTable.open(path).scan().count() == rows.num_rows
    begin = HudiTable.open(path).timeline.write_instants()[-2]
    assert HudiTable.open(path).scan(begin=begin.completed or begin.requested).count() == 3


def refused(tmp_path, kind, match, change=lambda source: None, **more):
    tmp_path = Path(tempfile.mkdtemp(dir=tmp_path))
    name = "bootstrapped/v8_cow_metadata_only"
    theirs = unzip_bootstrapped(name, tmp_path)
    source = theirs.with_name(theirs.name + "_source")
    change(source)
    options = options_of(name, 8) | {key.replace("__", "."): value for key, value in more.items()}
    with pytest.raises(kind, match=match):
        bootstrap(source, tmp_path / "made", options)
    assert not (tmp_path / "made").exists()


def test_what_is_refused_leaves_nothing(tmp_path):
    def other_columns(source):
        pq.write_table(pa.table({"id": ["a"], "more": [1]}), source / "region=eu" / "z.parquet")

    def another_format(source):
        (source / "region=eu" / "rows.csv").write_text("id\n")

    def null_keys(source):
        for path in source.rglob("region=us/*.parquet"):
            rows = pq.read_table(path, partitioning=None)
            pq.write_table(rows.set_column(0, rows.schema.field(0), pa.nulls(rows.num_rows, pa.string())), path)

    refused(tmp_path, InvalidOptionError, "mode.selector", **{SELECTOR: "my.Selector"})
    refused(tmp_path, InvalidOptionError, "regex", **{SELECTOR: "BootstrapRegexModeSelector", f"{SELECTOR}.regex": "("})
    refused(tmp_path, InvalidOptionError, "column.stats", **{"hoodie.metadata.index.column.stats.enable": "true"})
    refused(tmp_path, SchemaError, "different columns", other_columns)
    refused(tmp_path, UnsupportedFormatError, "not Parquet", another_format)
    refused(tmp_path, HudiHiveError, "null|record key", null_keys)
    refused(tmp_path, HudiHiveError, "hoodie.bootstrap.base.path", **{"hoodie.bootstrap.base.path": "/elsewhere"})
    refused(tmp_path, InvalidOptionError, "skeletons", **{"hoodie.table.base.file.format": "ORC"})
    refused(tmp_path, PartitionValueError, "partition", **{"hoodie.datasource.write.partitionpath.field": ""})


def test_rows_of_another_partition(tmp_path):
    name = "bootstrapped/v8_mor_plain_folders"
    theirs = unzip_bootstrapped(name, tmp_path)
    source = theirs.with_name(theirs.name + "_source")
    (source / "asia" / "2023").rename(source / "asia" / "1999")
    with pytest.raises(WriteError, match="rows of a file of the source are of the partitions"):
        bootstrap(source, tmp_path / "made", options_of(name, 8))
    assert not (tmp_path / "made").exists()
    shutil.rmtree(source / "asia")
    bootstrap(source, tmp_path / "made", options_of(name, 8))
    with pytest.raises(TableExistsError):
        bootstrap(source, tmp_path / "made", options_of(name, 8))


KILLED = """
import json, os, sys
from hudi_hive.write.bootstrap import run

run._Bootstrap.write_whole = lambda *_: os._exit(9)
run.bootstrap(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
"""


def test_what_a_killed_bootstrap_left_is_removed_by_the_next(tmp_path):
    """It had committed its skeletons, and not the rows of the other partitions."""
    name = "bootstrapped/v8_cow_metadata_only"
    theirs = unzip_bootstrapped(name, tmp_path)
    source, path, options = f"{theirs}_source", tmp_path / "made", options_of(name, 8) | MODES["mixed"][0]
    killed = subprocess.run([sys.executable, "-c", KILLED, source, str(path), json.dumps(options)], check=False)
    assert killed.returncode == 9
    assert [one.requested for one in HudiTable.open(path).timeline.write_instants()] == ["00000000000001"]
    report = bootstrap(source, path, options)
    assert set(report.instants) == MODES["mixed"][1]
    assert HudiTable.open(path).scan().count() == report.rows == source_rows(theirs)
