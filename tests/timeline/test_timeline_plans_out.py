"""Plans and metadata of table services: what we write is what real Hudi wrote, read, and written again."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.formats.avro import is_container, read_container
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.payloads import plans
from hudi_hive.timeline.payloads.payload import Fields
from hudi_hive.timeline.payloads.plan_encoders import (
    encode_clean_metadata,
    encode_cleaner_plan,
    encode_compaction_plan,
    encode_requested_replace,
    encode_restore_metadata,
    encode_restore_plan,
    encode_rollback_metadata,
    encode_rollback_plan,
    encode_savepoint_metadata,
    full_path,
)
from tests.support.fixture_tables import VERSIONS, fixture_names, unzip_fixture

BASE = "file:/lake/t"
AT = Instant("20260101000000000", "x", State.REQUESTED, None, "", "")

_Encode = Callable[[Any, int], bytes]
_Decode = Callable[[Fields, Instant], Any]

WAYS: dict[str, tuple[_Decode, _Encode]] = {
    "HoodieCompactionPlan": (plans.decode_compaction_plan, encode_compaction_plan),
    "HoodieRequestedReplaceMetadata": (
        plans.decode_clustering_plan,
        lambda plan, layout: encode_requested_replace(plan, BASE, layout),
    ),
    "HoodieCleanerPlan": (plans.decode_cleaner_plan, lambda plan, layout: encode_cleaner_plan(plan, BASE)),
    "HoodieCleanMetadata": (plans.decode_clean_metadata, lambda metadata, layout: encode_clean_metadata(metadata)),
    "HoodieRollbackPlan": (plans.decode_rollback_plan, lambda plan, layout: encode_rollback_plan(plan, BASE)),
    "HoodieRollbackMetadata": (
        plans.decode_rollback_metadata,
        lambda metadata, layout: encode_rollback_metadata(metadata, BASE),
    ),
    "HoodieRestorePlan": (plans.decode_restore_plan, lambda plan, layout: encode_restore_plan(plan)),
    "HoodieRestoreMetadata": (
        plans.decode_restore_metadata,
        lambda metadata, layout: encode_restore_metadata(metadata, BASE),
    ),
    "HoodieSavepointMetadata": (
        plans.decode_savepoint_metadata,
        lambda metadata, layout: encode_savepoint_metadata(metadata),
    ),
}


def decode(decoder: _Decode, data: bytes, requested: str = AT.requested) -> Any:
    (record,) = read_container(data, "x")
    return decoder(Fields(record, "x", requested), replace(AT, requested=requested))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_real_hudi_wrote_is_written_again(version: int) -> None:
    layout, seen = (1 if version == 6 else 2), set()
    for name in fixture_names(version=version):
        folder = Path(unzip_fixture(name)) / ".hoodie"
        for path in [*folder.glob("2*"), *folder.glob("timeline/2*")]:
            data = path.read_bytes()
            if not is_container(data):
                continue
            kind = str(fastavro.reader(io.BytesIO(data)).writer_schema["name"]).rpartition(".")[2]
            if kind not in WAYS:
                continue
            decoder, encoder = WAYS[kind]
            requested = path.name.partition(".")[0].partition("_")[0]
            value = decode(decoder, data, requested)
            again = decode(decoder, encoder(value, layout), requested)
            assert again == value, path.name
            assert encoder(again, layout)[:4] == data[:4]
            seen.add(kind)
    assert len(seen) >= 7, seen


def test_a_plan_read_from_a_table_is_written_again() -> None:
    client = MetaClient.load(unzip_fixture("v8_mor_parquet_log_rollback"))
    (instant,) = [
        i for i in client.timeline.write_instants() if client.timeline.commit_metadata(i).operation == "CLUSTER"
    ]
    plan = client.timeline.requested_replace_metadata(instant)
    assert plan.strategy_params == {"hoodie.clustering.plan.strategy.sort.columns": "sku"}
    assert plan.output_groups == (1, 1)
    again = decode(plans.decode_clustering_plan, encode_requested_replace(plan, BASE, output_groups={0: 3}))
    assert again.output_groups == (3, 1)
    assert again.slices.equals(plan.slices)


def test_paths_in_plans_are_full() -> None:
    assert full_path("file:/lake/t/", "a/b", "f") == "file:/lake/t/a/b/f"
    assert full_path("s3a://bucket/t", "", "f") == "s3a://bucket/t/f"


_NAMES = st.text(st.characters(blacklist_characters="/", blacklist_categories=["Cs"]), min_size=1, max_size=12)
_PARTITIONS = st.lists(_NAMES, max_size=3).map("/".join)


@given(st.lists(st.tuples(_PARTITIONS, _NAMES), max_size=8), st.lists(_PARTITIONS, max_size=3))
def test_any_names_survive_a_clean(files: list[tuple[str, str]], dropped: list[str]) -> None:
    ordered = sorted(files, key=lambda file: [p for p, _ in files].index(file[0]))  # by partition, as first seen
    table = pa.table(
        [pa.array([p for p, _ in ordered], pa.string()), pa.array([n for _, n in ordered], pa.string())],
        schema=plans.CLEAN_FILES_SCHEMA,
    )
    plan = plans.CleanerPlan(AT, "KEEP_LATEST_COMMITS", None, None, table, tuple(dropped), {"a": "b"})
    assert decode(plans.decode_cleaner_plan, encode_cleaner_plan(plan, BASE)) == plan


@given(st.dictionaries(_PARTITIONS, st.dictionaries(_NAMES, st.integers(0, 1 << 62), max_size=3), max_size=3))
def test_any_names_survive_a_rollback(logs: dict[str, dict[str, int]]) -> None:
    partitions = {path: plans.RollbackPartition(("f",), (), sizes, {}) for path, sizes in logs.items()}
    metadata = plans.RollbackMetadata(AT, ("1",), (("1", "commit"),), len(logs), partitions)
    assert decode(plans.decode_rollback_metadata, encode_rollback_metadata(metadata, BASE)) == metadata
