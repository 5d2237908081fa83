"""Evolves id-based schemas by the columns of written rows.

Columns of rows are the table's by their names; those that are new get ids that no column ever had. Commits repeat the
version that they were written with, and the history of versions stands beside each of them.

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.schema import META_FIELDS, EvolvedSchema, InternalSchema, merge_writer, record_name, to_avro, to_json
from hudi_hive.table import MetaClient
from hudi_hive.timeline.payloads import NewCommitMetadata

SCHEMA_KEY: Final = "schema"
"""Key of the extra metadata that every commit must have: the table's schema for all readers."""

LATEST_SCHEMA: Final = "latest_schema"
"""Key of the extra metadata that holds the version which a commit was written with."""


def evolved_after(client: MetaClient, avro: Mapping[str, Any], as_of: str | None = None) -> EvolvedSchema | None:
    """Merge a writer's schema into the id-based schema of a table; None for a table without ids.

    Args:
        client: the table as it is before the write.
        avro: the writer's schema; columns that it lacks stay.
        as_of: requested time: the id-based schema that the table had then, whatever the writer has.

    Raises:
        SchemaError: a change that has no rule.
    """
    evolved = client.evolved_schema(as_of)
    if evolved is None or as_of is not None:
        return evolved
    merged = merge_writer(evolved.query, avro)
    return evolved if merged.fields == evolved.query.fields else replace(evolved, query=merged)


def refuse_without_ids(client: MetaClient) -> None:
    """Refuse to write without ids to a table whose columns have ids.

    Raises:
        InvalidOptionError: later readers would not know of names and types that columns had before.
    """
    if client.evolved_schema() is not None:
        raise InvalidOptionError(
            "hoodie.schema.on.read.enable=false contradicts the table, whose columns have ids",
            path=client.base_path,
            remedy="leave the option out: the table's commits say what its files call the columns",
        )


def next_versions(client: MetaClient, avro: Mapping[str, Any], instant: str) -> tuple[InternalSchema, ...]:
    """The versions after a write, newest first; empty for a table without ids.

    Args:
        client: the table, read under its lock.
        avro: the writer's schema.
        instant: requested time of the write.

    Raises:
        SchemaError: a change that has no rule.
    """
    before = client.evolved_schema()
    after = evolved_after(client, avro)
    if before is None or after is None:
        return ()
    known = sorted({version.version_id: version for version in (*before.history, before.query)}.items(), reverse=True)
    versions = tuple(version for _, version in known)
    return versions if after is before else (replace(after.query, version_id=int(instant)), *versions)


def with_version(
    metadata: NewCommitMetadata, avro: Mapping[str, Any], versions: Sequence[InternalSchema]
) -> NewCommitMetadata:
    """Add the version of the id-based schema to the metadata of a commit.

    Args:
        metadata: the commit.
        avro: the schema that it tells.
        versions: the newest first; without any the commit stays as it is.
    """
    if not versions:
        return metadata
    if any(item.name == META_FIELDS[0] for item in versions[0].fields):
        avro = with_meta_avro(avro)
    text = json.dumps(avro, separators=(",", ":"))
    return replace(metadata, extra={**metadata.extra, SCHEMA_KEY: text, LATEST_SCHEMA: to_json(versions[0])})


def versions_until(history: Sequence[InternalSchema], instant: str) -> tuple[InternalSchema, ...]:
    """The versions as of a requested time, newest first."""
    kept = [version for version in history if version.version_id <= int(instant)]
    return tuple(sorted(kept, key=lambda version: version.version_id, reverse=True))


def with_meta_avro(avro: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the meta columns before the others (docs/format.md#meta-columns)."""
    meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS]
    return {**avro, "fields": [*meta, *(entry for entry in avro["fields"] if entry["name"] not in META_FIELDS)]}


def avro_text(client: MetaClient, schema: InternalSchema) -> str:
    """Make the Avro schema text of a version for commits: with the same record name, without meta columns."""
    before = client.avro_schema() or {}
    name, namespace = record_name(client.config.name)
    avro = to_avro(schema, str(before.get("name", name)), str(before.get("namespace", namespace) or ""))
    fields = [entry for entry in avro["fields"] if entry["name"] not in META_FIELDS]
    return json.dumps({**avro, "fields": fields}, separators=(",", ":"), ensure_ascii=False)
