"""Plans and outcomes of ``indexing``: which partitions of the metadata table are built, and up to which instant.

Source: RFC-45, docs/format.md#avro-records-of-the-timeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hudi_hive.formats.avro import write_container
from hudi_hive.timeline.payloads.avro_models import model_schema
from hudi_hive.timeline.payloads.payload import Fields


@dataclass(frozen=True)
class IndexPlan:
    """A plan to build partitions of the metadata table.

    Attributes:
        partitions: their names.
        up_to: requested time of the write up to which the table's files are read; empty where it is not told.
    """

    partitions: tuple[str, ...]
    up_to: str


def encode_index_plan(plan: IndexPlan, layout: int) -> bytes:
    """Encode the plan of an indexing.

    Args:
        plan: the plan.
        layout: timeline layout version.
    """
    record = {"version": 1, "indexPartitionInfos": _partition_infos(plan.partitions, plan.up_to, layout)}
    return write_container(model_schema("HoodieIndexPlan", layout), [record])


def encode_index_commit(plan: IndexPlan, layout: int) -> bytes:
    """Encode the outcome of an indexing: the partitions that were built, and the instant that they have caught up to.

    Args:
        plan: those partitions, and that instant.
        layout: timeline layout version.
    """
    infos = _partition_infos(plan.partitions, plan.up_to, layout)
    record = {"version": 1, "operationType": None, "indexPartitionInfos": infos}
    return write_container(model_schema("HoodieIndexCommitMetadata", layout), [record])


def decode_index_plan(fields: Fields) -> IndexPlan:
    """Decode a ``HoodieIndexPlan`` or ``HoodieIndexCommitMetadata`` record.

    Raises:
        CorruptInstantError: a field has another type.
    """
    infos = fields.children("indexPartitionInfos")
    names = [info.text("metadataPartitionPath") for info in infos]
    times = [info.text("indexUptoInstant") or "" for info in infos]
    return IndexPlan(tuple(name for name in names if name), min(times, default=""))


def _partition_infos(partitions: Sequence[str], up_to: str, layout: int) -> list[dict[str, object]]:
    infos: list[dict[str, object]] = [
        {"version": 1, "metadataPartitionPath": name, "indexUptoInstant": up_to} for name in partitions
    ]
    return [{**info, "extraMetadata": {}} for info in infos] if layout == 2 else infos
