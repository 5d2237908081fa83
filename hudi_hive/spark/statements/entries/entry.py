"""The entry of a table in a session's own catalog: what Hudi's ``CREATE TABLE`` leaves there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
    VarcharType,
)

from hudi_hive.errors import SchemaError
from hudi_hive.names import HOODIE_QUERY_AS_RO_TABLE
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, java_schema, quoted
from hudi_hive.spark.catalog import MADE_BY_SPARK, PROVIDER, SessionHook
from hudi_hive.spark.versions import SPARK
from hudi_hive.sync.table import View, hive_classes

_NUMBERS: Final = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType)
_TIMES: Final = (DateType, TimestampType, TimestampNTZType)
_TYPES: Final = (*_NUMBERS, *_TIMES, BooleanType, BinaryType, StringType, CharType, VarcharType)
_PLAIN: Final = "UTF8_BINARY"
"""The collation of texts that are compared as they are."""


@dataclass(frozen=True)
class CatalogEntry:
    """What a catalog says of a table.

    Attributes:
        database, name: of the table.
        columns: with the partition columns behind the others, without the meta columns.
        partition_columns: names.
        properties: of the table.
        location: base path.
        external: the data stays when the entry is dropped.
        comment: of the table.
        merge_on_read: the table has log files.
        base_file_format: ``PARQUET``, ``ORC``, ``HFILE`` or ``LANCE``.
    """

    database: str
    name: str
    columns: StructType
    partition_columns: Sequence[str]
    properties: Mapping[str, str]
    location: str
    external: bool
    comment: str | None
    merge_on_read: bool
    base_file_format: str = "PARQUET"

    def make(self, hook: SessionHook) -> None:
        """Make the entry in the session's catalog."""
        jvm = hook.environment.jvm
        connector = jvm.view.org.apache.spark.sql.connector
        shown = StructType([*(StructField(name, StringType()) for name in META_FIELDS), *self.columns.fields])
        properties = jvm.view.java.util.HashMap()
        properties.put(MADE_BY_SPARK, PROVIDER)
        if self.external:
            properties.put("location", self.location)
            properties.put("external", "true")
        if self.comment is not None:
            properties.put("comment", self.comment)
        transforms = jvm.gateway.new_array(connector.expressions.Transform, len(self.partition_columns))
        for at, name in enumerate(self.partition_columns):
            transforms[at] = connector.expressions.Expressions.identity(quoted(name))
        identifier = connector.catalog.Identifier.of(jvm.strings([self.database]), self.name)
        session = hook.session.sessionState()
        session.catalogManager().v2SessionCatalog().createTable(
            identifier, java_schema(jvm, shown), transforms, properties
        )
        catalog = session.catalog()
        made = catalog.getTableMetadata(jvm.package("catalyst").TableIdentifier(self.name, jvm.some(self.database)))
        catalog.alterTable(self._as_hudi(hook, made))

    def _as_hudi(self, hook: SessionHook, made: JavaValue) -> JavaValue:
        """The entry with Hudi's formats and the table's properties, which the catalog's interface does not take."""
        jvm = hook.environment.jvm
        classes = hive_classes(self.base_file_format, View.REALTIME if self.merge_on_read else View.COPY_ON_WRITE)
        view = {name: text for name, text in self.properties.items() if name == HOODIE_QUERY_AS_RO_TABLE}
        storage = _copied(
            hook,
            made.storage(),
            {
                "inputFormat": jvm.some(classes.input_format),
                "outputFormat": jvm.some(classes.output_format),
                "serde": jvm.some(classes.serde),
                "properties": jvm.map({"path": self.location, **view}),
            },
        )
        properties = {**self.properties, MADE_BY_SPARK: PROVIDER}
        changes = {"storage": storage, "properties": jvm.map(properties), "tracksPartitionsInCatalog": False}
        return _copied(hook, made, changes)


def _copied(hook: SessionHook, value: JavaValue, changes: Mapping[str, JavaValue]) -> JavaValue:
    """A copy of an object of a case class with some of its fields replaced."""
    jvm = hook.environment.jvm
    fields = range(value.productArity())
    arguments = jvm.gateway.new_array(jvm.view.java.lang.Object, len(fields))
    for index in fields:
        name = SPARK.element_name(value, index)
        arguments[index] = changes[name] if name in changes else value.productElement(index)
    makers = [one for one in value.getClass().getConstructors() if one.getParameterCount() == len(fields)]
    return makers[0].newInstance(arguments)


def hudi_columns(columns: StructType) -> StructType:
    """Columns with the types that Hudi keeps: whole numbers of 8 and 16 bits are ``INT``, texts have no length.

    Raises:
        SchemaError: a column of a type that Hudi does not have: behind the first write it would be another one.

    Source: Avro, in which Hudi keeps schemas, has no other types for them.
    """
    for column in columns:
        other = _other_type(column.dataType)
        if other is not None:
            raise SchemaError(
                f"column {column.name!r} is of type {other.simpleString()}, which Hudi tables do not hold",
                remedy="use another type, and cast values to it",
            )
    return converted_columns(columns)


def converted_columns(columns: StructType) -> StructType:
    """As :func:`hudi_columns`, with types that Hudi does not have as they are: of rows that may be cast yet."""
    made = _hudi_type(columns)
    assert isinstance(made, StructType)
    return made


def _other_type(one: DataType) -> DataType | None:
    """The type itself, or the first in it, that Hudi does not have; None where there is none."""
    inner: list[DataType] = []
    if isinstance(one, StructType):
        inner = [field.dataType for field in one]
    elif isinstance(one, ArrayType):
        inner = [one.elementType]
    elif isinstance(one, MapType):
        inner = [one.keyType, one.valueType]
    elif isinstance(one, UserDefinedType):
        inner = [one.sqlType()]
    elif not isinstance(one, _TYPES) or getattr(one, "collation", _PLAIN) != _PLAIN:
        return one
    return next((other for other in map(_other_type, inner) if other is not None), None)


def _hudi_type(one: DataType) -> DataType:
    if isinstance(one, StructType):
        fields = [StructField(field.name, _hudi_type(field.dataType), field.nullable, field.metadata) for field in one]
        return StructType(fields)
    if isinstance(one, ArrayType):
        return ArrayType(_hudi_type(one.elementType), one.containsNull)
    if isinstance(one, MapType):
        return MapType(_hudi_type(one.keyType), _hudi_type(one.valueType), one.valueContainsNull)
    if isinstance(one, UserDefinedType):
        return _hudi_type(one.sqlType())
    if isinstance(one, (ByteType, ShortType)):
        return IntegerType()
    return StringType() if isinstance(one, (CharType, VarcharType)) else one


__all__ = ["CatalogEntry", "converted_columns", "hudi_columns"]
