"""The fields of a new table by name, for ``HudiTable.create``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class TableFields(TypedDict, total=False):
    """Names and types of the fields of :class:`hudi_hive.table.TableDefinition`, which says what each is."""

    name: str
    table_type: str
    version: int
    record_keys: Sequence[str]
    partition_fields: Sequence[str]
    ordering_fields: Sequence[str]
    key_generator: str | None
    hive_style_partitioning: bool
    url_encode_partitioning: bool
    cdc: str | bool
    populate_meta_fields: bool
    merge_mode: str | None
    payload_class: str | None
    merge_strategy_id: str | None
    timezone: str
    create_schema: Mapping[str, Any] | str | None
    database: str | None
    base_file_format: str
    properties: Mapping[str, str] | None
