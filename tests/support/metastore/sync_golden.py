"""Replays the syncs of real hive-sync with ours and compares what the metastore then holds, field by field.

The golden dumps (``tests/data/hive-sync-golden``) hold what Hudi 1.0.2 put into a metastore. A ``World`` holds the same
tables in a folder of its own and a metastore client; its ``sync`` runs one scenario, ``differences`` compares one table
with a dump. Where a rule of ours (docs/format/rules.md) makes the result another one, an adjustment below turns real
hive-sync's dump into what ours must be, and names the rule; everything else must be equal.
"""

from __future__ import annotations

import copy
import functools
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hudi_hive.metastore.client import format_partition_name
from hudi_hive.table.keys import unescape_value
from tests.support.fixture_tables import GOLDEN, _session_folder

K = "hoodie.datasource.hive_sync."
BASE_PATH = "hoodie.datasource.meta.sync.base.path"

NEVER_MADE = {
    "multi_wrong": "13: partition values are checked before anything is created",
    "multi_single": "13: partition values are checked before anything is created",
    "nullhour": "13: partition values are checked before anything is created",
    "fail_ignore": "13: ignore_exceptions is refused",
}
"""Tables that real hive-sync leaves half-made after an error; ours does not make them."""


# -- the golden files ----------------------------------------------------------------------------------------------


@functools.cache
def dump(name: str) -> dict[str, Any]:
    """A golden dump by the start of its file name."""
    (path,) = GOLDEN.glob(f"{name}*.json")
    return json.loads(path.read_text())


@functools.cache
def scenarios(name: str) -> list[dict[str, Any]]:
    """The sync calls that led to a dump."""
    found = json.loads((GOLDEN / "scenarios.json").read_text())
    (key,) = [key for key in found if key.startswith(name)]
    return [entry for entry in found[key] if "config" in entry]


@functools.cache
def stages() -> dict[str, dict[str, str]]:
    """Dump -> table -> folder of its state."""
    return json.loads((GOLDEN / "stages.json").read_text())


@functools.cache
def inputs(archive: str) -> Path:
    """Folder with the unpacked tables of ``stages`` or ``misc``; not to be changed."""
    folder = _session_folder() / f"golden_{archive}"
    with zipfile.ZipFile(GOLDEN / f"inputs-{archive}.zip") as file:
        file.extractall(folder)
    return folder


def compared(name: str) -> list[str]:
    """Tables of a dump that are compared: all of them."""
    return list(dump(name)["tables"])


# -- where ours must differ ----------------------------------------------------------------------------------------

Adjust = Callable[[dict[str, Any]], None]


def without(*values: str) -> Adjust:
    """docs/format/rules.md#dropped-partitions: partitions whose files were replaced or cleaned are not registered."""

    def adjust(table: dict[str, Any]) -> None:
        table["partitions"] = [p for p in table["partitions"] if p["values"][0] not in values]
        keys = [key[0] for key in table["table"]["partitionKeys"]]
        table["partition_names"] = [_name(keys, p["values"]) for p in table["partitions"]]

    return adjust


def decoded(table: dict[str, Any]) -> None:
    """docs/format/rules.md#encoded-partition-values: ``decode_partition`` decodes a value once, before it is stored."""
    for partition in table["partitions"]:
        partition["values"] = [unescape_value(value) for value in partition["values"]]
    keys = [key[0] for key in table["table"]["partitionKeys"]]
    table["partition_names"] = [_name(keys, p["values"]) for p in table["partitions"]]


def stamped(requested: str, completed: str) -> Adjust:
    """docs/format/rules.md#sync-fails-loudly: a sync that fails in real hive-sync succeeds, so its stamp moves."""

    def adjust(table: dict[str, Any]) -> None:
        table["table"]["parameters"]["last_commit_time_sync"] = requested
        table["table"]["parameters"]["last_commit_completion_time_sync"] = completed

    return adjust


def like(other_dump: str, other: str, base: tuple[str, str] | None = None, *, managed: bool = False) -> Adjust:
    """The table is as real hive-sync makes another one, whose options say what ours reads from the table."""

    def adjust(table: dict[str, Any]) -> None:
        text = json.dumps(dump(other_dump)["tables"][other])
        if base is not None:
            text = text.replace(f"BASE_PATH/{base[0]}", f"BASE_PATH/{base[1]}")
        name = table["table"]["tableName"]
        database = table["table"]["dbName"]
        table.clear()
        table.update(json.loads(text))
        for item in [table["table"], *table["partitions"]]:
            item["tableName"], item["dbName"] = name, database
        if managed:
            table["table"]["tableType"] = "MANAGED_TABLE"
            del table["table"]["parameters"]["EXTERNAL"]

    return adjust


def qualified(table: dict[str, Any]) -> None:
    """docs/format/rules.md#moved-partitions: create time is kept, the location has a scheme as all others have."""
    for partition in table["partitions"]:
        if partition["createTime"] == 0:
            partition["createTime"] = "EPOCH_SECONDS"
            partition["sd"]["location"] = f"file:{partition['sd']['location']}"


def bucketed(table: dict[str, Any]) -> None:
    """``bucket_sync`` does in ``hms`` mode what it says, as in the SQL modes (dump 51, ``ql_b``).

    The rule: docs/format/rules.md#sync-fails-loudly.
    """
    for item in [table["table"], *table["partitions"]]:
        item["sd"] |= {"numBuckets": 4, "bucketCols": ["id"]}


def dropped(column: str, requested: str, completed: str) -> Adjust:
    """docs/format/rules.md#columns-between-others: ours can drop a column between others, by two changes."""

    def adjust(table: dict[str, Any]) -> None:
        descriptor, parameters = table["table"]["sd"], table["table"]["parameters"]
        descriptor["cols"] = [item for item in descriptor["cols"] if item[0] != column]
        schema = json.loads(parameters["spark.sql.sources.schema.part.0"])
        schema["fields"] = [field for field in schema["fields"] if field["name"] != column]
        parameters["spark.sql.sources.schema.part.0"] = json.dumps(schema, separators=(",", ":"))
        stamped(requested, completed)(table)

    return adjust


_ENCODED = "encoded-partition-values"
_PROPERTIES = "sync-reads-the-properties"
_LOUD = "sync-fails-loudly"
_KEEPS = "sync-keeps-data"
_DROPPED = "dropped-partitions"
_MOVED = "moved-partitions"
_NAMES = "names-of-partition-keys"
_VIEWS = "one-view-a-table"
_COLUMNS = "columns-between-others"

_GONE = without("FR")
_ONLY_JP = without("DE", "FR", "IT", "US")
_URLENC_STAMP = ("20261121031213133", "20261121031215684")

ADJUSTMENTS: dict[tuple[str, str], tuple[tuple[str, ...], tuple[Adjust, ...]]] = {
    **{(name, "cow_urlenc"): ((_ENCODED,), (decoded,)) for name in ("01", "03", "04", "05", "06")},
    **{
        (name, "cow_urlenc"): ((_ENCODED, _LOUD, _DROPPED), (decoded, without("FR/x y:z=%"), stamped(*_URLENC_STAMP)))
        for name in ("07", "08")
    },
    ("10", "defextr"): ((_PROPERTIES, _DROPPED), (like("10", "defextr_hs"), _GONE)),
    ("10", "nopf"): ((_PROPERTIES, _DROPPED), (like("10", "defextr_hs"), _GONE)),
    **{
        ("10", name): ((_DROPPED,), (_GONE,))
        for name in (
            "batch1", "defextr_hs", "fmt_orc", "managed", "no_datasource", "omit_meta", "props", "sparkver",
            "thresh300", "ts_on", "unkpk", "uppertable", "fmt_hfile", "fmt_hfile_ro", "fmt_hfile_rt", "nosnap_ro",
            "nosnap_rt", "preapache", "preapache_ro", "preapache_rt", "skipro_rt", "strat_ro", "strat_rt",
        )
    },
    ("10", "bucket"): ((_LOUD, _DROPPED), (bucketed, _GONE)),
    ("10", "pkcase"): ((_PROPERTIES, _NAMES), (like("10", "defextr_hs"), _GONE)),
    ("10", "skipro"): ((_DROPPED, _VIEWS), (like("10", "strat_ro"), _GONE)),
    **{
        ("30", name): ((_DROPPED,), (_GONE,))
        for name in ("arch", "cond", "mg", "mv", "omit_later", "omit_later2", "rcm", "ts_flip")
    },
    **{(name, "pd"): ((_DROPPED,), (_ONLY_JP,)) for name in ("30", "32")},
    **{(name, "pkmis"): ((_DROPPED,), (_ONLY_JP,)) for name in ("30", "32")},
    **{(name, "npmis"): ((_PROPERTIES, _DROPPED), (like("30", "pkmis"), _ONLY_JP)) for name in ("30", "32")},
    **{("32", name): ((_DROPPED,), (_GONE,)) for name in ("cond", "mg", "mv", "omit_later", "omit_later2", "ts_flip")},
    ("32", "arch"): ((_DROPPED, _MOVED), (_GONE, qualified)),
    ("32", "rcm"): ((_KEEPS, _DROPPED), (like("10", "omit_meta", ("cow_part", "rcm_a"), managed=True), _GONE)),
    ("61", "mdrop"): ((_COLUMNS,), (dropped("a", "20261121041956002", "20261121042000559"),)),
    **{("90", name): ((_DROPPED,), (_GONE,)) for name in ("cow_part", "mor_part", "mor_part_ro", "mor_part_rt")},
    ("90", "defextr"): ((_PROPERTIES, _DROPPED), (like("90", "cow_part"), _GONE)),
    ("90", "nopf"): ((_PROPERTIES, _DROPPED), (like("90", "cow_part"), _GONE)),
    ("90", "multi"): ((_DROPPED,), (_ONLY_JP,)),
    ("90", "urlenc"): ((_ENCODED, _DROPPED), (decoded, without("FR/x y:z=%"))),
}  # fmt: skip
"""(dump, table) -> the headings of docs/format/rules.md that ask for another result, and what they change."""


def expected_table(name: str, table: str) -> dict[str, Any]:
    """A table of a dump as ours must leave it."""
    found = copy.deepcopy(dump(name)["tables"][table])
    for adjust in ADJUSTMENTS.get((name, table), ((), ()))[1]:
        adjust(found)
    return found


def _name(keys: list[str], values: list[str]) -> str:
    return format_partition_name(keys, values)
