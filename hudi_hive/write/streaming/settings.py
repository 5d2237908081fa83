"""Settings of a stream that is written to a table, and the options of its writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from hudi_hive.options import Face, OptionSet, as_texts, fill, read, services

_SINK_OPTIONS: Final = OptionSet("stream that writes", Face.SINK, Face.WRITE, Face.LOCK, Face.SYNC)


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """How batches of a stream are written.

    Attributes:
        identifier: the stream's name in the checkpoints of commits.
        tries: of a batch.
        wait_ms: milliseconds before the second try, twice as many before each further one.
        ignores_failures: a batch that failed at all tries is left out.
        leaves_compaction: compaction is left to other processes.
        async_compaction, async_clustering: whether the services run beside the stream.
        clustering_after: commits after which a clustering is due.
        inline_compaction, inline_clustering: whether they run behind each batch, and hence not beside it.
    """

    identifier: str = read.CHECKPOINT_IDENTIFIER.field()
    tries: int = read.STREAM_RETRIES.field()
    wait_ms: int = read.STREAM_RETRY_INTERVAL.field()
    ignores_failures: bool = read.IGNORE_FAILED_BATCH.field()
    leaves_compaction: bool = read.DISABLE_COMPACTION.field()
    async_compaction: bool = read.ASYNC_COMPACTION.field()
    async_clustering: bool = read.ASYNC_CLUSTERING.field()
    clustering_after: int = read.ASYNC_CLUSTERING_COMMITS.field()
    inline_compaction: bool = services.COMPACT_INLINE.field()
    inline_clustering: bool = services.CLUSTERING_INLINE.field()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The settings of a stream's options; those of its writes are passed over.

        Raises:
            InvalidOptionError: a text that does not fit.
        """
        return fill(cls, as_texts(options))

    @property
    def compacts(self) -> bool:
        """Whether compactions of a merge-on-read table run beside the stream."""
        return self.async_compaction and not self.leaves_compaction and not self.inline_compaction

    @property
    def clusters(self) -> bool:
        """Whether clusterings run beside the stream."""
        return self.async_clustering and not self.inline_clustering

    def write_options(self, options: Mapping[str, Any]) -> dict[str, str]:
        """The options of a batch's write: those that are not the stream's own, and plans of the services beside it.

        Args:
            options: of the stream, names in any case.
        """
        texts = {_SINK_OPTIONS.spelled(name): text for name, text in as_texts(options).items()}
        own = {name for option in read.SINK_OPTIONS for name in option.names}
        writes = {name: text for name, text in texts.items() if name not in own}
        if self.compacts:
            writes[services.COMPACT_SCHEDULE_INLINE.name] = "true"
        if self.clusters:
            writes[services.CLUSTERING_SCHEDULE_INLINE.name] = "true"
            writes[services.CLUSTERING_AFTER_COMMITS.name] = str(self.clustering_after)
        return writes


__all__ = ["SinkSettings"]
