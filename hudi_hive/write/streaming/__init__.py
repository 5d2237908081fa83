"""Batches of a stream, each as one commit: the stream's checkpoint in commits, retries, services beside it."""

from __future__ import annotations

from hudi_hive.write.streaming.background import BackgroundServices
from hudi_hive.write.streaming.batch_sink import BatchSink
from hudi_hive.write.streaming.checkpoint import CHECKPOINT_KEY, QUERIES_KEY, StreamQuery, checkpoint_of, last_batch
from hudi_hive.write.streaming.settings import SinkSettings

__all__ = [
    "CHECKPOINT_KEY",
    "QUERIES_KEY",
    "BackgroundServices",
    "BatchSink",
    "SinkSettings",
    "StreamQuery",
    "checkpoint_of",
    "last_batch",
]
