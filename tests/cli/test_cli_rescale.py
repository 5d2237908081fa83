"""``hudi-hive table rescale``: tells, rescales, shows rules and takes them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from hudi_hive.cli.main import cli
from hudi_hive.table_api import HudiTable

OPTIONS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", "hoodie.clean.automatic": "false"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    columns = {"id": [f"k{number}" for number in range(80)], "ts": [1] * 80, "day": ["2024", "2025"] * 40}
    fields = {"record_keys": ["id"], "partition_fields": ["day"], "ordering_fields": ["ts"]}
    HudiTable.create(tmp_path / "t", name="t", **fields).write("upsert", pa.table(columns), OPTIONS)
    return tmp_path / "t"


def run(path: Path, *arguments: str, answer: str | None = None) -> Result:
    command = ["table", "rescale", str(path), "--format", "json", *arguments]
    return CliRunner().invoke(cli, command, input=answer)


def shown(path: Path, *arguments: str) -> Any:
    result = run(path, *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def buckets(path: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for partition in HudiTable.open(path).scan().plan().slices["partition"].to_pylist():
        counts[partition] = counts.get(partition, 0) + 1
    return counts


def test_partitions_are_rescaled_and_taken_back(path: Path) -> None:
    planned = shown(path, "--overwrite", "2024,5", "--buckets", "2", "--dry-run")
    assert planned == {"planned": {"instant": None}, "partitions": [{"partition": "2024", "buckets": 5}]}
    assert buckets(path) == {"2024": 2, "2025": 2}
    done = shown(path, "--overwrite", "2024,5", "--buckets", "2")
    assert done["partitions"] == planned["partitions"] and buckets(path) == {"2024": 5, "2025": 2}
    first = done["rescaled"]["instant"]
    added = shown(path, "--add", "2025,3")["rescaled"]["instant"]
    assert buckets(path) == {"2024": 5, "2025": 3}
    assert shown(path) == [
        {"instant": first, "rules": "2024,5", "other partitions": 2},
        {"instant": added, "rules": "2025,3;2024,5", "other partitions": 2},
    ]
    assert shown(path, "--rollback", added, "--yes")["instant"] == added
    assert buckets(path) == {"2024": 5, "2025": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--overwrite", "2024,5", "--add", "2024,5"], "do not go together"),
        (["--overwrite", "2024,5"], "nothing tells how many"),
        (["--add", "2024,5"], "there are no rules"),
        (["--overwrite", "2024,5", "--buckets", "3"], "which is in bucket"),
        (["--rollback", "1"], "nothing was done"),
    ],
)
def test_what_is_refused(path: Path, arguments: list[str], message: str) -> None:
    result = run(path, *arguments, answer="n\n")
    assert result.exit_code and message in f"{result.output} {result.exception}"
    assert buckets(path) == {"2024": 2, "2025": 2} and shown(path) == []
