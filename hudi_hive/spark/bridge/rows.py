"""Converts Arrow tables to Spark's internal rows and file statuses, with few calls to the JVM.

A call through py4j costs about half a millisecond, so an object per file would cost seconds. Instead the bytes of whole
columns cross the border, and the Java objects are made out of them inside the JVM (``Relations.java``): 50,000 files of
10,000 partitions in well under a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, StringType, StructField, StructType

from hudi_hive.errors import PartitionValueError
from hudi_hive.spark.bridge.jvm import Jvm, class_name
from hudi_hive.spark.bridge.weak import Weak
from hudi_hive.spark.versions import SPARK, JavaValue

DIRECTORY_SCHEMA = pa.schema([("partition", pa.string()), ("path", pa.string()), ("size", pa.int64())])
"""Columns of the files to build directories from: partition path, full path of the file, bytes; sorted by partition."""

_FILES_PER_PART = 50_000


class RowBuilder:
    """Makes rows in one session.

    Args:
        jvm: the JVM.
        session: the JVM's session; its time zone types partition values that are timestamps.
        columns: the partition columns with their types in Spark.
    """

    _session = Weak()

    def __init__(self, jvm: Jvm, session: JavaValue, columns: StructType) -> None:
        self._jvm = jvm
        self._session = session
        self.columns = columns
        self._expressions = jvm.package("catalyst.expressions")

    # -- rows ------------------------------------------------------------------------------------------------------

    def rows(self, table: pa.Table, schema: StructType) -> JavaValue:
        """Convert an Arrow table to a Scala sequence of internal rows."""
        jvm = self._jvm
        frame = self._frame(table, schema)
        plan = frame.queryExecution().logical()
        if class_name(plan) == "LocalRelation":
            return plan.data()
        # Beyond spark.sql.execution.arrow.localRelationThreshold the rows are an RDD.
        rows = frame.queryExecution().executedPlan().executeCollect()
        return jvm.view.PythonUtils.toSeq(jvm.view.java.util.Arrays.asList(rows))

    def plan(self, table: pa.Table, schema: StructType) -> JavaValue:
        """Convert an Arrow table, which has the types of ``schema``, to a logical plan."""
        return self._frame(table, schema).queryExecution().analyzed()

    def _frame(self, table: pa.Table, schema: StructType) -> JavaValue:
        batches = [batch.serialize().to_pybytes() for batch in table.combine_chunks().to_batches()]
        converters = self._jvm.package("execution.arrow").ArrowConverters
        return converters.toDataFrame(self._jvm.seq(batches).iterator(), schema.json(), self._session)

    def typed(self, values: pa.Table, names: Sequence[str]) -> JavaValue:
        """Rows of some partition columns, cast from their texts as Spark casts, strictly.

        Args:
            values: a string column per partition column.
            names: which columns, in which order.

        Raises:
            PartitionValueError: a text cannot be cast to the column's type.
        """
        fields = [self.columns[name] for name in names]
        texts = StructType([StructField(field.name, StringType()) for field in fields])
        rows = self.rows(values.select(list(names)).cast(_text_schema(names)), texts)
        casts = [self._cast(self._bound(i, StringType()), field.dataType) for i, field in enumerate(fields)]
        projection = self._expressions.InterpretedProjection(self._jvm.seq(casts))
        return strictly(lambda: SPARK.map_rows(rows, projection), self.columns)

    # -- expressions -----------------------------------------------------------------------------------------------

    def _bound(self, index: int, kind: DataType) -> JavaValue:
        return self._expressions.BoundReference(index, self._type(kind), True)

    def _cast(self, value: JavaValue, kind: DataType) -> JavaValue:
        if isinstance(kind, StringType):
            return value
        # ANSI: a text that does not fit is an error; the legacy mode would make it null, which is a wrong row.
        strict = self._jvm.module("org.apache.spark.sql.catalyst.expressions.EvalMode").ANSI()
        zone = self._jvm.some(str(self._session.sessionState().conf().sessionLocalTimeZone()))
        return self._expressions.Cast(value, self._type(kind), zone, strict)

    def _type(self, kind: DataType) -> JavaValue:
        return self._session.parseDataType(kind.json())


def strictly(action: Callable[[], Any], columns: StructType) -> Any:  # noqa: ANN401
    """Run an action of the JVM that casts texts in partition paths to the types of partition columns.

    Raises:
        PartitionValueError: a text cannot be cast.
    """
    try:
        return action()
    except (PySparkException, Py4JJavaError) as error:
        text = str(getattr(error, "_desc", None) or error).splitlines()[0]
        raise PartitionValueError(
            f"partition values do not fit the types of {columns.simpleString()}: {text}",
            remedy="the metastore's partition column types must fit the table's partition paths; sync again",
        ) from error


# -- in bulk, for Relations.java ---------------------------------------------------------------------------------------


def packed(table: pa.Table, names: Sequence[str]) -> bytes:
    """Columns of texts: the length of each in bytes (-1 for null), column by column, and then all bytes."""
    columns = [_array(table.column(name)).cast(pa.string()) for name in names]
    lengths = [pc.fill_null(pc.binary_length(column), -1).to_numpy().astype("<i4").tobytes() for column in columns]
    return b"".join([*lengths, *map(_bytes, columns)])


def _bytes(texts: pa.Array) -> bytes:
    filled = pc.fill_null(texts, "")
    _, offsets, data = filled.buffers()
    if not len(filled) or data is None:
        return b""
    ends = np.frombuffer(offsets, np.int32)[filled.offset : filled.offset + len(filled) + 1]
    return bytes(memoryview(data)[int(ends[0]) : int(ends[-1])])


def packed_files(files: pa.Table, modified_ms: npt.NDArray[np.int64]) -> Iterator[tuple[range, tuple[bytes, bytes]]]:
    """Files for ``Question.add``, folder by folder: one part for fewer than 50,000.

    Args:
        files: a table of :data:`DIRECTORY_SCHEMA`.
        modified_ms: modification time of each file, milliseconds since the epoch.

    Yields:
        The numbers of the folders in a part, and what it says of their files.
    """
    starts = _run_starts(files.column("partition"))
    ends = np.append(starts[1:], files.num_rows).astype(np.int64)
    sizes = files.column("size").to_numpy()
    first = 0
    while first == 0 or first < len(starts):
        last = len(starts)
        if last:
            last = min(max(int(np.searchsorted(ends, starts[first] + _FILES_PER_PART, side="right")), first + 1), last)
        begin, end = (int(starts[first]), int(ends[last - 1])) if last else (0, 0)
        counts = (ends - starts)[first:last]
        numbers = np.concatenate([[last - first, end - begin], sizes[begin:end], modified_ms[begin:end], counts])
        yield range(first, last), (packed(files.slice(begin, end - begin), ["path"]), numbers.astype("<i8").tobytes())
        first = last or 1


def _text_schema(names: Sequence[str]) -> pa.Schema:
    return pa.schema([pa.field(name, pa.string()) for name in names])


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _run_starts(partitions: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Index of the first row of each run of equal partitions."""
    if not len(partitions):
        return np.zeros(0, np.int64)
    codes = _array(partitions).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
