"""Options of the metrics that writes and services report."""

from __future__ import annotations

from typing import Final

from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import between, boolean, choice, text

CONSOLE: Final = "CONSOLE"
JSON: Final = "JSON"
PROMETHEUS: Final = "PROMETHEUS"

METRICS_ON: Final = Option(
    "hoodie.metrics.on",
    boolean,
    False,
    "Writes and services report metrics when they are done: those of metadata tables; to Prometheus all operations.",
    honoured_by=(Face.WRITE,),
)
REPORTER_TYPE: Final = Option[str | None](
    "hoodie.metrics.reporter.type",
    choice(CONSOLE, JSON, PROMETHEUS),
    None,
    "To whom: lines on standard error, a JSON file, or a port that Prometheus scrapes; needed with metrics.",
    honoured_by=(Face.WRITE,),
)
METADATA_METRICS: Final = Option(
    "hoodie.metadata.metrics.enable",
    boolean,
    True,
    "Report metrics where they are on; false reports none.",
    honoured_by=(Face.WRITE,),
)
PROMETHEUS_PORT: Final = Option(
    "hoodie.metrics.prometheus.port",
    between(1, 65535),
    9090,
    "PROMETHEUS: the port of this process that is scraped.",
    honoured_by=(Face.WRITE,),
)
JSON_PATH: Final = Option(
    "hoodie.metrics.json.path",
    text,
    "",
    "JSON: the local file that is replaced behind each write (our own; Hudi has no such reporter).",
    honoured_by=(Face.WRITE,),
)

METRICS_OPTIONS: Final = (METRICS_ON, REPORTER_TYPE, METADATA_METRICS, PROMETHEUS_PORT, JSON_PATH)
