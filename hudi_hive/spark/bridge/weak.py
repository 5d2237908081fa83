"""Weak references to Java objects such as sessions.

Java holds the Python objects that stand for its interfaces, and py4j the Java objects that Python refers to. A session
that is hooked by objects which refer to it would be held by itself, across a border that no collector looks over.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass
from pyspark import SparkContext

from hudi_hive.errors import SparkError
from hudi_hive.spark.versions import JavaValue

_REFERENCE = "java.lang.ref.WeakReference"


class Weak:
    """A descriptor that holds a Java object weakly: it returns the object as long as Java keeps it.

    Raises:
        SparkError: on reading, when the object is gone.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, instance: Any, value: JavaValue) -> None:  # noqa: ANN401
        gateway = SparkContext._gateway
        assert gateway is not None
        instance.__dict__[self._name] = JavaClass(_REFERENCE, gateway._gateway_client)(value)

    def __get__(self, instance: Any, owner: type | None = None) -> JavaValue:  # noqa: ANN401
        referent = instance.__dict__[self._name].get()
        if referent is None:
            raise SparkError("the Spark session of this query is gone", remedy="keep the session while it is used")
        return referent
