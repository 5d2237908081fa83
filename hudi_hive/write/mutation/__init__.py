"""Inserts, updates and deletes of records by key as one commit."""

from __future__ import annotations

from hudi_hive.write.mutation.mutation_writer import MutationPlan, MutationWriter

__all__ = [
    "MutationPlan",
    "MutationWriter",
]
