"""Finds values that a column's new type cannot take, before a change of the schema is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import InvalidOperation
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError
from hudi_hive.options import MergeType
from hudi_hive.plan import Query, ReadOptions, ScanPlan, plan_scan
from hudi_hive.read.columns import scalar_promotion
from hudi_hive.read.scan import read_plan
from hudi_hive.schema import InternalField, InternalSchema, to_arrow, type_name
from hudi_hive.table import MetaClient

_FAILURES: Final = (pa.ArrowException, ValueError, InvalidOperation, OverflowError)


def check_data(client: MetaClient, before: InternalSchema, after: InternalSchema) -> None:
    """Read the columns whose types change, in all base and log files of the newest file slices.

    Rows that log files replace count as well, since readers convert them before they merge.

    Args:
        client: the table before the change.
        before: its columns.
        after: its columns as they shall be.

    Raises:
        SchemaError: a value does not fit the new type; it names column, file and value.
    """
    changed = []
    for _, item in after.walk():
        name = before.name_of(item.id)
        old = None if name is None else before.find(name)
        if name is not None and old is not None and isinstance(item.type, str) and old.type != item.type:
            changed.append((name, item))
    if not changed:
        return
    plan = plan_scan(client, Query(options=ReadOptions(merge_type=MergeType.SKIP_MERGE)))
    for row in range(plan.slices.num_rows):
        part = replace(plan, slices=plan.slices.slice(row, 1))
        found = _first_misfit(client, part, changed)
        if found is not None:
            name, item, value = found
            file = _file(client, part, name, item)
            raise SchemaError(
                f"column {name!r} cannot become {type_name(item.type)}: the value {value!r} in {file} does not fit",
                path=client.base_path,
                remedy="correct the rows, or add a column of the new type",
            )


def _first_misfit(
    client: MetaClient, plan: ScanPlan, changed: Sequence[tuple[str, InternalField]]
) -> tuple[str, InternalField, Any] | None:
    tops = list(dict.fromkeys(name.split(".")[0] for name, _ in changed))
    for batch in read_plan(client.storage, plan, tops):
        for name, item in changed:
            head, *rest = name.split(".")
            target = to_arrow(InternalSchema(0, 1, (replace(item, name="f"),))).field(0).type
            for value in _misfits(_leaf(batch.column(head), rest), target):
                return name, item, value
    return None


def _leaf(values: pa.Array, path: Sequence[str]) -> pa.Array:
    """What stands below a column; of lists and maps all elements."""
    for part in path:
        if pa.types.is_struct(values.type):
            values = pc.struct_field(values, part)
        elif isinstance(values, pa.MapArray):
            values = values.items if part == "value" else values.keys
        else:
            values = pc.list_flatten(values)
    return values


def _misfits(values: pa.Array, target: pa.DataType) -> Iterator[Any]:
    """Values that have no form in another type."""
    convert = scalar_promotion(values.type, target)
    if convert is None or values.type == target:
        return
    try:
        convert(values)
    except _FAILURES:
        for value in pc.drop_null(values).unique():
            try:
                convert(pa.array([value.as_py()], values.type))
            except _FAILURES:
                yield value.as_py()


def _file(client: MetaClient, plan: ScanPlan, name: str, item: InternalField) -> str:
    """The file of one slice that holds a misfit: its base file, or else its log files."""
    (row,) = plan.slices.to_pylist()
    names = [row["base_file"]] if row["base_file"] else []
    if row["log_files"]:
        base = plan.slices
        for column in ("log_files", "log_sizes"):
            field = base.schema.field(column)
            base = base.set_column(base.schema.get_field_index(column), field, pa.array([[]], field.type))
        alone = names and _first_misfit(client, replace(plan, slices=base), [(name, item)]) is not None
        names = names if alone else row["log_files"]
    folder = f"{row['partition']}/" if row["partition"] else ""
    return " or ".join(f"{folder}{file}" for file in names)
