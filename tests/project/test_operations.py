"""Reads, writes, services and syncs are counted, and are spans under OpenTelemetry; the page lists all names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry

from hudi_hive import HudiHiveError, HudiTable
from hudi_hive.metrics import (
    AMOUNTS,
    COUNTED,
    KINDS,
    LABELS,
    METADATA_ACTIONS,
    OPERATION_METRICS,
    register_operations,
)
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "observe.md").read_text(encoding="utf-8")
DASHBOARD = json.loads((ROOT / "docker" / "grafana" / "hudi-hive.json").read_text(encoding="utf-8"))
SOURCE = (ROOT / "hudi_hive" / "metrics" / "operations.py").read_text(encoding="utf-8")
_SET = r'"(hudi\.[a-z]+|error\.type)": |set_attribute\("(hudi\.[a-z]+|error\.type)"'
SPAN_ATTRIBUTES = {name for found in re.findall(_SET, SOURCE) for name in found if name}
PROMETHEUS = {f"{name}_total" for name in (*COUNTED, *(f"hudi_operation_{amount}" for amount in AMOUNTS))}
OF_METADATA = {"hudi_metadata_operations_total", "hudi_metadata_operation_seconds_total", "hudi_metadata_size"}
ROWS = pa.table({"id": ["a", "b"], "ts": [1, 1]})


def work(folder, metastore_uri):
    """A write, a service, a read that is cut short, one that fails, and a sync."""
    table = HudiTable.create(folder / "t", name="t", record_keys=["id"], ordering_fields=["ts"])
    report = table.upsert(ROWS)
    table.savepoint()
    next(iter(table.scan().to_batches()))
    with pytest.raises(HudiHiveError):
        table.upsert(pa.table({"id": ["a"]}), options={"hoodie.datasource.write.operation": "upsert"})
    config = HiveSyncConfig(base_path=str(folder / "t"), database="d", table="t", metastore_uris=metastore_uri)
    HiveSyncTool(config).sync()
    return report


@pytest.fixture
def metastore(tmp_path):
    with FakeMetastore(tmp_path / "warehouse") as running:
        yield running


def test_operations_are_counted(tmp_path, metastore):
    before = OPERATION_METRICS.snapshot()
    work(tmp_path, metastore.uri)
    after = OPERATION_METRICS.snapshot()
    added = {key: value - before.get(key, 0) for key, value in after.items() if value != before.get(key, 0)}
    assert added["write", "upsert", "ok", "operations"] == 1
    assert added["write", "upsert", "ok", "rows"] == 2
    assert added["write", "upsert", "ok", "files"] == 1
    assert added["write", "upsert", "ok", "bytes"] > 1000
    assert added["write", "upsert", "error", "operations"] == 1
    assert added["read", "snapshot", "ok", "rows"] == 2
    assert added["service", "create_savepoint", "ok", "operations"] == 1
    assert added["sync", "hms", "ok", "calls"] > 3
    assert {kind for kind, *_ in added} == set(KINDS)
    registry = CollectorRegistry()
    register_operations(registry)
    names = {sample.name for family in registry.collect() for sample in family.samples}
    assert names == PROMETHEUS
    labels = {"kind": "write", "action": "upsert", "outcome": "ok"}
    assert registry.get_sample_value("hudi_operation_rows_total", labels) == after["write", "upsert", "ok", "rows"]


SPANS = """
import sys, json
from pathlib import Path
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))
from hudi_hive.testing import FakeMetastore
from tests.project.test_operations import work

folder = Path(sys.argv[1])
with FakeMetastore(folder / "warehouse") as metastore:
    instant = work(folder, metastore.uri).instant.requested
spans = [
    {"name": one.name, "of": None if one.parent is None else one.parent.span_id, "id": one.context.span_id,
     "status": one.status.status_code.name, **one.attributes}
    for one in exporter.get_finished_spans()
]
data = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
print(json.dumps({"instant": instant, "spans": spans, "metrics": [one.name for one in data]}))
"""


def test_operations_are_spans_where_opentelemetry_is_loaded(tmp_path):
    """In a process of its own, as a process has one provider."""
    command = [sys.executable, "-c", SPANS, str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout.splitlines()[-1])
    by_name = {}
    for span in seen["spans"]:
        by_name.setdefault(span["name"], []).append(span)
    assert set(by_name) == {f"hudi.{kind}" for kind in KINDS}
    good, bad = by_name["hudi.write"]
    assert (good["hudi.instant"], good["hudi.rows"], good["hudi.table"]) == (seen["instant"], 2, "t")
    assert good["hudi.path"].endswith("/t") and good["hudi.outcome"] == "ok"
    assert bad["status"] == "ERROR" and bad["error.type"].endswith("Error")
    inline = [span for span in by_name["hudi.service"] if span["of"] == good["id"]]
    assert {span["hudi.action"] for span in inline} == {"clean"}
    assert by_name["hudi.sync"][0]["hudi.calls"] > 3
    assert by_name["hudi.read"][0]["hudi.rows"] == 2
    known = {*SPAN_ATTRIBUTES, *(f"hudi.{amount}" for amount in AMOUNTS), "name", "of", "id", "status"}
    assert {name for span in seen["spans"] for name in span} <= known
    assert set(seen["metrics"]) == {"hudi.operations", "hudi.operation.duration", *(f"hudi.{name}" for name in AMOUNTS)}


def test_opentelemetry_is_not_loaded_by_us():
    code = "import sys, hudi_hive.table_api, hudi_hive.sync; sys.exit('opentelemetry' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=300)


def test_the_page_lists_every_name():
    names = PROMETHEUS | OF_METADATA | {f"hudi.{kind}" for kind in KINDS} | {f"hudi.{name}" for name in AMOUNTS}
    names |= {*SPAN_ATTRIBUTES, *LABELS, *METADATA_ACTIONS, "hudi.operations", "hudi.operation.duration"}
    shown = set(re.findall(r"`([\w.]+)`", PAGE))
    assert names <= shown, names - shown
    assert {name for name in shown if name.startswith(("hudi_", "hudi."))} <= names | {"hudi_hive"}


def test_the_dashboard_asks_for_names_that_there_are():
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    assert len(queries) >= 8
    used = {name for query in queries for name in re.findall(r"hudi_\w+", query)}
    assert used <= PROMETHEUS | OF_METADATA
    assert used >= PROMETHEUS
    labels = {
        name for query in queries for part in re.findall(r"by \(([^)]*)\)", query) for name in re.split(r",\s*", part)
    }
    assert labels <= {*LABELS, "partition", "size"}
