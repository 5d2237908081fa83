"""Searches texts for secrets: as they are, in base64, in what Spark sends to its executors."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext
from pyspark.serializers import CloudPickleSerializer


def in_base64(secret: str) -> list[str]:
    """What is the same in each encoding of bytes that have a secret in them, by where it begins among three bytes."""
    return [base64.b64encode(b"\0" * begin + secret.encode()).decode()[4 if begin else 0 : -4] for begin in range(3)]


def places_of(secrets: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Where secrets stand in texts, as they are or encoded: py4j's log at DEBUG has steps for executors so."""
    forms = [(secret, form) for secret in secrets for form in (secret, *in_base64(secret))]
    return [
        f"{secret} in {place}: …{text[max(0, text.find(form) - 150) : text.find(form) + 60]}…"
        for place, text in texts.items()
        for secret, form in forms
        if form in text
    ]


@contextmanager
def recorded_steps() -> Iterator[dict[str, str]]:
    """Context manager that gives, as texts, all steps that PySpark pickles for executors, and all that is broadcast."""
    dumps, broadcast = CloudPickleSerializer.dumps, SparkContext.broadcast
    texts: dict[str, str] = {}

    def recorded(self: CloudPickleSerializer, obj: object) -> bytes:
        data = dumps(self, obj)
        texts[f"pickle {len(texts)}"] = data.decode("latin-1")
        return data

    def shared(self: SparkContext, value: Any) -> Any:
        texts[f"broadcast {len(texts)}"] = pickle.dumps(value).decode("latin-1")
        return broadcast(self, value)

    CloudPickleSerializer.dumps = recorded  # type: ignore[method-assign]
    SparkContext.broadcast = shared  # type: ignore[assignment,method-assign]
    try:
        yield texts
    finally:
        CloudPickleSerializer.dumps = dumps  # type: ignore[method-assign]
        SparkContext.broadcast = broadcast  # type: ignore[method-assign]
