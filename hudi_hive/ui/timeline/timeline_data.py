"""The data of the timeline page: instants with write statistics, and file groups with when each file was written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileKind, parse_file_names
from hudi_hive.timeline import Instant

BASE, LOG = "base", "log"


@dataclass(frozen=True)
class InstantMark:
    """One instant; ``records`` counts inserts, updates and deletes of a write."""

    instant: Instant
    operation: str | None = None
    partitions: int | None = None
    files: int | None = None
    bytes_written: int | None = None
    records: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class FileMark:
    """One file of a group: ``BASE`` or ``LOG``, whether it is still in storage, its size in bytes if known."""

    kind: str
    instant: str
    name: str
    present: bool
    size: int | None


@dataclass
class GroupRow:
    """One file group, its files in order of writing, and the completed instant that replaced it."""

    partition: str
    file_id: str
    files: list[FileMark] = field(default_factory=list)
    replaced: str | None = None

    @property
    def newest(self) -> str:
        """Instant of its newest file."""
        return max(mark.instant for mark in self.files)


@dataclass(frozen=True)
class TimelinePicture:
    """All data of the page; ``groups_total`` also counts the groups, ``instants_before`` the instants not drawn."""

    title: str
    facts: tuple[tuple[str, str], ...]
    instants: tuple[InstantMark, ...]
    groups: tuple[GroupRow, ...]
    groups_total: int
    instants_before: int = 0


def collect(
    client: MetaClient,
    *,
    archived: bool = False,
    max_groups: int = 200,
    with_groups: bool = True,
    max_instants: int | None = None,
    until: str | None = None,
) -> TimelinePicture:
    """Collect the data of a table: one read per completed write and one listing per partition.

    Args:
        client: the table.
        archived: archived instants too.
        max_groups: the most recently written groups that are drawn.
        with_groups: whether file groups are drawn at all; no partition is listed without them.
        max_instants: the newest instants that are drawn; all without it.
        until: only instants requested before this one.

    Raises:
        HudiHiveError: the table cannot be read.
    """
    timeline = client.timeline
    instants = list(timeline.instants)
    if archived:
        active = set(instants)
        instants = sorted({*timeline.archived().instants, *active}, key=lambda instant: instant.sort_key)
    count = len(instants)
    if until is not None:
        instants = [instant for instant in instants if instant.requested < until]
    before = 0 if max_instants is None else max(0, len(instants) - max_instants)
    groups = _groups(client) if with_groups else []
    total = len(groups)
    drawn = sorted(groups, key=lambda row: row.newest, reverse=True)[:max_groups]
    config = client.config
    facts = {
        "path": client.base_path,
        "type": config.table_type.replace("_", "-").lower(),
        "table version": str(config.version),
        "partition columns": ", ".join(config.partition_fields) or "none",
        "record key": ", ".join(config.record_keys) or "none",
        "instants": f"{count:,}",
        "time zone of instants": config.timezone,
        "pending": f"{len(timeline.pending()):,}",
        "partitions": f"{len({row.partition for row in groups}):,}",
        "file groups": f"{total:,}",
    }
    return TimelinePicture(
        title=config.name,
        facts=tuple(facts.items()),
        instants=tuple(_mark(client, instant) for instant in instants[before:]),
        groups=tuple(sorted(drawn, key=lambda row: (row.partition, row.files[0].instant, row.file_id))),
        groups_total=total,
        instants_before=before,
    )


def _mark(client: MetaClient, instant: Instant) -> InstantMark:
    if not (instant.is_completed and instant.is_write) or instant not in client.timeline.instants:
        return InstantMark(instant)
    metadata = client.timeline.commit_metadata(instant)
    stats = metadata.write_stats
    inserts, updates, deletes, size = (
        pc.sum(stats[name]).as_py() or 0 for name in ("num_inserts", "num_updates", "num_deletes", "file_size")
    )
    return InstantMark(
        instant,
        operation=metadata.operation.lower().replace("_", " "),
        partitions=len(metadata.partitions_touched()),
        files=stats.num_rows,
        bytes_written=size,
        records=(inserts, updates, deletes),
    )


def _groups(client: MetaClient) -> list[GroupRow]:
    """All file groups: files that active commits wrote, and files in storage that older ones did."""
    timeline = client.timeline
    listed = client.list_files()
    slices = client.file_system_view(files=listed).file_slices()
    stored = dict(
        zip(zip(*_columns(listed, "partition", "name"), strict=True), listed["size"].to_pylist(), strict=True)
    )
    rows: dict[tuple[str, str], GroupRow] = {}
    seen: set[tuple[str, str]] = set()

    def add(partition: str, file_id: str, mark: FileMark) -> None:
        if (partition, mark.name) not in seen:
            seen.add((partition, mark.name))
            rows.setdefault((partition, file_id), GroupRow(partition, file_id)).files.append(mark)

    for instant in timeline.write_instants():
        stats = timeline.commit_metadata(instant).write_stats
        paths = [path or "" for path in stats["path"].to_pylist()]
        names = [path.rpartition("/")[2] for path in paths]
        kinds = parse_file_names(pa.array(names, pa.string()))["kind"].to_pylist()
        columns = _columns(stats, "partition", "file_id", "file_size")
        for partition, file_id, size, name, kind in zip(*columns, names, kinds, strict=True):
            if kind in (FileKind.BASE, FileKind.LOG) and file_id is not None:
                shape = BASE if kind == FileKind.BASE else LOG
                present = (partition, name) in stored
                add(partition, file_id, FileMark(shape, instant.requested, name, present, size))
    for row in slices.to_pylist():
        partition, file_id, instant_text = row["partition"], row["file_id"], row["base_instant"]
        if row["base_file"] is not None:
            add(partition, file_id, FileMark(BASE, instant_text, row["base_file"], True, row["base_size"]))
        for name, size in zip(row["log_files"], row["log_sizes"], strict=True):
            add(partition, file_id, FileMark(LOG, instant_text, name, True, size))
    for row in timeline.replaced_file_groups().to_pylist():
        if (group := rows.get((row["partition"], row["file_id"]))) is not None:
            group.replaced = row["instant"]
    for group in rows.values():
        group.files.sort(key=lambda mark: (mark.instant, mark.kind == LOG, mark.name))
    return list(rows.values())


def _columns(table: pa.Table, *names: str) -> Iterable[list[object]]:
    return [table[name].to_pylist() for name in names]
