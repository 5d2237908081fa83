"""Pickles of tables on S3 and of what is planned of them: no secret in them, read here and in other processes."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.connector import HudiTableHandle
from hudi_hive.input_format import JobConf
from hudi_hive.plan import QueryType
from hudi_hive.read.remote import SliceRows
from integration.storage.shared.read_pickles import READERS, answers
from integration.support.stores.s3 import ACCESS_KEY, SECRET_KEY, S3Server

EXPECTED = [{"id": "a", "v": 3}, {"id": "b", "v": 2}]
_ROOT = Path(__file__).parents[2]


def _objects(path: str, s3: S3Server) -> dict[str, Any]:
    """What is pickled, by name."""
    table = HudiTable.open(path, s3.options())
    client, plan = table.client, table.scan().plan()
    handle = HudiTableHandle("db", "t", client.base_path, "MERGE_ON_READ", QueryType.SNAPSHOT, (), None, client=client)
    with table.scan().splits() as loader:
        splits = list(loader)
    return {
        "table": table,
        "refreshed table": table,
        "scan": table.scan(),
        "plan and storage": (plan, client.storage),
        "splits and handle": (handle, splits),
        "job": JobConf({"mapreduce.input.fileinputformat.inputdir": path, **s3.hadoop()}),
        "slices": SliceRows(
            plan, client.storage.storage_options, pa.schema([("id", pa.string()), ("v", pa.int64())]), ()
        ),
    }


def test_tables_and_plans_are_pickled_without_secrets_and_read_again(s3: S3Server, tmp_path: Path) -> None:
    path, options = s3.folder("s3a"), s3.options()
    table = HudiTable.create(path, name="t", record_keys=["id"], table_type="MERGE_ON_READ", storage_options=options)
    table.upsert(pa.table({"id": ["a", "b"], "v": [1, 2]}))
    table.refresh().upsert(pa.table({"id": ["a"], "v": [3]}))
    pickles = {name: pickle.dumps(one) for name, one in _objects(path, s3).items()}
    leaky = [name for name, data in pickles.items() if ACCESS_KEY.encode() in data or SECRET_KEY.encode() in data]
    assert set(pickles) == set(READERS) and not leaky
    expected = dict.fromkeys(pickles, EXPECTED)
    assert answers(pickles) == expected

    file = tmp_path / "pickles"
    file.write_bytes(pickle.dumps(pickles))
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    run = subprocess.run(
        [sys.executable, "-m", "integration.storage.shared.read_pickles", str(file)],
        input=json.dumps({"options": options, "environment": s3.environment()}),
        capture_output=True,
        text=True,
        check=False,
        cwd=_ROOT,
        env={**environment, "HOME": str(tmp_path), "PYTHONPATH": str(_ROOT)},
    )
    assert run.returncode == 0, run.stderr
    without, given, of_environment = map(json.loads, run.stdout.splitlines())
    assert (given, of_environment) == (expected, expected)
    assert set(without) == set(pickles) and SECRET_KEY not in run.stdout + run.stderr
    assert not {name: said for name, said in without.items() if "pickles have no secrets" not in said}
