"""Finds base files whose columns are narrower than the table's, in tables without a history of schemas.

There a writer's rows may widen numbers (docs/format.md#schema-evolution-by-name), and older files stay as they were.
Spark's own reader converts few types: none before 4.0, since then some numbers, and floats to doubles with other digits
than Hudi has. Types never narrow, so where the oldest file has all columns as wide as the table, all files have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from hudi_hive.plan import ScanPlan
from hudi_hive.read.columns import scalar_promotion
from hudi_hive.schema import META_FIELDS, avro_to_arrow
from hudi_hive.spark.scan.labels import FileLabels
from hudi_hive.spark.versions import SPARK
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.bootstrap import of_skeletons

BY_ARROW: Final[Mapping[str, str]] = {"hfile": "HFile format", "lance": "Lance format"}
"""Formats of base files that Spark has no reader of, and what plans call them: their rows come from Arrow."""


def may_be_widened(client: MetaClient, as_of: str | None = None) -> bool:
    """Whether base files of a table may be narrower than its schema, by the oldest commit that is known.

    Reads that commit, and lists the archive where it is no reason.

    Args:
        client: the table.
        as_of: requested time: the schema that the table had then.

    Raises:
        SchemaError: the schema is not known.
        CorruptInstantError: a commit cannot be decoded.
    """
    config = client.config
    if config.base_file_format in BY_ARROW:
        return False
    others = config.partition_fields if config.drop_partition_columns else ()
    table = _wide_leaves(client.schema(as_of), but=others)
    writes = [one for one in client.timeline.write_instants() if as_of is None or one.requested <= as_of]
    if not table or not writes:
        return False
    oldest = client.timeline.commit_metadata(min(writes, key=lambda one: one.requested)).schema
    # A commit without a schema has no files, or was made by a release that had no schemas in commits.
    if oldest is None or len(_as_wide(_leaves(avro_to_arrow(oldest)), table)) < len(table):
        return True
    return client.timeline.archived().begin is not None


def narrower(
    labels: FileLabels, storage: Storage, plan: ScanPlan, columns: StructType | None = None
) -> tuple[pa.Array, str | None]:
    """The slices of a plan whose base file has a narrower column than Spark's own reader takes for the table's.

    Args:
        labels: schemas of base files by commit.
        storage: rooted at the table's base path.
        plan: of any query.
        columns: those that a scan reads; all of the table without it.

    Returns:
        Whether each slice is one, and a column that is why; None when there is no such slice.

    Raises:
        FileVanishedError: a file is not there any more.
        CorruptFileError: a footer cannot be decoded.
    """
    slices = plan.slices
    nothing = pa.array(np.zeros(slices.num_rows, np.bool_)), None
    others = set(plan.path_columns)
    names = None if columns is None else columns.names
    table = _wide_leaves(plan.schema, but=others, only=names)
    own = pc.and_(pc.is_valid(slices["base_file"]), pc.invert(of_skeletons(slices))).to_numpy(zero_copy_only=False)
    if not table or not own.any():
        return nothing
    files = slices.filter(pa.array(own))
    oldest = pc.min(files["base_instant"]).as_py()
    schemas = labels.of(storage, files.filter(pc.equal(files["base_instant"], oldest)))
    if len(_as_wide(_leaves(schemas[oldest]), table)) == len(table):
        return nothing
    schemas = labels.of(storage, files)
    reasons = {instant: _narrow_column(_leaves(schema), table) for instant, schema in schemas.items()}
    instants = slices["base_instant"].to_pylist()
    mask = np.array([reasons.get(instant) is not None for instant in instants], np.bool_) & own
    why = next((reasons[instant] for instant, is_one in zip(instants, mask, strict=True) if is_one), None)
    return pa.array(mask), why


def _leaves(fields: Iterable[pa.Field], above: str = "") -> dict[str, pa.DataType]:
    """Types of what has no fields below it, by dotted lower-case names."""
    leaves: dict[str, pa.DataType] = {}
    for field in fields:
        name, kind = f"{above}{field.name.lower()}", field.type
        if pa.types.is_struct(kind):
            leaves |= _leaves(kind, f"{name}.")
        elif pa.types.is_map(kind):
            leaves |= _leaves([kind.key_field.with_name("key"), kind.item_field.with_name("value")], f"{name}.")
        elif pa.types.is_list(kind):
            leaves |= _leaves([kind.value_field.with_name("element")], f"{name}.")
        else:
            leaves[name] = kind
    return leaves


def _wide_leaves(
    schema: pa.Schema, *, but: Collection[str] = (), only: Collection[str] | None = None
) -> dict[str, pa.DataType]:
    """Leaves of the columns of a table that are of types which narrower ones may have become."""
    out = {name.lower() for name in (*META_FIELDS, *but)}
    chosen = None if only is None else {name.lower() for name in only}
    names = [field.name.lower() for field in schema]
    kept = [name not in out and (chosen is None or name in chosen) for name in names]
    leaves = _leaves(field for field, is_kept in zip(schema, kept, strict=True) if is_kept)
    return {name: kind for name, kind in leaves.items() if _is_wide(kind)}


def _is_wide(kind: pa.DataType) -> bool:
    """Whether some type becomes this one that Spark's own reader does not convert as Hudi does."""
    types = pa.types
    is_number = types.is_floating(kind) or types.is_decimal(kind) or types.is_string(kind)
    return bool(is_number or (types.is_int64(kind) and not SPARK.widens_integers))


def _as_wide(file: Mapping[str, pa.DataType], table: Mapping[str, pa.DataType]) -> set[str]:
    """The leaves that a file has, all of them as Spark's own reader takes them."""
    return {name for name, kind in table.items() if name in file and _is_read(file[name], kind)}


def _narrow_column(file: Mapping[str, pa.DataType], table: Mapping[str, pa.DataType]) -> str | None:
    return next((name for name, kind in table.items() if name in file and not _is_read(file[name], kind)), None)


def _is_read(file: pa.DataType, table: pa.DataType) -> bool:
    """Whether Spark's own reader takes a file's type for the table's, or no conversion of ours would do better."""
    types = pa.types
    if file.equals(table) or scalar_promotion(file, table) is None:
        return True
    if types.is_string(table) and (types.is_binary(file) or types.is_large_string(file) or types.is_null(file)):
        return True  # the same bytes
    is_int = types.is_integer(file) and file.bit_width <= 32
    return bool(SPARK.widens_integers and is_int and (types.is_int64(table) or types.is_float64(table)))
