"""Hudi tables as lazy Polars frames: an IO source whose columns and predicates reach the plan.

Local Parquet files of slices without log files are scans of Polars' own; all else comes from the IO source beside them.
A predicate comes as a Polars expression. What of it we understand leaves out partitions, files and row groups; then all
of it is evaluated by Polars over the rows that were read, so that nothing of it is ever dropped.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.connector.dataset import ScanSource
from hudi_hive.connector.files import FileSource, PolarsFiles, RestSource, divide_whole
from hudi_hive.errors import HudiHiveError, MissingDependencyError
from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.predicate import RowFilter, bind_as_sql

if TYPE_CHECKING:
    import polars as pl

_COMPARISONS: Final[Mapping[str, Callable[[pc.Expression, pc.Expression], pc.Expression]]] = {
    "Eq": lambda left, right: left == right,
    "NotEq": lambda left, right: left != right,
    "Lt": lambda left, right: left < right,
    "LtEq": lambda left, right: left <= right,
    "Gt": lambda left, right: left > right,
    "GtEq": lambda left, right: left >= right,
}


def polars_lazy(source: ScanSource) -> pl.LazyFrame:
    """A table as a lazy Polars frame; each time it is collected it reads the columns and files that it needs.

    Args:
        source: what is read: a ``ConnectorSource`` or a ``TableSource``, of any kind of query.

    Raises:
        MissingDependencyError: Polars is not installed.
        HudiHiveError: whatever planning raises.
    """
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError("polars is not installed", remedy="pip install 'hudi_hive[polars]'") from error
    file_source = cast(FileSource, source)
    if getattr(source, "folder", None) is None or not source.schema.names:
        return _frame_of(source)
    files = PolarsFiles(source.schema)
    divided = divide_whole(file_source, files)
    if divided is None:
        return _frame_of(source)
    file_source.client.counters.add("engine_files", sum(len(one.paths) for one in divided.sets))
    frames = files.frames(divided)
    if divided.has_rest:
        frames.append(_frame_of(RestSource(file_source.client, divided.rest, source.schema)))
    return frames[0] if len(frames) == 1 else polars.concat(frames)


def _frame_of(source: ScanSource) -> pl.LazyFrame:
    """A lazy frame whose rows are read by us."""
    import polars
    from polars.io.plugins import register_io_source

    empty = polars.from_arrow(source.schema.empty_table())
    assert isinstance(empty, polars.DataFrame)

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        # A number of rows goes before the predicate, which must not choose them then.
        pushed = None if rows is not None else pushed_filter(predicate, source.schema)
        needed = columns
        if columns is not None and predicate is not None:
            needed = list(dict.fromkeys([*columns, *predicate.meta.root_names()]))
        for batch in source.batches(needed, pushed, batch_rows or BATCH_ROWS):
            if rows is not None:
                batch = batch.slice(0, rows)
                rows -= batch.num_rows
            frame = polars.from_arrow(batch)
            assert isinstance(frame, polars.DataFrame)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)
            if rows == 0:
                return

    return register_io_source(read, schema=empty.schema)


def pushed_filter(predicate: pl.Expr | None, schema: pa.Schema) -> RowFilter | None:
    """A filter that lets at least those rows through which a Polars predicate does; None if it would let through all.

    Args:
        predicate: the expression.
        schema: of the rows.
    """
    if predicate is None:
        return None
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # what Polars cannot write down (a Python function) it evaluates
        return None
    expression = _superset(tree, schema)
    if expression is None:
        return None
    try:
        bound = RowFilter(bind_as_sql(expression, schema), schema)
    except (HudiHiveError, pa.ArrowException):
        return None
    return None if bound.is_trivial else bound


def _superset(node: Any, schema: pa.Schema) -> pc.Expression | None:  # noqa: ANN401 - JSON
    """An expression that is true wherever the node's is; None where only "always" is."""
    operator, left, right = _binary(node)
    if operator in ("And", "LogicalAnd"):
        parts = [part for part in (_superset(left, schema), _superset(right, schema)) if part is not None]
        return None if not parts else parts[0] if len(parts) == 1 else parts[0] & parts[1]
    if operator in ("Or", "LogicalOr"):
        first, second = _superset(left, schema), _superset(right, schema)
        return None if first is None or second is None else first | second
    if operator in _COMPARISONS:
        return _comparison(operator, left, right, schema)
    return _function(node, schema)


def _comparison(operator: str, left: Any, right: Any, schema: pa.Schema) -> pc.Expression | None:  # noqa: ANN401 - JSON
    mirrored = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
    if _column(left, schema) is None:
        left, right, operator = right, left, mirrored.get(operator, operator)
    column, value = _column(left, schema), _literal(right)
    if column is None or value is None or not value.is_valid:
        return None
    return _COMPARISONS[operator](pc.field(column), pc.scalar(value))


def _function(node: Any, schema: pa.Schema) -> pc.Expression | None:  # noqa: ANN401 - JSON
    call = node.get("Function") if isinstance(node, dict) else None
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict) or not call.get("input"):
        return None
    kind, arguments = call["function"].get("Boolean"), call["input"]
    column = _column(arguments[0], schema)
    if column is None:
        return None
    field = pc.field(column)
    if kind == "IsNull":
        return field.is_null()
    if kind == "IsNotNull":
        return field.is_valid()
    if isinstance(kind, dict) and kind.get("IsIn") == {"nulls_equal": False} and len(arguments) == 2:
        values = _literal(arguments[1])
        if values is not None and pa.types.is_list(values.type) and values.is_valid:
            items = [item for item in values.as_py() if item is not None]
            return field.isin(pa.array(items, values.type.value_type))
    if isinstance(kind, dict) and isinstance(kind.get("IsBetween"), dict) and len(arguments) == 3:
        # Whether the ends count is left to Polars.
        parts = [_comparison("GtEq", arguments[0], arguments[1], schema)]
        parts.append(_comparison("LtEq", arguments[0], arguments[2], schema))
        both = [part for part in parts if part is not None]
        return None if not both else both[0] if len(both) == 1 else both[0] & both[1]
    return None


def _binary(node: Any) -> tuple[str, Any, Any]:  # noqa: ANN401 - JSON
    binary = node.get("BinaryExpr") if isinstance(node, dict) else None
    if not isinstance(binary, dict):
        return "", None, None
    return str(binary.get("op")), binary.get("left"), binary.get("right")


def _column(node: Any, schema: pa.Schema) -> str | None:  # noqa: ANN401 - JSON
    name = node.get("Column") if isinstance(node, dict) and len(node) == 1 else None
    return name if isinstance(name, str) and name in schema.names else None


def _literal(node: Any) -> pa.Scalar | None:  # noqa: ANN401 - JSON
    """The value of a literal, as Polars reads it."""
    if not isinstance(node, dict) or list(node) != ["Literal"]:
        return None
    import polars

    try:
        expression = polars.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")
        values = polars.select(expression.alias("value")).to_arrow().column(0).combine_chunks()
    except Exception:  # of a kind that this release cannot read back: Polars evaluates it
        return None
    if len(values) != 1:
        return None
    return _plain(values[0])


def _plain(value: pa.Scalar) -> pa.Scalar:
    """Polars' views and large texts as plain ones."""
    kind = value.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.scalar(value.as_py(), pa.list_(_plain_type(kind.value_type)))
    return value.cast(_plain_type(kind))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return kind
