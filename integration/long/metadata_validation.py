"""Every partition of the metadata tables that we write, validated by real Hudi's classes after each action of ours.

    python -m integration.long.metadata_validation [--version 9] [--type MERGE_ON_READ] [--indexes all]

After each action Hudi compares what ``HoodieMetadataTableValidator`` compares (``HudiPeer.compare_metadata``): the
partitions, latest base files, latest file slices and all file groups that it lists by the metadata table with those of
the folders; statistics and bloom filters with those that it reads of the files; records of the record index and of the
secondary index with the rows of its query. Statistics of partitions are compared with those of their files together.
In the end the metadata table is damaged, a part at a time, each of which Hudi must report.

``indexes`` says how the indexes come: ``all`` has them from the first write on, ``built`` builds them beside the
second, ``parted`` has a record index of each partition.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from hudi_hive.table import MetaClient
from integration.long.metadata_actions import OPTIONS, Life
from integration.support.action_runs import chosen_tables, print_at_once, print_counts, run_actions
from integration.support.hudi_peer import HudiPeer
from integration.support.matrix import TYPES, VERSIONS, DifferenceError
from tests.support.column_indexes import refuse_differences
from tests.support.index_builds import in_the_middle, services

INDEXES = ("all", "built", "parted")
TABLES = tuple(
    (version, kind, indexes)
    for version, kind, indexes in product(VERSIONS, TYPES, INDEXES)
    if indexes != "parted" or version >= 9
)
"""The tables that there are: record indexes of each partition came with version 9."""

_WITH_PARTITIONS = {**OPTIONS, "hoodie.metadata.index.partition.stats.enable": "true"}
_PARTED = {
    **{name: value for name, value in _WITH_PARTITIONS.items() if "record.index" not in name},
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.record.level.index.min.filegroup.count": "2",
}
_BESIDE = {"hoodie.metadata.index.async": "true"}
_NO_INDEXES = {
    **OPTIONS,
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.record.index.enable": "false",
    "hoodie.metadata.index.bloom.filter.enable": "false",
}
_NO_KINDS = ("partitions", "latest base files", "latest file slices", "all file groups")
_KINDS = (*_NO_KINDS, "column stats", "bloom filters", "record index")
_DAMAGES = {
    "files": "latest base files",
    "column_stats": "column stats",
    "partition_stats": "partition stats",
    "bloom_filters": "bloom filters",
    "record_index": "record index",
    "secondary_index_by_name": "secondary index",
}
"""Folder of the metadata table -> what Hudi compares it with."""


@dataclass
class Validated(Life):
    """One table, action by action.

    Attributes:
        indexes: one of :data:`INDEXES`.
        stale: folder of what the metadata table was before the last write.
        compared: entries that Hudi compared, of each kind.
    """

    indexes: str = "all"
    stale: Path = Path()
    compared: Counter[str] = field(default_factory=Counter)

    def actions(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of our actions and what does them, in their order."""
        (name, first), *others = super().actions()
        last = others.pop()
        if self.indexes == "built":
            complete, self.options = self.options, _NO_INDEXES
            yield name, first
            yield "builds beside upserts", lambda: self.build(complete)
        else:
            yield name, first
        if self.version >= 8 and self.indexes != "parted":
            yield "secondary and expression indexes", self.create_indexes
        yield from others
        yield last
        yield "upsert behind a copy", self.copy_and_upsert

    def new_rows(self, keys: range, part: str | None = None) -> list[dict[str, Any]]:
        """Rows as of the parent, some of them without a name."""
        return [
            {**row, "name": row["name"] if int(row["id"][1:]) % 5 else None} for row in super().new_rows(keys, part)
        ]

    def build(self, complete: Mapping[str, str]) -> None:
        """Build the indexes, the first one beside an upsert of a writer that has no option of it."""
        metadata = services(self.path, {**complete, **_BESIDE}).metadata
        with in_the_middle(lambda: self.table.upsert(self.put(self.new_rows(range(6, 14))), self.options)):
            metadata.build()
        self.options = complete

    def create_indexes(self) -> None:
        """One secondary index and an expression index of each kind; beside an upsert where indexes are built."""
        beside = _BESIDE if self.indexes == "built" else {}
        metadata = services(self.path, {**self.options, **beside}).metadata
        upsert = partial(self.table.upsert, options=self.options)
        with in_the_middle(lambda: upsert(self.put(self.new_rows(range(4, 9))))) if beside else nullcontext():
            metadata.create_index("by_name", "secondary_index", ["name"])
        metadata.create_index("by_length", "column_stats", ["name"], {"expr": "length"})
        metadata.create_index("by_upper", "bloom_filters", ["name"], {"expr": "upper"})

    def copy_and_upsert(self) -> None:
        """Write behind a copy of the metadata table, which then lacks new keys, values, files and a partition."""
        shutil.copytree(self.path / ".hoodie" / "metadata", self.stale)
        self.table.upsert(self.put([*self.new_rows(range(2, 7)), *self.new_rows(range(40, 44), "w")]), self.options)

    def expected_kinds(self) -> list[str]:
        """What Hudi must have compared, of what the table's properties list."""
        lists = MetaClient.load(self.path).config.metadata_partitions
        more = {"partition_stats": "partition stats", "secondary_index_by_name": "secondary index"}
        return [*_KINDS, *(kind for name, kind in more.items() if name in lists)]

    def validate(self) -> None:
        """Refuse differences that Hudi sees, and those of expression indexes, of which its validator tells nothing."""
        seen = self.peer.compare_metadata(self.path)
        if seen.differences:
            raise DifferenceError("; ".join(seen.differences))
        kinds = _NO_KINDS if self.options is _NO_INDEXES else self.expected_kinds()
        if lacking := [kind for kind in kinds if not seen.counts.get(kind)]:
            raise DifferenceError(f"not compared: {', '.join(lacking)}")
        self.compared.update(seen.counts)
        refuse_differences(self.path)

    def damages(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of damages, and what looks that Hudi reports each: a partition of the metadata table as of before."""
        for folder, kind in _DAMAGES.items():
            if (self.stale / folder).is_dir():
                yield f"damaged {folder}", partial(self.damage, folder, kind)

    def damage(self, folder: str, kind: str) -> None:
        """Put an older folder in place of one of the metadata table; Hudi must see that it differs."""
        live = self.path / ".hoodie" / "metadata" / folder
        aside = live.rename(self.stale.with_name(f"{self.stale.name}_{folder}"))
        shutil.copytree(self.stale / folder, live)
        seen = self.peer.compare_metadata(self.path)
        shutil.rmtree(live)
        aside.rename(live)
        if not any(difference.startswith(f"{kind}: ") for difference in seen.differences):
            raise DifferenceError(f"Hudi does not see it: {seen.differences}")


def run(
    version: int,
    kind: str,
    indexes: str,
    peer: HudiPeer,
    path: Path,
    tell: Callable[[str], object] = print_at_once,
    seen: Container[str] | None = None,
) -> tuple[int, int]:
    """One table's life.

    Args:
        version: table version.
        kind: table type.
        indexes: one of :data:`INDEXES`.
        peer: real Hudi of the version's release.
        path: base path of the table, not there yet.
        tell: is told what became of each action.
        seen: actions after which Hudi looks; all without it.

    Returns:
        How many actions and damages there were, and how many of them Hudi saw as they should be.
    """
    options = _PARTED if indexes == "parted" else _WITH_PARTITIONS
    stale = path.with_name(f"{path.name}_stale")
    life = Validated(path, version, kind, peer, options, indexes=indexes, stale=stale)
    life.create()
    label = f"{version} {kind} {indexes}"

    def look(name: str) -> str:
        if seen is None or name in seen:
            life.validate()
        return ""

    counts = [
        run_actions(label, life.actions(), look, tell),
        run_actions(label, life.damages(), lambda _: "", tell),
    ]
    total, passed = (sum(pair) for pair in zip(*counts, strict=True))
    tell(f"{label}: {passed} of {total}; compared {dict(life.compared)}")
    return total, passed


def main() -> int:
    """Run the chosen tables; print a line for each action and the numbers."""
    counts = []
    with chosen_tables(__doc__, version=VERSIONS, type=TYPES, indexes=INDEXES) as (chosen, folder):
        for version in chosen.version:
            with HudiPeer(version) as peer:
                counts += [
                    run(*table, peer, folder / "_".join(map(str, table)))
                    for table in TABLES
                    if table[0] == version and table[1] in chosen.type and table[2] in chosen.indexes
                ]
    return print_counts(counts)


if __name__ == "__main__":
    sys.exit(main())
