"""``hudi-hive sql`` as a process of its own, over tables that our sync left in a real metastore."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hudi_hive import HudiTable
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from tests.support.fixture_tables import unzip_fixture

pytestmark = pytest.mark.jvm

DATABASE = "sql_it"
COMMAND = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()", "sql"]


@pytest.fixture(scope="module")
def synced(metastore: HiveMetastore, metastore_uri: str) -> str:
    """The database, in which ``visits`` and the three names of ``events`` are synced."""
    prefix = "hoodie.datasource.hive_sync."
    for name, fixture in (("visits", "v8_cow_part_mdt"), ("events", "v8_mor_event_time")):
        options = {
            "hoodie.datasource.meta.sync.base.path": str(unzip_fixture(fixture)),
            prefix + "database": DATABASE,
            prefix + "table": name,
            prefix + "metastore.uris": metastore_uri,
        }
        HiveSyncTool(HiveSyncConfig.from_options(options)).sync()
    return DATABASE


def run(uri: str, statement: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, statement, "--metastore-uris", uri, "--format", "json", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_sql_over_synced_tables(synced: str, metastore_uri: str, tmp_path: Path) -> None:
    visits = HudiTable.open(unzip_fixture("v8_cow_part_mdt")).scan().to_arrow()
    events = HudiTable.open(unzip_fixture("v8_mor_event_time"))
    counts = f"""SELECT (SELECT count(*) FROM {synced}.visits WHERE city = 'lima') AS lima,
                        (SELECT count(*) FROM {synced}.events_rt) AS merged,
                        (SELECT count(*) FROM {synced}.events_ro) AS base"""
    done = run(metastore_uri, counts)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [
        {
            "lima": visits["city"].to_pylist().count("lima"),
            "merged": events.scan().count(),
            "base": events.scan(query_type="read_optimized").count(),
        }
    ]
    listed = run(metastore_uri, "SHOW TABLES", "--database", synced)
    assert {row["name"] for row in json.loads(listed.stdout)} >= {"visits", "events_ro", "events_rt"}
    joined = f"SELECT v.page FROM {synced}.visits v JOIN {synced}.visits w USING (visit_id, city)"
    out = tmp_path / "pages.parquet"
    assert json.loads(run(metastore_uri, joined, "-o", str(out)).stdout)["rows"] == visits.num_rows
    refused = run(metastore_uri, f"DROP TABLE {synced}.visits")
    assert refused.returncode == 1 and refused.stderr.startswith("error: DROP is not supported")
    assert refused.stderr.count("\n") == 1 and refused.stdout == ""
