"""Values of :class:`~hudi_hive.metrics.MetadataMetrics` for Prometheus: a collector, and a server to be scraped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from hudi_hive.errors import InvalidOptionError, MissingDependencyError
from hudi_hive.metrics.operations import AMOUNTS, COUNTED, LABELS, OPERATION_METRICS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

Values = Callable[[], Mapping[str, float]]

_lock: Final = threading.Lock()
_served: Final[set[int]] = set()


def require_prometheus() -> None:
    """Check that prometheus-client is installed.

    Raises:
        MissingDependencyError: it is not.
    """
    try:
        import prometheus_client  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "prometheus-client is not installed", remedy="pip install 'hudi_hive[metrics]'"
        ) from error


def register(values: Values, registry: CollectorRegistry | None = None) -> None:
    """Register a collector of values with a registry (default: the client library's own).

    Raises:
        MissingDependencyError: prometheus-client is not installed.
    """
    require_prometheus()
    from prometheus_client import REGISTRY

    (registry if registry is not None else REGISTRY).register(_Collector(values))


def register_operations(registry: CollectorRegistry | None = None) -> None:
    """Register a collector of this process' counts of operations with a registry (default: the client library's own).

    The metrics are ``hudi_operations_total``, ``hudi_operation_seconds_total`` and ``hudi_operation_<amount>_total`` of
    ``AMOUNTS``, with the labels ``kind``, ``action`` and ``outcome``.

    Raises:
        MissingDependencyError: prometheus-client is not installed.
    """
    require_prometheus()
    from prometheus_client import REGISTRY

    (registry if registry is not None else REGISTRY).register(_OperationCollector())


def serve_prometheus(port: int, values: Values) -> None:
    """Serve values, and the counts of operations, for scrapes on a port of this process until it ends. Idempotent.

    Raises:
        MissingDependencyError: prometheus-client is not installed.
        InvalidOptionError: the port cannot be listened on.
    """
    require_prometheus()
    from prometheus_client import CollectorRegistry, start_http_server

    with _lock:
        if port in _served:
            return
        registry = CollectorRegistry()
        register(values, registry)
        register_operations(registry)
        try:
            start_http_server(port, registry=registry)
        except OSError as error:
            raise InvalidOptionError(
                f"hoodie.metrics.prometheus.port={port} cannot be served: {error.strerror or error}",
                remedy="name a port that is free",
            ) from error
        _served.add(port)


class _Collector:
    """A Prometheus collector that reads the values at each scrape."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def collect(self) -> Iterator[Metric]:
        """The values as three metric families: counts, seconds and sizes."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        counts = CounterMetricFamily("hudi_metadata_operations", "Operations on metadata tables", labels=["action"])
        seconds = CounterMetricFamily(
            "hudi_metadata_operation_seconds", "Time spent in operations on metadata tables", labels=["action"]
        )
        sizes = GaugeMetricFamily(
            "hudi_metadata_size", "Files and bytes of the metadata table written last", labels=["partition", "size"]
        )
        for name, value in self._values().items():
            _, _, rest = name.partition(".")
            subject, _, kind = rest.rpartition(".")
            if kind == "count":
                counts.add_metric([subject], value)
            elif kind == "duration":
                seconds.add_metric([subject], value / 1000)
            else:
                sizes.add_metric([subject, kind], value)
        yield counts
        yield seconds
        yield sizes


class _OperationCollector:
    """A Prometheus collector that reads the counts of operations at each scrape."""

    def collect(self) -> Iterator[Metric]:
        """A counter for each thing that is counted."""
        from prometheus_client.core import CounterMetricFamily

        names = dict(zip(("operations", "seconds"), COUNTED.items(), strict=True))
        names |= {name: (f"hudi_operation_{name}", text) for name, text in AMOUNTS.items()}
        families = {name: CounterMetricFamily(*about, labels=LABELS) for name, about in names.items()}
        for (kind, action, outcome, name), value in OPERATION_METRICS.snapshot().items():
            families[name].add_metric([kind, action, outcome], value)
        yield from families.values()
