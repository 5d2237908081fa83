"""What tests of input format golden share with others."""

from __future__ import annotations

import functools
import json
import tempfile
import zipfile
from pathlib import Path

from hudi_hive.input_format import JobConf
from tests.support.fixture_tables import GOLDEN

META = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
]


COMMON = {
    "columns": ",".join([*META, "id", "ts", "val", "country"]),
    "hive.io.file.readcolumn.names": "_hoodie_commit_time,id,ts,val,country",
    "hive.io.file.readcolumn.ids": "0,5,6,7,8",
    "partition_columns": "country",
}


@functools.cache
def scenarios():
    with open(GOLDEN / "70_input_formats.json", encoding="utf-8") as stream:
        return {scenario["scenario"]: scenario for scenario in json.load(stream)["scenarios"]}


@functools.cache
def base_path():
    folder = tempfile.TemporaryDirectory(prefix="hudi_hive_if_")
    base_path.keep = folder  # removed when the process ends
    with zipfile.ZipFile(GOLDEN / "inputs-if.zip") as archive:
        archive.extractall(folder.name)
    return Path(folder.name)


COW = [name for name, scenario in scenarios().items() if scenario["format"] == "HoodieParquetInputFormat"]


REALTIME = [name for name in scenarios() if name not in COW]


def job(scenario):
    paths = [path.replace("BASE_PATH", str(base_path())) for path in scenario["input_paths"]]
    return JobConf({**COMMON, **scenario["job"]}).with_input_paths(paths)
