"""Arrow tables to Spark's internal rows and file statuses in bulk: a handful of calls to the JVM, however many files.

A call through py4j costs about half a millisecond, so an object per file would cost seconds. Instead one record batch
crosses the border, and Catalyst expressions (the ones that Spark deserialises case classes with) make the Java objects
out of it inside the JVM: 50,000 files of 10,000 partitions in well under a second.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    ArrayType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from hudi_hive.errors import PartitionValueError
from hudi_hive.spark.failures import JavaValue
from hudi_hive.spark.jvm import Jvm, class_name
from hudi_hive.spark.weak import Weak

DIRECTORY_SCHEMA = pa.schema([("partition", pa.string()), ("path", pa.string()), ("size", pa.int64())])
"""Columns of the files to build directories from: partition path, full path of the file, bytes; sorted by partition."""

_FILES_PER_BATCH = 50_000
_EXECUTION = "org.apache.spark.sql.execution.datasources"
_FILE = StructType(
    [StructField("path", StringType()), StructField("size", LongType()), StructField("modified", LongType())]
)
# Spark splits files by its own setting; the block size only has to be there.
_BLOCK_SIZE = "134217728L"


class RowBuilder:
    """Makes rows and partition directories in one session.

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
        self._zone_name = str(session.sessionState().conf().sessionLocalTimeZone())
        self._zone = jvm.some(self._zone_name)

    # -- rows ------------------------------------------------------------------------------------------------------

    def rows(self, table: pa.Table, schema: StructType) -> JavaValue:
        """The rows of an Arrow table as a Scala sequence of internal rows."""
        jvm = self._jvm
        frame = self._frame(table, schema)
        plan = frame.queryExecution().logical()
        if class_name(plan) == "LocalRelation":
            return plan.data()
        # Beyond spark.sql.execution.arrow.localRelationThreshold the rows are an RDD.
        rows = frame.queryExecution().executedPlan().executeCollect()
        return jvm.view.PythonUtils.toSeq(jvm.view.java.util.Arrays.asList(rows))

    def plan(self, table: pa.Table, schema: StructType) -> JavaValue:
        """The rows of an Arrow table as a logical plan; it has to have the types of ``schema``."""
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
        return self._strictly(lambda: rows.map(projection).toVector())

    def mask(self, predicate: JavaValue, attributes: Sequence[JavaValue], rows: JavaValue) -> npt.NDArray[np.bool_]:
        """Which rows a Catalyst predicate takes.

        Args:
            predicate: a boolean expression over ``attributes``.
            attributes: the columns of ``rows``, in order.
            rows: what :meth:`typed` gave.
        """
        if not rows.size():
            return np.zeros(0, np.bool_)
        expressions = self._expressions
        # A digit per row makes the printed rows equally long; If takes null for false, as a filter does.
        digit = expressions.If(predicate, self._parse("1"), self._parse("0"))
        projection = expressions.InterpretedProjection(self._jvm.seq([digit]), self._jvm.seq(attributes))
        text = self._strictly(lambda: rows.map(projection).mkString(""))
        digits = np.frombuffer(text.encode("ascii"), np.uint8)[1::3]
        return np.equal(digits, ord("1"))

    # -- directories -----------------------------------------------------------------------------------------------

    def directories(self, files: pa.Table, values: pa.Table, modified_ms: npt.NDArray[np.int64]) -> JavaValue:
        """A Scala sequence of ``PartitionDirectory``.

        Args:
            files: a table of :data:`DIRECTORY_SCHEMA`.
            values: a string column per partition column, a row per distinct partition in the order of ``files``.
            modified_ms: modification time of each file, milliseconds since the epoch.

        Raises:
            PartitionValueError: a partition value does not fit its column's type.
        """
        result = self._jvm.seq([])
        lock, expression = self._directory_expression()
        starts = _run_starts(files.column("partition"))
        ends = np.append(starts[1:], files.num_rows)
        first = 0
        while first < len(starts):
            last = int(np.searchsorted(ends, starts[first] + _FILES_PER_BATCH, side="right"))
            last = min(max(last, first + 1), len(starts))
            begin, end = int(starts[first]), int(ends[last - 1])
            offsets = np.append(starts[first:last], end) - begin
            row = self._one_row(
                files.slice(begin, end - begin), values.slice(first, last - first), modified_ms[begin:end], offsets
            )
            with lock:
                made = self._strictly(functools.partial(expression.eval, row))
            result = made if first == 0 else result.concat(made)
            first = last
        return result

    def _one_row(
        self, files: pa.Table, values: pa.Table, modified_ms: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]
    ) -> JavaValue:
        """One row with one list of (values, files): what :meth:`_directory_expression` eats."""
        files = files.combine_chunks()
        path, size = (_array(files.column(name)) for name in ("path", "size"))
        statuses = pa.StructArray.from_arrays([path, size, pa.array(modified_ms, pa.int64())], names=_FILE.names)
        lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), statuses)
        texts = [_array(values.column(name).cast(pa.string())) for name in self.columns.names]
        directories = pa.StructArray.from_arrays([*texts, lists], names=[*self._text_names(), "files"])
        one = pa.ListArray.from_arrays(pa.array([0, len(directories)], pa.int32()), directories)
        schema = StructType([StructField("directories", ArrayType(self._directory_type()))])
        return self.rows(pa.table({"directories": one}), schema).head()

    def _text_names(self) -> list[str]:
        # By position: a partition column may be called anything, "files" too.
        return [f"value{index}" for index in range(len(self.columns))]

    def _directory_type(self) -> StructType:
        texts = [StructField(name, StringType()) for name in self._text_names()]
        return StructType([*texts, StructField("files", ArrayType(_FILE))])

    def _directory_expression(self) -> tuple[threading.Lock, JavaValue]:
        """Expression from :meth:`_one_row`'s row to directories, kept, and the lock to evaluate it under.

        Spark's NewInstance collects arguments in an array of its own, so in two threads at once one table's directories
        would get files of the other's.
        """
        key = "directories", self.columns.json(), self._zone_name
        kept: tuple[threading.Lock, JavaValue] = self._jvm.kept(
            key, lambda: (threading.Lock(), self._new_directory_expression())
        )
        return kept

    def _new_directory_expression(self) -> JavaValue:
        jvm, expressions = self._jvm, self._expressions
        variable, collection = expressions.objects.LambdaVariable, jvm.class_("scala.collection.immutable.Seq")
        directory = variable("directory", self._type(self._directory_type()), True, 1)
        file = variable("file", self._type(_FILE), True, 2)
        count = len(self.columns)
        status = self._new(f"{_EXECUTION}.FileStatusWithMetadata", [self._status(file), self._empty_map()])
        files = expressions.objects.MapObjects(file, status, self._part(directory, count), jvm.some(collection))
        named = []
        for index, field in enumerate(self.columns.fields):
            named += [self._name(field.name), self._cast(self._part(directory, index), field.dataType)]
        values = expressions.CreateNamedStruct(jvm.seq(named))
        element = self._new(f"{_EXECUTION}.PartitionDirectory", [values, files])
        source = self._bound(0, ArrayType(self._directory_type()))
        return expressions.objects.MapObjects(directory, element, source, jvm.some(collection))

    def _status(self, file: JavaValue) -> JavaValue:
        """``new FileStatus(size, isdir, replication, block size, modification time, new Path(path))``."""
        jvm, objects = self._jvm, self._expressions.objects
        text = self._object("java.lang.String")
        path = objects.Invoke(self._part(file, 0), "toString", text, jvm.seq([]), jvm.seq([]), True, True, True)
        return self._new(
            "org.apache.hadoop.fs.FileStatus",
            [
                self._part(file, 1),
                self._parse("false"),
                self._parse("1"),
                self._parse(_BLOCK_SIZE),
                self._part(file, 2),
                self._new("org.apache.hadoop.fs.Path", [path]),
            ],
        )

    # -- expressions -----------------------------------------------------------------------------------------------

    def _new(self, name: str, arguments: list[JavaValue]) -> JavaValue:
        jvm = self._jvm
        return self._expressions.objects.NewInstance(
            jvm.class_(name), jvm.seq(arguments), jvm.seq([]), False, self._object(name), jvm.none()
        )

    def _object(self, name: str) -> JavaValue:
        return self._jvm.package("types").ObjectType(self._jvm.class_(name))

    def _empty_map(self) -> JavaValue:
        return self._expressions.Literal(self._jvm.map({}), self._object("scala.collection.immutable.Map"))

    def _name(self, name: str) -> JavaValue:
        return self._jvm.module("org.apache.spark.sql.catalyst.expressions.Literal").apply(name)

    def _part(self, value: JavaValue, index: int) -> JavaValue:
        return self._expressions.GetStructField(value, index, self._jvm.none())

    def _bound(self, index: int, kind: DataType) -> JavaValue:
        return self._expressions.BoundReference(index, self._type(kind), True)

    def _cast(self, value: JavaValue, kind: DataType) -> JavaValue:
        if isinstance(kind, StringType):
            return value
        # ANSI: a text that does not fit is an error; the legacy mode would make it null, which is a wrong row.
        strict = self._jvm.module("org.apache.spark.sql.catalyst.expressions.EvalMode").ANSI()
        return self._expressions.Cast(value, self._type(kind), self._zone, strict)

    def _parse(self, text: str) -> JavaValue:
        return self._jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser").parseExpression(text)

    def _type(self, kind: DataType) -> JavaValue:
        return self._session.parseDataType(kind.json())

    def _strictly(self, action: Callable[[], JavaValue]) -> JavaValue:
        try:
            return action()
        except (PySparkException, Py4JJavaError) as error:
            text = str(getattr(error, "_desc", None) or error).splitlines()[0]
            raise PartitionValueError(
                f"partition values do not fit the types of {self.columns.simpleString()}: {text}",
                remedy="the metastore's partition column types must fit the table's partition paths; sync again",
            ) from error


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
