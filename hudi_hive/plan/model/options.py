"""Hudi's read options (``hoodie.*``, ``as.of.instant``) as one typed value; what is not honoured is refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from hudi_hive.errors import InvalidOptionError


class QueryType(StrEnum):
    """What a scan shows of a table (``hoodie.datasource.query.type``)."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"
    CDC = "cdc"

    @property
    def has_range(self) -> bool:
        """Whether the query is about a range of commits: it has a begin and maybe an end."""
        return self in (QueryType.INCREMENTAL, QueryType.CDC)


class IncrementalFormat(StrEnum):
    """What an incremental query shows of a changed row (``hoodie.datasource.query.incremental.format``)."""

    LATEST_STATE = "latest_state"
    CDC = "cdc"


class MergeType(StrEnum):
    """What a snapshot of merge-on-read slices does with log files (``hoodie.datasource.merge.type``)."""

    PAYLOAD_COMBINE = "payload_combine"
    SKIP_MERGE = "skip_merge"


class HollowCommitPolicy(StrEnum):
    """What an incremental query of a version 6 table does at a pending commit older than a completed one."""

    FAIL = "FAIL"
    BLOCK = "BLOCK"
    USE_TRANSITION_TIME = "USE_TRANSITION_TIME"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Hudi's options for a read, typed; None where the user said nothing.

    Attributes:
        query_type: ``hoodie.datasource.query.type``.
        begin, end: ``hoodie.datasource.read.begin.instanttime`` (exclusive) and ``…end.instanttime`` (inclusive).
        as_of: ``as.of.instant``.
        full_scan_fallback: ``hoodie.datasource.read.incr.fallback.fulltablescan.enable``: when files of the range were
            cleaned, filter the newest snapshot by commit time in place of refusing.
        hollow_policy: ``hoodie.read.timeline.holes.resolution.policy``; table version 6 only.
        partition_values_from_path: ``hoodie.datasource.read.extract.partition.values.from.path``.
        path_glob: ``hoodie.datasource.read.incr.path.glob``: only files whose path, relative to the table, matches.
        end_instant_schema: ``hoodie.datasource.read.schema.use.end.instanttime``: an incremental query shows the schema
            as of its last commit in place of the newest.
        schema_evolution: ``hoodie.schema.on.read.enable``: resolve renamed and reordered columns by their ids; when
            absent they are resolved wherever the table holds ids.
        metadata_enable: ``hoodie.metadata.enable``: partitions and files come from the metadata table where there is
            one (the default), or from directory listings.
        metadata_validate: ``hoodie.metadata.validate``: list folders as well, log differences, go by the listing.
        data_skipping: ``hoodie.enable.data.skipping``: leave files out by statistics and bloom filters of the metadata
            table (the default).
        record_index: ``hoodie.metadata.record.index.enable``: the caller says that each record key is in the table
            once, so that the record index may leave files out; inserts without index look-up can make that untrue.
        incremental_format: ``hoodie.datasource.query.incremental.format``: ``cdc`` turns an incremental query into one
            for change data.
        merge_type: ``hoodie.datasource.merge.type``: ``skip_merge`` gives base rows and log records side by side.
    """

    query_type: QueryType | None = None
    begin: str | None = None
    end: str | None = None
    as_of: str | None = None
    full_scan_fallback: bool = False
    hollow_policy: HollowCommitPolicy = HollowCommitPolicy.FAIL
    partition_values_from_path: bool = False
    path_glob: str | None = None
    end_instant_schema: bool = False
    schema_evolution: bool | None = None
    metadata_enable: bool | None = None
    metadata_validate: bool | None = None
    data_skipping: bool = True
    record_index: bool = False
    incremental_format: IncrementalFormat = IncrementalFormat.LATEST_STATE
    merge_type: MergeType = MergeType.PAYLOAD_COMBINE

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> ReadOptions:
        """Typed options of a mapping under Hudi's names.

        Options that only choose between ways to the same rows (the reader implementation) are checked
        and accepted.

        Raises:
            InvalidOptionError: an option is unknown, not supported, or has a value that it does not take.
        """
        values: dict[str, Any] = {}
        for key, value in options.items():
            text = str(value).lower() if isinstance(value, bool) else str(value).strip()
            if key in _SAME_ROWS:
                _SAME_ROWS[key](key, text)
            elif key in _HONOURED:
                name, convert = _HONOURED[key]
                converted = convert(key, text)
                if name in values and values[name] != converted:
                    raise InvalidOptionError(f"option {key}={text} contradicts another option of the same meaning")
                values[name] = converted
            elif key in _REFUSED:
                wanted, remedy = _REFUSED[key]
                if text.lower() != wanted:
                    raise InvalidOptionError(f"option {key}={text} is not supported", remedy=remedy)
            else:
                raise InvalidOptionError(f"unknown option {key!r}", remedy=_nearest(key))
        return cls(**values)

    def to_options(self) -> dict[str, str]:
        """The options that differ from their defaults, under Hudi's names."""
        default = ReadOptions()
        names = {name: key for key, (name, _) in reversed(_HONOURED.items())}
        given = {
            f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != getattr(default, f.name)
        }
        return {names[k]: str(v).lower() if isinstance(v, bool) else str(v) for k, v in given.items()}


def _nearest(key: str) -> str:
    known = [*_HONOURED, *_SAME_ROWS]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    return f"did you mean {close[0]}?" if close else "see the documentation for the read options"


def _flag(key: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidOptionError(f"option {key}={text!r} must be true or false")
    return text.lower() == "true"


def _text(key: str, text: str) -> str:
    if not text:
        raise InvalidOptionError(f"option {key} is empty")
    return text


def _query_type(key: str, text: str) -> QueryType:
    try:
        return QueryType(text.lower())
    except ValueError:
        raise InvalidOptionError(
            f"option {key}={text!r} is not a query type", remedy="snapshot, read_optimized, incremental and cdc are"
        ) from None


def _policy(key: str, text: str) -> HollowCommitPolicy:
    try:
        return HollowCommitPolicy(text.upper())
    except ValueError:
        raise InvalidOptionError(
            f"option {key}={text!r} is not a policy", remedy="FAIL, BLOCK and USE_TRANSITION_TIME are"
        ) from None


def _incremental_format(key: str, text: str) -> IncrementalFormat:
    try:
        return IncrementalFormat(text.lower())
    except ValueError:
        raise InvalidOptionError(f"option {key}={text!r} must be latest_state or cdc") from None


def _merge_type(key: str, text: str) -> MergeType:
    try:
        return MergeType(text.lower())
    except ValueError:
        raise InvalidOptionError(f"option {key}={text!r} must be payload_combine or skip_merge") from None


_HONOURED: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "hoodie.datasource.query.type": ("query_type", _query_type),
    "hoodie.datasource.read.begin.instanttime": ("begin", _text),
    "hoodie.datasource.read.end.instanttime": ("end", _text),
    "as.of.instant": ("as_of", _text),
    "hoodie.datasource.read.incr.fallback.fulltablescan.enable": ("full_scan_fallback", _flag),
    "hoodie.read.timeline.holes.resolution.policy": ("hollow_policy", _policy),
    "hoodie.enable.data.skipping": ("data_skipping", _flag),
    "hoodie.metadata.record.index.enable": ("record_index", _flag),
    "hoodie.datasource.read.handle.hollow.commit": ("hollow_policy", _policy),
    "hoodie.datasource.read.extract.partition.values.from.path": ("partition_values_from_path", _flag),
    "hoodie.datasource.read.incr.path.glob": ("path_glob", _text),
    "hoodie.datasource.read.schema.use.end.instanttime": ("end_instant_schema", _flag),
    "hoodie.schema.on.read.enable": ("schema_evolution", _flag),
    "hoodie.metadata.enable": ("metadata_enable", _flag),
    "hoodie.metadata.validate": ("metadata_validate", _flag),
    "hoodie.datasource.query.incremental.format": ("incremental_format", _incremental_format),
    "hoodie.datasource.merge.type": ("merge_type", _merge_type),
}
"""Option -> field of :class:`ReadOptions` and how its text is read. Aliases stand behind the name that is written."""

_SAME_ROWS: dict[str, Callable[[str, str], Any]] = {
    "hoodie.file.group.reader.enabled": _flag,
    "hoodie.datasource.read.file.index.listing.mode": _text,
}
"""Options that choose how Hudi gets at the rows, never which rows: checked, and of no further effect here."""

_REFUSED: dict[str, tuple[str, str]] = {
    "hoodie.datasource.read.incr.filters": ("", "filter with row_filter"),
    "hoodie.datasource.read.paths": ("", "open the table by its base path"),
    "hoodie.datasource.read.incr.table.version": (
        "",
        "ranges are requested times in version 6, completion times above",
    ),
}
"""Hudi's options that are known and not supported -> the one value that asks for nothing, and what to do instead."""
