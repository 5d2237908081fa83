"""Keys of a Hive job: what is read of which table, input paths, splits, columns.

``<table>`` in a name is ``hoodie.table.name``. A job has many keys of Hadoop and Hive beside these; only those that
begin with ``hoodie.`` are checked to be declared.
"""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import (
    Parser,
    any_text,
    boolean,
    byte_size,
    items,
    mapped,
    optional,
    positive,
    positive_size,
)

INPUT_FORMAT = Face.INPUT_FORMAT
_FACES: Final = (INPUT_FORMAT,)


def _max_commits(name: str, text: str) -> int:
    if text == "-1":
        return -1
    try:
        return positive(name, text)
    except InvalidOptionError as error:
        raise InvalidOptionError(
            f"option {name}={text!r} must be a whole number above zero, or -1", remedy="-1 stands for all commits"
        ) from error


# LATEST is the name that SNAPSHOT had in early releases.
CONSUME_MODE: Final = Option(
    "hoodie.<table>.consume.mode",
    mapped({"INCREMENTAL": True, "SNAPSHOT": False, "LATEST": False}),
    False,
    "Whether a range of commits is read, or a snapshot.",
    honoured_by=_FACES,
)
CONSUME_START: Final = Option(
    "hoodie.<table>.consume.start.timestamp",
    optional(any_text),
    None,
    "Begin of the range, exclusive; `0` or `earliest` is the beginning.",
    honoured_by=_FACES,
)
CONSUME_END: Final = Option(
    "hoodie.<table>.consume.end.timestamp",
    optional(any_text),
    None,
    "End of the range, inclusive; the newest commit by default.",
    honoured_by=_FACES,
)
CONSUME_MAX_COMMITS: Final = Option[int | None](
    "hoodie.<table>.consume.max.commits",
    Parser(_max_commits, "a whole number above zero, or -1 for all"),
    None,
    "Commits of the range, at most; 1 by default, or all with an end.",
    honoured_by=_FACES,
)
CONSUME_COMMIT: Final = Option(
    "hoodie.<table>.consume.commit",
    optional(any_text),
    None,
    "Snapshot as of exactly this commit.",
    honoured_by=_FACES,
)
CONSUME_SNAPSHOT_TIME: Final = Option(
    "hoodie.<table>.consume.snapshot.time",
    optional(any_text),
    None,
    "Snapshot as of any time.",
    honoured_by=_FACES,
)
CONSUME_PENDING_COMMITS: Final = Option(
    "hoodie.<table>.consume.pending.commits",
    boolean,
    False,
    "Snapshots: files of inflight commits count.",
    honoured_by=_FACES,
)
CONSUME_FILTER_ROWS: Final = Option(
    "hoodie.<table>.consume.filter.rows",
    boolean,
    True,
    "Ranges: only the rows that its commits wrote; false gives whole files, as Hive does.",
    honoured_by=_FACES,
)
STOP_AT_COMPACTION: Final = Option(
    "hoodie.<table>.ro.stop.at.compaction",
    boolean,
    True,
    "Ranges end before the first pending compaction.",
    honoured_by=_FACES,
)
USE_DATABASE: Final = Option(
    "hoodie.incremental.use.database",
    boolean,
    False,
    "The keys of a range name the table with its database, `<database>.<table>`.",
    honoured_by=_FACES,
)
MERGE_SKIP: Final = Option(
    "hoodie.realtime.merge.skip",
    boolean,
    False,
    "Show log records beside base rows; hoodie.datasource.merge.type goes before it.",
    honoured_by=_FACES,
)
HIVE_EVOLUTION: Final = Option(
    "hudi.hive.schema.evolution",
    boolean,
    True,
    "Columns with ids go by them; hoodie.schema.on.read.enable goes before it.",
    honoured_by=_FACES,
)


# -- Hadoop's and Hive's own -------------------------------------------------------------------------------------------

INPUT_DIR: Final = Option(
    "mapreduce.input.fileinputformat.inputdir",
    any_text,
    "",
    "Input paths, separated by commas; globs are expanded.",
    honoured_by=_FACES,
    aliases=("mapred.input.dir", "mapreduce.input.dir"),
)
INPUT_RECURSIVE: Final = Option(
    "mapreduce.input.fileinputformat.input.dir.recursive",
    boolean,
    False,
    "Plain folders: go down into sub-folders.",
    honoured_by=_FACES,
    aliases=("mapred.input.dir.recursive",),
)
SPLIT_MIN_SIZE: Final = Option(
    "mapreduce.input.fileinputformat.split.minsize",
    byte_size,
    1,
    "Bytes of a split, at least.",
    honoured_by=_FACES,
    aliases=("mapred.min.split.size",),
)
SPLIT_MAX_SIZE: Final = Option(
    "mapreduce.input.fileinputformat.split.maxsize",
    byte_size,
    0,
    "Combined splits: bytes of one, at most; without it those of `….split.minsize`.",
    honoured_by=_FACES,
    aliases=("mapred.max.split.size",),
)
SPLIT_MIN_SIZE_NODE: Final = Option(
    "mapreduce.input.fileinputformat.split.minsize.per.node",
    byte_size,
    0,
    "Combined splits: bytes of what is left of a node, at least, that makes a split of its own.",
    honoured_by=_FACES,
    aliases=("mapred.min.split.size.per.node",),
)
SPLIT_MIN_SIZE_RACK: Final = Option(
    "mapreduce.input.fileinputformat.split.minsize.per.rack",
    byte_size,
    0,
    "Combined splits: the same of a rack.",
    honoured_by=_FACES,
    aliases=("mapred.min.split.size.per.rack",),
)


def _block_size(name: str, default: int, of: str, aliases: tuple[str, ...] = ()) -> Option[int]:
    return Option(
        name, positive_size, default, f"Bytes of a block, and so of a split, {of}.", honoured_by=_FACES, aliases=aliases
    )


LOCAL_BLOCK_SIZE: Final = _block_size("fs.local.block.size", 32 << 20, "of local files")
S3_BLOCK_SIZE: Final = _block_size("fs.s3a.block.size", 32 << 20, "in S3")
GS_BLOCK_SIZE: Final = _block_size("fs.gs.block.size", 64 << 20, "in Google's storage")
AZURE_BLOCK_SIZE: Final = _block_size("fs.azure.block.size", 256 << 20, "in Azure's storage")
DFS_BLOCK_SIZE: Final = _block_size("dfs.blocksize", 128 << 20, "elsewhere", ("dfs.block.size",))

READ_COLUMN_NAMES: Final = Option[tuple[str, ...]](
    "hive.io.file.readcolumn.names", items, (), "Columns to read; all without it and the next.", honoured_by=_FACES
)
READ_COLUMN_IDS: Final = Option[tuple[str, ...]](
    "hive.io.file.readcolumn.ids", items, (), "Columns to read, as places in `columns`.", honoured_by=_FACES
)
COLUMNS: Final = Option[tuple[str, ...]](
    "columns", items, (), "The columns that Hive knows of the table.", honoured_by=_FACES
)
PARTITION_COLUMNS: Final = Option(
    "partition_columns", any_text, "", "Partition columns, which come last, separated by `/`.", honoured_by=_FACES
)
COLUMN_TYPES: Final = Option(
    "columns.types",
    any_text,
    "",
    "Hive's types of `columns`: tells filters without types of their own which texts are `char` or `varchar`.",
    honoured_by=_FACES,
)
READ_ALL_COLUMNS: Final = Option(
    "hive.io.file.read.all.columns",
    optional(boolean),
    None,
    "True: all columns are read, whatever the two keys of a projection say.",
    honoured_by=_FACES,
)
FILTER_EXPRESSION: Final = Option(
    "hive.io.filter.expr.serialized",
    any_text,
    "",
    "Condition on rows, as Hive serialises it: leaves out partitions, files and row groups.",
    honoured_by=_FACES,
)
FILTER_TEXT: Final = Option(
    "hive.io.filter.text",
    any_text,
    "",
    "The same as text, in which quotes are not escaped: for want of the other one, what of it is beyond doubt.",
    honoured_by=_FACES,
)
SARG: Final = Option(
    "sarg.pushdown",
    any_text,
    "",
    "The same as a search argument, for want of the serialised expression.",
    honoured_by=_FACES,
)

JOB_OPTIONS: Final = (
    CONSUME_MODE,
    CONSUME_START,
    CONSUME_END,
    CONSUME_MAX_COMMITS,
    CONSUME_COMMIT,
    CONSUME_SNAPSHOT_TIME,
    CONSUME_PENDING_COMMITS,
    CONSUME_FILTER_ROWS,
    STOP_AT_COMPACTION,
    USE_DATABASE,
    MERGE_SKIP,
    HIVE_EVOLUTION,
    INPUT_DIR,
    INPUT_RECURSIVE,
    SPLIT_MIN_SIZE,
    SPLIT_MAX_SIZE,
    SPLIT_MIN_SIZE_NODE,
    SPLIT_MIN_SIZE_RACK,
    LOCAL_BLOCK_SIZE,
    S3_BLOCK_SIZE,
    GS_BLOCK_SIZE,
    AZURE_BLOCK_SIZE,
    DFS_BLOCK_SIZE,
    READ_COLUMN_NAMES,
    READ_COLUMN_IDS,
    COLUMNS,
    PARTITION_COLUMNS,
    COLUMN_TYPES,
    READ_ALL_COLUMNS,
    FILTER_EXPRESSION,
    FILTER_TEXT,
    SARG,
)
