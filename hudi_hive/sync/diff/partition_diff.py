"""Compares the partitions of a table with those of the metastore, as Arrow tables.

Comes in: partition paths, their values, the metastore's names and locations. Goes out: what to add, move and drop.
Partitions are matched by the metastore's own name of them (``k1=v1/k2=v2``, escaped), which unlike the bare values is
unambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PartitionValueError
from hudi_hive.metastore.client import format_partition_name
from hudi_hive.sync.config import Extractor, multi_part
from hudi_hive.table.keys import unescape_value

PARTITIONS = pa.schema([("name", pa.string()), ("values", pa.list_(pa.string())), ("path", pa.string())])
"""A table's partitions: the metastore's name, the values, the path relative to the base path."""

REGISTERED = pa.schema([("name", pa.string()), ("location", pa.string()), ("input_format", pa.string())])
"""The metastore's partitions: name, location and the class that reads them."""


@dataclass(frozen=True)
class PartitionDiff:
    """Differences: ``add`` (``PARTITIONS``), ``move`` (``PARTITIONS`` with ``location``), ``drop`` (``REGISTERED``).

    ``unchanged`` counts partitions that are as they should be; ``touch`` (``PARTITIONS``) holds those of them that the
    metastore is told of; ``foreign`` names those that lie outside the base path and are left alone.
    """

    add: pa.Table
    move: pa.Table
    drop: pa.Table
    unchanged: int
    foreign: tuple[str, ...] = ()
    touch: pa.Table = field(default_factory=PARTITIONS.empty_table)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        return not (self.add.num_rows or self.move.num_rows or self.drop.num_rows or self.touch.num_rows)


def no_partitions() -> PartitionDiff:
    """Make the difference of partitions that are as they should be, or were not compared."""
    return PartitionDiff(PARTITIONS.empty_table(), PARTITIONS.empty_table(), REGISTERED.empty_table(), 0)


def partition_table(paths: Sequence[str], keys: Sequence[str], extractor: Extractor, *, decode: bool) -> pa.Table:
    """Make values and metastore names of partition paths, a table of ``PARTITIONS``.

    Args:
        paths: partition paths relative to the base path.
        keys: the partition keys.
        extractor: gives the values of a path.
        decode: un-escape ``%XX`` in the values.

    Raises:
        PartitionValueError: a path that the extractor does not take, whose values do not fit the keys, whose folders
            name the keys in another order, or that has the same values as another one; names the path.
    """
    values, names = [], []
    named = extractor is multi_part and len(keys) > 1
    for path in paths:
        of_path = extractor(path)
        if len(of_path) != len(keys):
            raise PartitionValueError(
                f"the extractor gives {len(of_path)} values for the {len(keys)} partition fields ({', '.join(keys)})",
                path=path,
                remedy="set hoodie.datasource.hive_sync.partition_fields and partition_extractor_class to fit",
            )
        if named:
            _check_names(path, keys)
        if decode:
            of_path = [unescape_value(value) for value in of_path]
        values.append(of_path)
        names.append(format_partition_name(keys, of_path))
    columns = [pa.array(names, pa.string()), pa.array(values, PARTITIONS.field("values").type)]
    table = pa.table([*columns, pa.array(paths, pa.string())], schema=PARTITIONS)
    _check_distinct(table)
    return table


def _check_names(path: str, keys: Sequence[str]) -> None:
    """Refuse a value that would go to one partition field while its folder names another one."""
    for key, part in zip(keys, path.split("/"), strict=False):
        name, separator, _ = part.partition("=")
        if separator and name.lower() != key.lower() and name.lower() in {item.lower() for item in keys}:
            raise PartitionValueError(
                f"folder {part!r} would give its value to the partition field {key}",
                path=path,
                remedy=f"give the partition fields in the order of the folders, not as {', '.join(keys)}",
            )


def _check_distinct(table: pa.Table) -> None:
    counts = table.group_by("name").aggregate([("path", "count"), ("path", "min"), ("path", "max")])
    double = counts.filter(pc.greater(counts["path_count"], 1))
    if double.num_rows:
        row = double.slice(0, 1).to_pylist()[0]
        raise PartitionValueError(
            f"partitions {row['path_min']} and {row['path_max']} have the same values ({row['name']})",
            path=row["path_max"],
            remedy="use an extractor that tells them apart",
        )


def locations_below(base_path: str, paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Locations of partition paths below a base path."""
    return pc.binary_join_element_wise(pa.scalar(base_path.rstrip("/")), paths, "/")


_SCHEME = "^[A-Za-z][A-Za-z0-9+.-]*:"


def plain_paths(locations: pa.ChunkedArray) -> pa.ChunkedArray:
    """Locations without scheme and authority, slashes single."""
    bare = pc.replace_substring_regex(locations, f"{_SCHEME}(//[^/]*)?", "")
    return pc.utf8_rtrim(pc.replace_substring_regex(bare, "/{2,}", "/"), "/")


def authorities(locations: pa.ChunkedArray) -> pa.ChunkedArray:
    """Authorities of locations, empty without one; ``file:`` for local files that say so."""
    authority = pc.struct_field(pc.extract_regex(locations, f"{_SCHEME}//(?P<authority>[^/]*)"), "authority")
    local = pc.match_substring_regex(locations, "^(?i:file):")
    return pc.if_else(local, pa.scalar("file:"), pc.fill_null(authority, ""))


def same_places(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether pairs of locations are the same place (as ``locations.same_location``); null where either is."""
    left, right = authorities(first), authorities(second)
    unknown = pc.or_(pc.equal(left, ""), pc.equal(right, ""))
    return pc.and_(pc.equal(plain_paths(first), plain_paths(second)), pc.or_(pc.equal(left, right), unknown))


def _is_below(base_path: str, locations: pa.ChunkedArray) -> pa.ChunkedArray:
    base = pa.chunked_array([[base_path]])
    authority = authorities(base)[0].as_py()
    inside = pc.starts_with(plain_paths(locations), plain_paths(base)[0].as_py() + "/")
    if not authority:
        return inside
    return pc.and_(inside, pc.is_in(authorities(locations), value_set=pa.array(["", authority])))


def diff_partitions(
    partitions: pa.Table,
    registered: pa.Table,
    base_path: str,
    *,
    drop_others: bool,
    drop: Iterable[str] = (),
    touch: Iterable[str] = (),
    redo: Iterable[str] = (),
) -> PartitionDiff:
    """Compare partitions with registered ones: what to add, move and drop.

    Args:
        partitions: the table's partitions that were looked at, ``PARTITIONS``.
        registered: the metastore's partitions of the same names, or all of them, ``REGISTERED``.
        base_path: the table's base path.
        drop_others: drop every registered partition below the base path that is not wanted (full comparison).
        drop: names to drop where they are registered (incremental comparison).
        touch: paths to touch where nothing else is to be done.
        redo: names of partitions to write anew as if they were at a wrong place.
    """
    rows = pc.index_in(partitions["name"], value_set=registered["name"].combine_chunks())
    by_name = partitions.append_column("location", registered["location"].take(rows))
    present = pc.is_valid(rows)
    target = locations_below(base_path, by_name["path"])
    same = pc.fill_null(same_places(by_name["location"], target), False)
    same = pc.and_(same, pc.invert(pc.is_in(by_name["name"], value_set=pa.array(list(redo), pa.string()))))
    add = by_name.filter(pc.invert(present)).select(PARTITIONS.names)
    move = by_name.filter(pc.and_(present, pc.invert(same)))
    touched = pc.and_(pc.and_(present, same), pc.is_in(by_name["path"], value_set=pa.array(list(touch), pa.string())))
    others = registered.filter(pc.invert(pc.is_in(registered["name"], value_set=partitions["name"].combine_chunks())))
    foreign: list[str] = []
    if drop_others:
        inside = _is_below(base_path, others["location"])
        foreign = others.filter(pc.invert(inside))["name"].to_pylist()
        gone = others.filter(inside)
    else:
        gone = others.filter(pc.is_in(others["name"], value_set=pa.array(list(drop), pa.string())))
    return PartitionDiff(
        add.sort_by("name"),
        move.sort_by("name"),
        gone.sort_by("name"),
        by_name.num_rows - add.num_rows - move.num_rows,
        tuple(sorted(foreign)),
        by_name.filter(touched).select(PARTITIONS.names).sort_by("name"),
    )
