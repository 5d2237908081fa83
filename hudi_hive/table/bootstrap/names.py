"""Names of the base files that a bootstrap wrote.

Source: docs/format.md#bootstrapped-tables.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.timeline.instants import METADATA_BOOTSTRAP_INSTANT

RESTORE_SOURCE: Final = "restore the source as it was when the table was bootstrapped"
"""Remedy of errors about files of the source that are not what they were."""


def is_skeleton(path: str) -> bool:
    """Whether a base file's name is that of a skeleton, which has no columns but the meta columns.

    Args:
        path: the file's name, or its path.
    """
    stem, _, extension = path.rpartition("/")[2].rpartition("_")[2].partition(".")
    return stem == METADATA_BOOTSTRAP_INSTANT and extension.lower() in ("parquet", "orc")


def of_skeletons(slices: pa.Table) -> pa.Array:
    """Which file slices have a skeleton for their base file.

    Args:
        slices: columns ``base_instant`` and ``base_file``, as of a plan.
    """
    ours = pc.equal(slices.column("base_instant"), METADATA_BOOTSTRAP_INSTANT)
    there = pc.is_valid(slices.column("base_file"))
    return pa.array(pc.and_(ours, there).to_numpy(zero_copy_only=False), pa.bool_())
