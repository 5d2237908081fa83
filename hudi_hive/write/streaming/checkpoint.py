"""The checkpoint of streams in the extra metadata of their commits: which batch of which stream a table has.

Hudi's sink keeps a JSON object from the identifier of a stream to the number of its last batch, and looks for the
newest commit that names its identifier. Numbers begin anew with each checkpoint folder of Spark, so that alone it takes
the first batches of a new query for those of an older one. Ours are kept by the query's own id as well, under a second
key; each of our commits has the entries of all streams, made under the table's lock.

Source: HoodieStreamingSink, CommitUtils; docs/streaming.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from hudi_hive.errors import CheckpointError, HudiHiveError, WriteConflictError
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS, instant_to_millis

CHECKPOINT_KEY: Final = "_hudi_streaming_sink_checkpoint"
"""Extra metadata of Hudi: JSON from the identifiers of streams to the numbers of their batches, as texts."""

QUERIES_KEY: Final = "_hudi_hive_streaming_queries"
"""Extra metadata of ours: JSON from the ids of queries to the numbers of their batches, as texts."""

_NONE: Final = -1
_MOST_QUERIES: Final = 100
_MOST_ARCHIVED: Final = 100
_MOST_CHARACTERS: Final = 1 << 20
_CLOCKS_MS: Final = 3_600_000
"""How far the clock of a writer may be from that of the store with the folder of a query."""


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A streaming query into a table.

    Attributes:
        identifier: the stream's name in Hudi's checkpoint.
        query_id: the id that Spark gives a query with its checkpoint folder.
        began_ms: when that folder was made, in milliseconds since the epoch; None if that is not known.
    """

    identifier: str
    query_id: str
    began_ms: int | None = None


class _Entry(NamedTuple):
    """What a commit says of streams; ``queries`` is None in a commit of Hudi's own sink."""

    instant: Instant
    identifiers: Mapping[str, str]
    queries: Mapping[str, str] | None


def last_batch(client: MetaClient, query: StreamQuery, *, archived: bool = False) -> int:
    """The number of the last batch of a query that a table has; -1 if it has none.

    A commit of Hudi's own sink does not say whose query it is of: it counts if it bears the stream's identifier and is
    no older than the query.

    Args:
        client: the table.
        query: the query.
        archived: look into the archive as well, if the active timeline does not have the query.

    Raises:
        CheckpointError: the checkpoint of a commit cannot be understood.
        TimelineError: the timeline cannot be read.
    """
    last, is_own = _last_of(_entries(client), client, query)
    if archived and not is_own:
        before, _ = _last_of(_archived_entries(client, query.began_ms), client, query)
        last = max(last, before)
    return last


def _last_of(entries: Iterator[_Entry], client: MetaClient, query: StreamQuery) -> tuple[int, bool]:
    """The number of the query's last batch by some commits, newest first; and whether one of ours names it."""
    last = _NONE
    for instant, identifiers, queries in entries:
        if queries is not None:
            if query.query_id in queries:
                return max(last, _number(queries[query.query_id], client, instant)), True
        elif last == _NONE and query.identifier in identifiers and not _is_older(client, instant, query):
            last = _number(identifiers[query.identifier], client, instant)
    return last, False


def checkpoint_of(client: MetaClient, query: StreamQuery, batch: int) -> dict[str, str]:
    """Extra metadata of the commit of a batch, with what the table's last commits say of other streams.

    Args:
        client: the table as it is under its lock.
        query: the query.
        batch: number of the batch.

    Raises:
        WriteConflictError: the table has this batch of the query already.
        CheckpointError, TimelineError: as of :func:`last_batch`.
    """
    if last_batch(client, query) >= batch:
        raise WriteConflictError(
            f"batch {batch} of the query {query.query_id} was committed by another process",
            path=client.base_path,
            remedy="nothing is lost: the table has the batch",
        )
    identifiers = {query.identifier: str(batch)}
    queries = {query.query_id: str(batch)}
    for entry in _entries(client):
        identifiers = {**entry.identifiers, **identifiers}
        if entry.queries is not None:  # has what came before
            queries = dict([*queries.items(), *((k, v) for k, v in entry.queries.items() if k not in queries)])
            break
    newest = dict(list(queries.items())[:_MOST_QUERIES])
    return {CHECKPOINT_KEY: _text(identifiers), QUERIES_KEY: _text(newest)}


def _entries(client: MetaClient) -> Iterator[_Entry]:
    """The checkpoints of completed commits of the active timeline, the one that completed last first."""
    timeline = client.timeline

    def completion(instant: Instant) -> tuple[str, str]:
        return (instant.completed or f"{timeline.mtime_ms(instant) or 0:020}", instant.requested)

    for instant in sorted(timeline.write_instants(), key=completion, reverse=True):
        entry = _entry(client, instant, timeline.commit_metadata(instant).extra)
        if entry is not None:
            yield entry


def _archived_entries(client: MetaClient, began_ms: int | None) -> Iterator[_Entry]:
    """The checkpoints of the newest archived commits that are no older than a time."""
    archive = client.timeline.archived()
    writes = [one for one in archive.instants if one.is_completed and one.action in COMPLETED_WRITE_ACTIONS]
    for instant in reversed(writes[-_MOST_ARCHIVED:]):
        if began_ms is not None and _millis(client, instant) < began_ms - _CLOCKS_MS:
            return
        try:
            extra = archive.commit_metadata(instant).extra
        except HudiHiveError:  # archived without its metadata
            continue
        entry = _entry(client, instant, extra)
        if entry is not None:
            yield entry


def _entry(client: MetaClient, instant: Instant, extra: Mapping[str, str]) -> _Entry | None:
    text, queries = extra.get(CHECKPOINT_KEY), extra.get(QUERIES_KEY)
    if not text and not queries:
        return None
    own = None if queries is None else _parse(queries, client, instant)
    return _Entry(instant, _parse(text or "{}", client, instant), own)


def _is_older(client: MetaClient, instant: Instant, query: StreamQuery) -> bool:
    """Whether a commit was made before the query was."""
    if query.began_ms is None:
        return False
    made = client.timeline.mtime_ms(instant)
    if made is None:
        made = _millis(client, instant)
    elif made % 1000 == 0:  # of a store that keeps seconds: it may be any time of this one
        made += 999
    return made < query.began_ms


def _millis(client: MetaClient, instant: Instant) -> int:
    return instant_to_millis(instant.completed or instant.requested, client.config.timezone)


def _parse(text: str, client: MetaClient, instant: Instant) -> dict[str, str]:
    try:
        fields = json.loads(text) if len(text) <= _MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise CheckpointError(
            "the checkpoint of streams in the commit is no JSON object of batches",
            path=client.base_path,
            instant=instant.requested,
            remedy="it is not known which batches the table has: write the stream to another table, or roll the commit "
            "back",
        )
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}


def _number(text: str, client: MetaClient, instant: Instant) -> int:
    if not (text.isascii() and text.lstrip("-").isdigit() and len(text) < 20):
        raise CheckpointError(
            f"the checkpoint of streams in the commit names batch {text[:40]!r}, which is no number",
            path=client.base_path,
            instant=instant.requested,
            remedy="give the stream an identifier of its own",
        )
    return int(text)


def _text(entries: Mapping[str, str]) -> str:
    return json.dumps(entries, separators=(",", ":"))


__all__ = ["CHECKPOINT_KEY", "QUERIES_KEY", "StreamQuery", "checkpoint_of", "last_batch"]
