"""One commit of a writer, from the requested instant to the completed one; and the first commit of a new table."""

from __future__ import annotations

from hudi_hive.write.commit.creation import Creation, creating, finish_creation, remove_unfinished
from hudi_hive.write.commit.metadata_changes import metadata_changes
from hudi_hive.write.commit.new_table import discarded_on_failure, in_place_of
from hudi_hive.write.commit.staged import StagedCommit, Validate
from hudi_hive.write.commit.transaction import WriteTransaction

__all__ = [
    "Creation",
    "StagedCommit",
    "Validate",
    "WriteTransaction",
    "creating",
    "discarded_on_failure",
    "finish_creation",
    "in_place_of",
    "metadata_changes",
    "remove_unfinished",
]
