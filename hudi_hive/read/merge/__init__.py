"""Merges log records with the rows of their base file, by column."""

from __future__ import annotations

from hudi_hive.read.merge.custom import CustomMerge
from hudi_hive.read.merge.error_paths import errors_at
from hudi_hive.read.merge.folding import fold, log_events, no_ordering, soft_deletes
from hudi_hive.read.merge.keys import distinct_keys, record_keys
from hudi_hive.read.merge.merge import merge_slice
from hudi_hive.read.merge.ordering_values import Ints, as_numbers, not_less, ordering_columns, ranks
from hudi_hive.read.merge.part_file import PartFile
from hudi_hive.read.merge.part_folder import part_folder
from hudi_hive.read.merge.partial import default_of, keeps
from hudi_hive.read.merge.parts import MergeParts, in_share, merge_in_parts

__all__ = [
    "CustomMerge",
    "Ints",
    "MergeParts",
    "PartFile",
    "as_numbers",
    "default_of",
    "distinct_keys",
    "errors_at",
    "fold",
    "in_share",
    "keeps",
    "log_events",
    "merge_in_parts",
    "merge_slice",
    "no_ordering",
    "not_less",
    "ordering_columns",
    "part_folder",
    "ranks",
    "record_keys",
    "soft_deletes",
]
