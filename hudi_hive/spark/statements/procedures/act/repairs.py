"""Procedures that mend what damage or dead writers left: partition metafiles, properties, cleans, markers."""

from __future__ import annotations

import posixpath
import re
from typing import Final

import pyarrow as pa

from hudi_hive.errors import CorruptInstantError, InvalidPropertiesError, SparkError, WriteConflictError
from hudi_hive.formats import parse_properties
from hudi_hive.names import HOODIE_TABLE_CHECKSUM, HOODIE_TABLE_VERSION, HOODIE_TIMELINE_LAYOUT_VERSION
from hudi_hive.spark.bridge import store_options
from hudi_hive.spark.scan import location_of
from hudi_hive.spark.statements.procedures.act.target import refreshed, services_of
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient, update_properties
from hudi_hive.table.keys import METAFOLDER, PARTITION_METAFILES
from hudi_hive.table.view import FileKind, parse_file_names
from hudi_hive.timeline.instants import CLEAN
from hudi_hive.write.files import ensure_partition, remove_markers
from hudi_hive.write.service_base import is_beating

_DRY_RUN: Final = Parameter("dry_run", "boolean", default=True)
_INSTANT: Final = re.compile(r"[0-9]{1,17}")


def _add_partition_meta(call: ProcedureCall) -> Rows:
    client, dry = call.client, call.flag("dry_run")
    commits = client.timeline.write_instants()
    if not commits:
        raise SparkError(
            "CALL repair_add_partition_meta: the table has no commit", path=call.location, remedy="write rows first"
        )
    services = services_of(call)
    rows = []
    with services.context.lock():
        for partition in _data_folders(client):
            present = any(client.storage.exists(posixpath.join(partition, name)) for name in PARTITION_METAFILES)
            if not present and not dry:
                ensure_partition(client.storage, partition, commits[-1].requested)
            repaired = "Repaired" if not present and not dry else "None"
            rows.append([partition, "Yes" if present else "No", repaired])
    if not dry:
        refreshed(call)
    return rows


def _data_folders(client: MetaClient) -> list[str]:
    """Folders of the table with data files of Hudi in them, sorted; the base path itself is none."""
    paths = client.storage.list("", recursive=True).column("path").to_pylist()
    inside = [path for path in paths if "/" in path and path.split("/", 1)[0] != METAFOLDER]
    kinds = parse_file_names(pa.array([posixpath.basename(path) for path in inside], pa.string()))["kind"].to_pylist()
    return sorted({posixpath.dirname(path) for path, kind in zip(inside, kinds, strict=True) if kind != FileKind.OTHER})


def _migrate_partition_meta(call: ProcedureCall) -> Rows:
    if not call.flag("dry_run"):
        raise SparkError(
            "CALL repair_migrate_partition_meta: partition metafiles in the format of base files are not written",
            path=call.location,
            remedy="text metafiles are read by all releases; dry_run => true shows what there is",
        )
    storage = call.client.storage
    text, *others = PARTITION_METAFILES
    rows = []
    for partition in call.client.partition_paths():
        is_text = storage.exists(posixpath.join(partition, text))
        is_base = any(storage.exists(posixpath.join(partition, name)) for name in others)
        rows.append([partition, str(is_text).lower(), str(is_base).lower(), "MIGRATE" if is_text else "NONE"])
    return rows


def _overwrite_properties(call: ProcedureCall) -> Rows:
    path = location_of(str(call.value("new_props_file_path")))
    folder, name = posixpath.split(path)
    source = Storage(folder, store_options(call.hook.session, folder))
    new = parse_properties(source.read_bytes(name), path=path)
    new.pop(HOODIE_TABLE_CHECKSUM, None)
    services = services_of(call)
    with services.context.lock():
        client = services.context.client.reload()
        old = dict(client.config.properties)
        for key in (HOODIE_TABLE_VERSION, HOODIE_TIMELINE_LAYOUT_VERSION):
            if new.get(key) != old.get(key):
                raise InvalidPropertiesError(
                    f"{path} has {key}={new.get(key)}, the table {old.get(key)}, which its files are written by",
                    path=call.location,
                    remedy="leave it as it is",
                )
        removed = {key: None for key in old if key not in new and key != HOODIE_TABLE_CHECKSUM}
        after = update_properties(client.storage, {**new, **removed}).properties
    refreshed(call)
    return [[key, old.get(key, "null"), after.get(key, "null")] for key in sorted({*old, *after})]


def _corrupted_cleans(call: ProcedureCall) -> Rows:
    """Take cleans off the timeline whose plans cannot be decoded; nothing of them was done yet."""
    services = services_of(call)
    with services.context.lock():
        now = services.context.reload()
        for pending in now.client.timeline.pending({CLEAN}):
            try:
                now.client.timeline.cleaner_plan(pending)
            except CorruptInstantError:
                now.writer.delete(pending)
    refreshed(call)
    return [[True]]


def _delete_marker(call: ProcedureCall) -> Rows:
    """Delete the markers of one write, or of several whose times stand between commas."""
    instants = [one.strip() for one in str(call.value("instant_time")).split(",")]
    for instant in instants:
        if _INSTANT.fullmatch(instant) is None:
            raise SparkError(
                f"CALL delete_marker: {instant!r} is no instant time", remedy="digits, as show_timeline has"
            )
    services = services_of(call)
    with services.context.lock():
        now = services.context.reload()
        for instant in instants:
            if is_beating(now, instant):
                raise WriteConflictError(
                    "CALL delete_marker: its writer is at work",
                    path=call.location,
                    instant=instant,
                    remedy="wait until the write has ended",
                )
        for instant in instants:
            remove_markers(services.context.client.storage, instant)
    return [[True]]


REPAIR_PROCEDURES: Final = (
    Procedure(
        "repair_add_partition_meta",
        "partition_path string, metadata_is_present string, action string",
        _add_partition_meta,
        (TABLE, _DRY_RUN, PATH),
        "Writes the metafiles that partitions with data files miss.",
        changes=True,
    ),
    Procedure(
        "repair_migrate_partition_meta",
        "partition_path string, text_metafile_present string, base_metafile_present string, action string",
        _migrate_partition_meta,
        (TABLE, _DRY_RUN, PATH),
        "Shows in which format the metafiles of partitions are; a migration is refused.",
    ),
    Procedure(
        "repair_overwrite_hoodie_props",
        "property string, old_value string, new_value string",
        _overwrite_properties,
        (TABLE, Parameter("new_props_file_path", required=True), PATH),
        "Replaces hoodie.properties by another file.",
        changes=True,
    ),
    Procedure(
        "repair_corrupted_clean_files",
        "result boolean",
        _corrupted_cleans,
        (TABLE, PATH),
        "Takes planned cleans off the timeline whose plans are damaged.",
        changes=True,
    ),
    Procedure(
        "delete_marker",
        "delete_marker_result boolean",
        _delete_marker,
        (TABLE, Parameter("instant_time", required=True), PATH),
        "Deletes the markers of a write.",
        changes=True,
    ),
)
