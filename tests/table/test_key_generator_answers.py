"""Keys and paths are those of real Hudi: what each release's own key generator classes answered to the same rows."""

from __future__ import annotations

import functools
import json
import time

import pyarrow as pa
import pytest

from hudi_hive.errors import HudiHiveError
from hudi_hive.options import key_generator_name
from hudi_hive.table import TableConfig
from hudi_hive.table.keys.key_generator import KeyGenerator
from tests.support.tables.key_cases import ANSWERS, CASES, KEYS, PATHS, RELEASES


@pytest.fixture(autouse=True)
def in_utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@functools.cache
def answers_of(release):
    return json.loads((ANSWERS / f"{release}.json").read_text(encoding="utf-8"))


def generator_of(version, item):
    options = dict(item["options"])
    table = {
        "hoodie.table.name": "t",
        "hoodie.table.version": str(version),
        "hoodie.table.recordkey.fields": options[KEYS],
        "hoodie.table.partition.fields": options[PATHS],
        "hoodie.table.keygenerator.type": key_generator_name(item["generator"]),
    }
    return KeyGenerator.of(TableConfig.from_properties(table | options), options)


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("version", RELEASES)
def test_rows_get_the_keys_and_paths_of_the_release(version, number):
    item = CASES[number]
    answers = answers_of(RELEASES[version])[number]
    if all("No enum constant" in answer.get("error", "") for answer in answers):
        with pytest.raises(HudiHiveError, match="not known to the releases"):
            generator_of(version, item)
        return
    generator = generator_of(version, item)
    good = [row for row, answer in enumerate(answers) if "key" in answer]
    rows = item["table"].take(pa.array(good, pa.int64()))
    assert generator.record_keys(rows).to_pylist() == [answers[row]["key"] for row in good]
    assert generator.partition_paths(rows).to_pylist() == [answers[row]["path"] for row in good]
    for row, answer in enumerate(answers):
        if "key" not in answer:
            one = item["table"].slice(row, 1)
            with pytest.raises(HudiHiveError):
                generator.record_keys(one)
                generator.partition_paths(one)


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("encoded", ["false", "true"])
def test_sql_writes_times_into_paths(encoded):
    """Real Hudi's SQL key generator makes the same paths of timestamps, whatever the table says of encoding."""
    table = {
        "hoodie.table.name": "t",
        "hoodie.table.version": "8",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "at,p",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": encoded,
    }
    generator = KeyGenerator.of(
        TableConfig.from_properties(table), {"hoodie.hive.partition.timestamps.as.text": "true"}
    )
    moments = pa.array([1704104430500000, None, -1500000], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": ["1", "2", "3"], "at": moments, "p": ["x", "y", "x"]})
    assert generator.partition_paths(rows).to_pylist() == [
        "at=2024-01-01 10%3A20%3A30/p=x",
        "at=__HIVE_DEFAULT_PARTITION__/p=y",
        "at=1969-12-31 23%3A59%3A58/p=x",
    ]
    has_time, has_part = generator.matcher(rows[:1], {"at"}), generator.matcher(rows[:1], {"p"})
    paths = ["at=2024-01-01 10%3A20%3A30/p=z", "at=2024-01-01 10%3A20%3A31/p=x", "at=a.b/p=x"]
    assert [has_time(path) for path in paths] == [True, False, False]
    assert [has_part(path) for path in paths] == [False, True, True]
