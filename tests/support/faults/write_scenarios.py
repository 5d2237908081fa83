"""Scenarios: the writes and table services of :mod:`tests.support.faults.write_acts`, on tables of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tests.support.faults.write_acts import (
    FIELDS_OF_STRUCTS,
    MERGER,
    PARTITIONED_INDEX,
    PROBE_PLACE,
    RECORD_INDEX,
    SEVERAL_WRITERS,
    SHORT_HISTORY,
    archive_history,
    build_after_all,
    build_index_of_values,
    build_indexes,
    bulk_insert,
    clean_slices,
    cluster_groups,
    compact_slices,
    delete,
    delete_partition,
    expire_partition,
    go_back,
    has_index_of_values,
    has_merged_blocks,
    has_metadata,
    has_record_index,
    index_lengths,
    index_values,
    is_archived,
    is_clean,
    is_cleaned_again,
    is_clustered,
    is_compacted,
    is_rescaled,
    is_restored,
    leave_a_build,
    make_metadata,
    merge_log_blocks,
    note_writes,
    overwrite,
    overwrite_table,
    prepare,
    prepare_bootstrapped,
    probe,
    renew_value,
    rescale,
    save,
    undo_delete,
    upsert,
)
from tests.support.faults.write_faults import Scenario


def scenario(  # noqa: PLR0913
    name: str,
    act: Any,
    *,
    kind: str,
    version: int,
    options: dict[str, str] | None = None,
    later: dict[str, str] | None = None,
    upserts: int = 1,
    then: Sequence[Any] = (),
    definition: Mapping[str, Any] | None = None,
    bootstrapped: bool = False,
    **more: Any,
) -> Scenario:
    """A scenario of an act.

    ``later`` are the options from the act on, if they are not those of before; ``definition`` is the table's.
    """
    options = options or {}
    later = options if later is None else later
    table = {"kind": kind, "version": version, **(definition or {})}
    return Scenario(
        name,
        partial(
            prepare_bootstrapped if bootstrapped else prepare, **table, options=options, upserts=upserts, then=then
        ),
        partial(act, options=later),
        partial(probe, options=later),
        version=version,
        **more,
    )


COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
_SHORT = {COW: "cow", MOR: "mor"}
KINDS, VERSIONS = (COW, MOR), (6, 8, 9)
PLAIN = {"hoodie.metadata.enable": "false"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
RULES = {
    **BUCKETS,
    "hoodie.bucket.index.partition.expressions": "x,3",
}
HASHED = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.max.num.buckets": "4",
    "hoodie.bucket.index.split.threshold": "0",
    "hoodie.bucket.index.merge.threshold": "0",
}
METADATA_SERVICES = {"hoodie.metadata.compact.max.delta.commits": "2"}
ALL_SERVICES = {
    **METADATA_SERVICES,
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "2",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
    **SHORT_HISTORY,
}


def _each(
    name: str, act: Any, *, kinds: Sequence[str] = KINDS, versions: Sequence[int] = VERSIONS, **more: Any
) -> list[Scenario]:
    """A scenario for each kind and version."""
    return [
        scenario(f"{name}-{_SHORT[kind]}-{version}", act, kind=kind, version=version, **more)
        for kind in kinds
        for version in versions
    ]


SCENARIOS = [
    *_each("upsert_metadata", upsert),
    *_each("compaction", compact_slices, kinds=[MOR], upserts=2, done=is_compacted),
    *_each("clustering", cluster_groups, upserts=2, then=[bulk_insert], done=is_clustered),
    *_each("resizing", cluster_groups, kinds=[MOR], options=HASHED, done=is_clustered),
    *_each("clean", clean_slices, kinds=[COW], upserts=3, done=is_clean),
    *_each("clean", clean_slices, kinds=[MOR], then=[compact_slices, upsert, compact_slices, upsert], done=is_clean),
    *_each("rollback", undo_delete, then=[delete], again_first=True),
    *_each("restore", go_back, then=[save, upsert, bulk_insert, delete], done=is_restored, again_first=True),
    *_each(
        "restore_compaction",
        go_back,
        kinds=[MOR],
        then=[save, upsert, compact_slices, delete],
        done=is_restored,
        again_first=True,
    ),
    *_each("archival", archive_history, upserts=5, then=[note_writes], options=METADATA_SERVICES, done=is_archived),
    *_each("metadata", make_metadata, options=PLAIN, later={}, done=has_metadata),
    *_each("insert_overwrite", overwrite),
    *_each("delete_partition", delete_partition),
    *_each("delete_partition_hashed", delete_partition, kinds=[MOR], options=HASHED),
    *_each("upsert_all_services", upsert, options=ALL_SERVICES, upserts=4),
    *_each("upsert_several", upsert, options=SEVERAL_WRITERS),
    *_each("upsert_metadata_services", upsert, options=METADATA_SERVICES, upserts=3),
    *_each("upsert_record_index", upsert, options=RECORD_INDEX),
    *_each("upsert_change_data", upsert, definition={"cdc": True}),
    *_each("upsert_ids", upsert, then=[renew_value]),
    *_each("restore_ids", go_back, then=[save, renew_value, delete], done=is_restored, again_first=True),
    *_each("delete", delete),
    *_each("bulk_insert", bulk_insert, doubles=True),
    *_each("insert_overwrite_table", overwrite_table, replaces_all=True),
    *_each("upsert_plain", upsert, options=PLAIN),
    *_each("log_compaction", merge_log_blocks, kinds=[MOR], upserts=2, done=has_merged_blocks),
    *_each("secondary_index", index_values, versions=(8, 9), options=RECORD_INDEX, done=has_index_of_values),
    *_each("index_build", build_indexes, done=has_record_index),
    *_each("index_build_again", build_after_all, then=[leave_a_build, upsert], done=has_record_index),
    *_each(
        "index_build_values",
        build_index_of_values,
        versions=(8, 9),
        options=RECORD_INDEX,
        done=has_index_of_values,
    ),
    *_each("upsert_indexes", upsert, versions=(8, 9), options=RECORD_INDEX, then=[index_values, index_lengths]),
    *_each(
        "compaction_indexes",
        compact_slices,
        kinds=[MOR],
        versions=(8, 9),
        options=RECORD_INDEX,
        then=[index_values, index_lengths, upsert],
        done=is_compacted,
    ),
    *(
        one
        for base_files in ("ORC", "HFILE")
        for name, act, more in (
            ("upsert", upsert, {}),
            ("compaction", compact_slices, {"kinds": [MOR], "upserts": 2, "done": is_compacted}),
        )
        for one in _each(f"{name}_{base_files.lower()}", act, definition={"base_file_format": base_files}, **more)
    ),
    *_each("delete_partitioned_index", delete, versions=(9,), options=PARTITIONED_INDEX),
    *_each("delete_partition_partitioned_index", delete_partition, versions=(9,), options=PARTITIONED_INDEX),
    *(
        one
        for kind, more in (
            ("partitioned_index", {"versions": (9,), "options": PARTITIONED_INDEX}),
            ("fields_of_structs", {"versions": (8, 9), "options": FIELDS_OF_STRUCTS, "probe_more": PROBE_PLACE}),
            ("bootstrapped", {"bootstrapped": True}),
            ("bucket_rules", {"options": RULES}),
            ("merger", {"definition": {"payload_class": MERGER}}),
        )
        for name, act, service in (
            ("upsert", upsert, {}),
            ("compaction", compact_slices, {"kinds": [MOR], "upserts": 2, "done": is_compacted}),
        )
        for one in _each(f"{name}_{kind}", act, **service, **more)
    ),
    *_each("rescaling", rescale, options=BUCKETS, done=is_rescaled),
    *_each("lifetime", expire_partition),
    *_each("clean_again", clean_slices, kinds=[COW], upserts=3, then=[clean_slices, upsert], done=is_cleaned_again),
    *_each(
        "clean_again",
        clean_slices,
        kinds=[MOR],
        then=[compact_slices, upsert, compact_slices, clean_slices, upsert, compact_slices, upsert],
        done=is_cleaned_again,
    ),
]
