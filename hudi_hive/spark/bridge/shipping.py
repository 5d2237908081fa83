"""Sends steps to executors, pickled without secrets, and brings back what they count of metadata tables.

Secrets come beside the steps by a broadcast variable, counts come back by an accumulator. So secrets are in no log of
py4j and in no closure that Spark keeps; and the file that a broadcast variable becomes has them masked
(:mod:`hudi_hive.read.remote.shipped_step`).
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pyspark import Accumulator, AccumulatorParam, SparkContext, cloudpickle
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudi_hive.errors import SparkError
from hudi_hive.metrics import METADATA_METRICS, MetadataMetrics, Totals
from hudi_hive.read.remote import MaskedSecrets, ShippedStep, mask_secrets, receive_step
from hudi_hive.secret_references import collected_secrets
from hudi_hive.spark.bridge.jvm import Jvm, java_source
from hudi_hive.spark.versions import JavaValue

_MOST: Final = 64
"""Sets of secrets of a context whose variable is used again."""

# Its functions go with each step as they are, so that they run where the package is not installed.
cloudpickle.register_pickle_by_value(sys.modules[receive_step.__module__])  # type: ignore[no-untyped-call]

_guard: Final = threading.Lock()
_variables: Final[dict[SparkContext, OrderedDict[frozenset[str], MaskedSecrets]]] = {}
_tallies: Final[dict[SparkContext, Accumulator[Totals]]] = {}


class _MetricsParam(AccumulatorParam[Totals]):
    """How counts of tasks become one sum in a task, and are added to those of the driver there.

    Args:
        metrics: those of the driver; None in executors, where the pickle of this arrives without them.
    """

    def __init__(self, metrics: MetadataMetrics | None = None) -> None:
        self._metrics = metrics

    def zero(self, value: Totals) -> Totals:
        """Nothing."""
        return {}

    def addInPlace(self, value1: Totals, value2: Totals) -> Totals:  # noqa: N802 - Spark's name
        """The sum; in the driver nothing, since its metrics have it then."""
        if self._metrics is not None:
            self._metrics.merge(value2)
            return {}
        both = MetadataMetrics()
        both.merge(value1)
        both.merge(value2)
        return both.totals()

    def __reduce__(self) -> tuple[type[_MetricsParam], tuple[()]]:
        return _MetricsParam, ()


def use_this_python(context: SparkContext) -> None:
    """Have tasks on this machine run by the Python of this process, where nobody chose another one.

    PySpark takes the ``python3`` of the path, which lacks this package where a virtual environment was not activated.

    Args:
        context: one with executors elsewhere, or for which ``PYSPARK_PYTHON`` is set, stays as it is.
    """
    master = context.master or ""
    if (master == "local" or master.startswith("local[")) and not os.environ.get("PYSPARK_PYTHON"):
        context.pythonExec = sys.executable


def ship(context: SparkContext, step: Callable[[Any], Any], others: Mapping[str, Any] | None = None) -> ShippedStep:
    """A step in the form in which it goes to executors.

    Args:
        context: of the executors.
        step: a function of one argument that can be pickled.
        others: further secrets, by reference, of what the step works on.
    """
    with collected_secrets() as secrets:
        pickled = CloudPickleSerializer().dumps(step)  # type: ignore[no-untyped-call]
    secrets |= others or {}
    name = getattr(step, "__name__", type(step).__name__)
    return ShippedStep(pickled, _masked(context, secrets) if secrets else None, name, _tally(context))


def class_folder(jvm: Jvm) -> Path:
    """A new folder for compiled classes, which goes when the JVM ends."""
    folder = Path(tempfile.mkdtemp(prefix="hudi-hive-classes-"))
    jvm.view.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.view.java.io.File(str(folder)))
    return folder


def class_files(byte_codes: JavaValue) -> Iterator[tuple[str, bytes]]:
    """Where in a folder, or a jar, the files of compiled classes belong, and their bytes.

    Args:
        byte_codes: by the names of classes, a map of the JVM.
    """
    for name in byte_codes:
        yield f"{str(name).replace('.', '/')}.class", bytes(byte_codes[name])


def ship_classes(jvm: Jvm, context: JavaValue, name: str) -> JavaValue:
    """An object of the class of ``NAME.java``, whose classes executors get in a jar with their next task.

    Args:
        jvm: the JVM.
        context: its Spark context.
        name: of the class, whose one constructor has no arguments.

    Raises:
        SparkError: the class cannot be made with this version of Spark.
    """
    compiler = jvm.cooked(name, java_source(name))
    folder = class_folder(jvm)
    jar = folder / f"{folder.name}.jar"  # Spark tells jars apart by their names
    with zipfile.ZipFile(jar, "w") as archive:
        for path, code in class_files(compiler.getBytecodes()):
            archive.writestr(path, code)
    context.addJar(str(jar))
    return compiler.getClassLoader().loadClass(name).getConstructors()[0].newInstance(None)


def map_in_arrow(frame: DataFrame, step: Callable[[Any], Any], schema: StructType | str) -> DataFrame:
    """``DataFrame.mapInArrow`` with a step whose pickle has no secrets.

    Raises:
        SparkError: PySpark lacks a package on the driver, such as pandas, which it wants there without using it.
    """
    shipped = ship(frame.sparkSession.sparkContext, step)
    try:
        return frame.mapInArrow(shipped, schema)
    except ImportError as error:
        raise SparkError(
            f"PySpark cannot run steps of Python: {error}", remedy="pip install pandas pyarrow where the driver runs"
        ) from error


def _tally(context: SparkContext) -> Accumulator[Totals]:
    """The accumulator of a context, whose sum the driver's metrics take."""
    with _guard:
        for stopped in [other for other in _tallies if other._jsc is None]:
            del _tallies[stopped]
        tally = _tallies.get(context)
        if tally is None:
            nothing: Totals = {}
            tally = _tallies[context] = context.accumulator(nothing, _MetricsParam(METADATA_METRICS))
        return tally


def _masked(context: SparkContext, secrets: Mapping[str, Any]) -> MaskedSecrets:
    """The variable of some secrets; made once, since a reference stands for one secret for good."""
    names = frozenset(secrets)
    with _guard:
        for stopped in [other for other in _variables if other._jsc is None]:
            del _variables[stopped]
        variables = _variables.setdefault(context, OrderedDict())
        masked = variables.get(names)
        if masked is None:
            masked = variables[names] = mask_secrets(secrets, context.broadcast)
            while len(variables) > _MOST:
                variables.popitem(last=False)  # Spark keeps those of steps that are under way
        else:
            variables.move_to_end(names)
        return masked
