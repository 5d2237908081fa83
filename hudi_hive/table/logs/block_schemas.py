"""Checks the schemas of log blocks against the schema of the commit that wrote them.

Hudi's blocks have no checksum. A changed letter in the name of a column would give nulls for it, one in the scale of a
decimal other numbers. The commit metadata holds the schema as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.log import BlockType, HeaderKey, LogBlock
from hudi_hive.names import META_COLUMN_PREFIX
from hudi_hive.schema import META_FIELDS
from hudi_hive.timeline import Timeline

_OF_RECORDS: Final = frozenset({BlockType.AVRO_DATA, BlockType.PARQUET_DATA, BlockType.HFILE_DATA, BlockType.CDC_DATA})
_META_PREFIX: Final = META_COLUMN_PREFIX
_MOST_CHANGED: Final = 4
"""Characters of a text that an overwritten integer changes. Schemas of different versions differ in other ways."""


def refuse_damaged_schemas(blocks: Iterable[LogBlock], timeline: object) -> None:
    """Refuse blocks whose schema differs in a few characters from that of their commit.

    A commit is read only for a schema that none of those read before has.

    Args:
        blocks: blocks that count.
        timeline: the timeline; where it is no :class:`~hudi_hive.timeline.Timeline`, commits cannot be looked up.

    Raises:
        CorruptFileError: the header was damaged.
    """
    if not isinstance(timeline, Timeline):
        return
    for block in blocks:
        text = block.headers.get(HeaderKey.SCHEMA)
        if text is None or block.type not in _OF_RECORDS or HeaderKey.TARGET_INSTANT_TIME in block.headers:
            continue  # the last have a checksum
        is_change = block.type is BlockType.CDC_DATA
        if any(_same(text, schema, is_change) for schema in timeline.schema_texts):
            continue
        writer = next((i for i in timeline.write_instants() if i.requested == block.instant), None)
        schema = None if writer is None else timeline.commit_metadata(writer).extra.get("schema")
        if schema and _is_damaged(text, schema, is_change):
            raise CorruptFileError(
                f"schema of the log block at offset {block.offset} is not that of its commit",
                path=block.path,
                instant=block.instant,
                remedy="restore the file, or roll its commit back",
            )


@lru_cache(maxsize=256)
def _same(text: str, schema: str, is_change: bool) -> bool:
    """Whether a block's columns are those of a commit's schema, with or without meta columns."""
    ours, theirs = _fields(text, is_change), _fields(schema, False)
    if ours is None or theirs is None:
        return False
    extra = ours.keys() - theirs.keys()
    return extra <= set(META_FIELDS) and all(ours.get(name) == kind for name, kind in theirs.items())


@lru_cache(maxsize=256)
def _is_damaged(text: str, schema: str, is_change: bool) -> bool:
    ours, theirs = _fields(text, is_change), _fields(schema, False)
    if ours is None or theirs is None:
        return False  # decoding tells
    missing = (theirs.keys() | set(META_FIELDS)) - ours.keys()
    if any(_is_near(name, other) for name in ours.keys() - theirs.keys() - set(META_FIELDS) for other in missing):
        return True
    return any(name in theirs and _is_near(kind, theirs[name]) for name, kind in ours.items())


def _fields(text: str, is_change: bool) -> dict[str, str] | None:
    """Names of a record's fields and their types as JSON; of change data those of the images."""
    try:
        record: Any = json.loads(text)
        if is_change:
            record = next(filter(None, map(_image, record["fields"])), None)
            if record is None:
                return None  # keys alone
        return {field["name"]: json.dumps(field["type"], sort_keys=True) for field in record["fields"]}
    except (ValueError, RecursionError, KeyError, TypeError):
        return None


def _image(field: Mapping[str, Any]) -> Mapping[str, Any] | None:
    branches = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return next((kind for kind in branches if isinstance(kind, dict) and "fields" in kind), None)


def _is_near(text: str, other: str) -> bool:
    if len(text) != len(other):
        return False
    changed = sum(a != b for a, b in zip(text, other, strict=True))
    return changed == 1 or (1 < changed <= _MOST_CHANGED and len(text) >= 2 * _MOST_CHANGED)
