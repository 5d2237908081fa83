"""Access to Spark's JVM by py4j: classes, Scala values, private fields, Java interfaces implemented in Python.

Everything here is thread-safe: py4j keeps one connection per thread, and what is cached is written once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Hashable, Iterable
from importlib.resources import files as resources
from typing import Any
from weakref import WeakKeyDictionary

from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaGateway, JavaObject
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge.py4j_errors import bridge_errors, to_java
from hudi_hive.spark.versions import SPARK, SUPPORTED, JavaValue, features_on, scala_items

_compiling = threading.Lock()
_compiled: WeakKeyDictionary[JavaGateway, dict[str, JavaValue]] = WeakKeyDictionary()
_shared: WeakKeyDictionary[JavaGateway, JavaValue] = WeakKeyDictionary()


class Jvm:
    """The JVM of one Spark context.

    Args:
        context: a running context of classic PySpark.

    Raises:
        SparkError: there is no JVM to reach (Spark Connect).
    """

    def __init__(self, context: SparkContext) -> None:
        gateway = getattr(context, "_gateway", None)
        if gateway is None or context._jvm is None:
            raise SparkError(
                "the Spark context has no JVM in this process", remedy="use classic PySpark, not Spark Connect"
            )
        self.gateway: JavaGateway = gateway
        self.view = context._jvm
        self._changing = threading.Lock()
        self._memo: dict[Hashable, Any] = {}
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        # Without this, what a proxy raises reaches Java as a Py4JException that hides the Java exception inside.
        gateway.python_parameters.propagate_java_exceptions = True
        bridge_errors(functools.partial(self.made, "HudiStatementException"))

    def memoize(self, key: Hashable, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Cache a value by key: looking up a name costs a call to the JVM for each of its parts.

        Values must not refer to a session.
        """
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    @property
    def pins_threads(self) -> bool:
        """Whether callbacks run for the calling Java thread, and their calls in that thread (pinned thread mode)."""
        return isinstance(self.gateway, ClientServer)

    def add_optimization(self, session: JavaValue, label: str, make: Callable[[], JavaValue]) -> None:
        """Add an optimiser rule to a session, unless it has one with this label; thread-safe."""
        methods = session.experimental()
        with self._changing:  # or one would put a list back that lacks what the other has just added
            rules = list(scala_items(methods.extraOptimizations()))
            if all(str(rule.toString()) != label for rule in rules):
                getattr(methods, "extraOptimizations_$eq")(self.seq([*rules, make()]))

    def remove_optimizations(self, session: JavaValue, labels: Collection[str]) -> None:
        """Take optimiser rules with these labels from a session."""
        methods = session.experimental()
        with self._changing:
            rules = list(scala_items(methods.extraOptimizations()))
            others = [rule for rule in rules if str(rule.toString()) not in labels]
            getattr(methods, "extraOptimizations_$eq")(self.seq(others))

    # -- classes ---------------------------------------------------------------------------------------------------

    def class_(self, name: str) -> JavaValue:
        """``java.lang.Class`` of a full class name, by Spark's class loader.

        Raises:
            SparkError: this version of Spark does not have it.
        """
        try:
            return self.memoize(("class", name), lambda: self._class(name))
        except Py4JError as error:
            raise SparkError(
                f"this version of Spark has no class {name}, on which {features_on(name)} stand",
                remedy=f"use {SUPPORTED}",
            ) from error

    def _class(self, name: str) -> JavaValue:
        lang = self.view.java.lang
        return lang.Class.forName(name, True, lang.Thread.currentThread().getContextClassLoader())

    def module(self, name: str) -> JavaValue:
        """The single instance of a Scala object."""
        return self.memoize(("module", name), lambda: self.class_(name + "$").getField("MODULE$").get(None))

    def made(self, name: str, *arguments: JavaValue) -> JavaValue:
        """An object of the class of ``NAME.java``, which is compiled once in each JVM; raises as :meth:`cooked`.

        Args:
            name: of the class.
            arguments: of its one constructor.
        """
        java_arguments = self.view.java.util.ArrayList()  # takes functions of Python, too
        for argument in arguments:
            java_arguments.add(argument)
        return self._compiled(name).getConstructors()[0].newInstance(java_arguments.toArray())

    def share_classes(self, classes: JavaValue) -> None:
        """Take compiled classes from a map of the JVM, and put there what is compiled.

        Args:
            classes: name -> class; the map outlives this process, as classes do.
        """
        with _compiling:
            _shared[self.gateway] = classes
            _compiled[self.gateway] = {str(name): classes.get(name) for name in classes}

    def _compiled(self, name: str) -> JavaValue:
        with _compiling:  # py4j takes methods of another class of this name for those of the one that it saw first
            compiled = _compiled.setdefault(self.gateway, {})
            if name not in compiled:
                compiled[name] = self.cooked(name, java_source(name)).getClassLoader().loadClass(name)
                if self.gateway in _shared:
                    _shared[self.gateway].put(name, compiled[name])
            return compiled[name]

    def cooked(self, name: str, source: str, parent: JavaValue | None = None) -> JavaValue:
        """A compiler that holds the classes of Java source text: Janino, which comes with Spark; for the driver.

        Args:
            name: what to call it in errors.
            source: the text.
            parent: class loader of what the text uses; without one, that of this thread.

        Raises:
            SparkError: there is no Janino, or it cannot compile the text with this version of Spark.
        """
        try:
            compiler = self.view.org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(parent or self._java_support())
            compiler.cook(SPARK.java_text(source))
        except (Py4JError, TypeError) as error:
            raise SparkError(
                f"{name} cannot be compiled for this version of Spark: {error}", remedy=f"use {SUPPORTED}"
            ) from error
        return compiler

    def _java_support(self) -> JavaValue:
        """Class loader of what our Java source uses: Spark, and what stands in for parts that it lacks."""
        if self._support is not None:
            return self._support.getClassLoader()
        return self.view.java.lang.Thread.currentThread().getContextClassLoader()

    def support_codes(self) -> list[JavaValue]:
        """Maps of names to byte codes of the classes that stand in for parts that this version of Spark lacks."""
        compiler = self._support
        return [] if compiler is None else [compiler.getBytecodes()]

    @property
    def _support(self) -> JavaValue | None:
        name = SPARK.java_support
        if name is None:
            return None
        loader = self.view.java.lang.Thread.currentThread().getContextClassLoader()
        return self.memoize("java support", lambda: self.cooked(name, java_source(name), loader))

    @property
    def classic(self) -> JavaValue:
        """The package of sessions and datasets."""
        return self.package(SPARK.classic)

    def as_seq(self, array: JavaValue) -> JavaValue:
        """A Java array as a Scala sequence."""
        return SPARK.as_seq(self, array)

    def package(self, name: str) -> JavaValue:
        """A package below ``org.apache.spark.sql``, whose classes are its attributes."""
        return self.memoize(("package", name), lambda: _Names(self._package(name)))

    def _package(self, name: str) -> JavaValue:
        node = self.view.org.apache.spark.sql
        for part in filter(None, name.split(".")):
            node = getattr(node, part)
        return node

    # -- values ----------------------------------------------------------------------------------------------------

    @property
    def _utilities(self) -> JavaValue:
        return self.memoize("PythonUtils", lambda: self.view.PythonUtils)

    @property
    def _option(self) -> JavaValue:
        return self.memoize("Option", lambda: self.view.scala.Option)

    def seq(self, items: Iterable[Any]) -> JavaValue:
        """An immutable Scala ``Seq``."""
        return self._utilities.toSeq(list(items))

    def some(self, value: JavaValue) -> JavaValue:
        """``Some(value)``."""
        return self._option.apply(value)

    def none(self) -> JavaValue:
        """``None`` of Scala."""
        return self.memoize("None", lambda: self._option.apply(None))

    def map(self, items: dict[str, str]) -> JavaValue:
        """An immutable Scala ``Map`` of strings."""
        return self._utilities.toScalaMap(items)

    def strings(self, items: Iterable[str]) -> JavaValue:
        """A Java array of strings, made in one call; the strings hold no line break."""
        values = list(items)
        if not values:
            return self.gateway.new_array(self.view.java.lang.String, 0)
        return self.view.java.util.regex.Pattern.compile("\n").split("\n".join(values))

    # -- private state -----------------------------------------------------------------------------------------------

    def field(self, target: JavaValue, name: str) -> PrivateField:
        """A private field of an object, declared in its class or one above it.

        Raises:
            SparkError: no such field in this version of Spark.
        """
        cls = target.getClass()
        while cls is not None:
            for field in cls.getDeclaredFields():
                if field.getName() == name:
                    field.setAccessible(True)
                    return PrivateField(target, field)
            cls = cls.getSuperclass()
        raise SparkError(
            f"this version of Spark has no field {name} in {target.getClass().getName()}",
            remedy=f"use {SUPPORTED}",
        )


def relations(jvm: Jvm) -> JavaValue:
    """The singleton of ``Relations.java``, which has no state."""
    return jvm.memoize("Relations", lambda: jvm.made("Relations"))


def java_source(name: str) -> str:
    """The text of ``NAME.java`` of this package."""
    return resources("hudi_hive.spark").joinpath("java", f"{name}.java").read_text(encoding="utf-8")


class _Names:
    """A package whose members are looked up once; what is no class, such as a name of another version, raises there."""

    def __init__(self, package: JavaValue) -> None:
        self._package = package

    def __getattr__(self, name: str) -> JavaValue:
        found = self.__dict__[name] = getattr(self._package, name)
        return found


class PrivateField:
    """A private field of a Java object, accessed by reflection."""

    def __init__(self, target: JavaValue, field: JavaValue) -> None:
        self._target = target
        self._field = field

    @property
    def type_name(self) -> str:
        """Full name of the declared class."""
        return str(self._field.getType().getName())

    def get(self) -> JavaValue:
        """The value."""
        return self._field.get(self._target)

    def set(self, value: JavaValue) -> None:
        """Set the value, also of a final field, which HotSpot does not constant-fold in ordinary objects."""
        self._field.set(self._target, value)


def option(value: JavaValue) -> JavaValue | None:
    """The value of a Scala ``Option``, or None."""
    return value.get() if value.isDefined() else None


def class_name(value: JavaValue) -> str:
    """Simple class name of a Java object; empty for a value that py4j turned into a Python one."""
    return str(value.getClass().getSimpleName()) if isinstance(value, JavaObject) else ""


class JavaProxy:
    """Base class of Python objects that implement a Java interface, with the three methods of ``Object``.

    Subclasses name the interfaces in an inner class ``Java`` with a list ``implements``.

    Attributes:
        label: text of the object in plans and logs.
        outlives_context: Java may call it when its Spark context has stopped.
    """

    label = "hudi_hive"
    outlives_context = False

    def toString(self) -> str:
        """Text of the object in plans and logs."""
        return self.label

    def hashCode(self) -> int:
        """Identity, as a Java int."""
        return id(self) & 0x7FFFFFFF

    def equals(self, other: JavaValue) -> bool:
        """Identity."""
        return other is self


class Function1(JavaProxy):
    """``scala.Function1`` over a Python function, whose exceptions are passed to Java."""

    label = "hudi_hive.Function1"

    def __init__(self, function: Callable[[JavaValue], JavaValue]) -> None:
        self._function = function

    @to_java
    def apply(self, value: JavaValue) -> JavaValue:
        """Call the function."""
        return self._function(value)

    class Java:
        implements = ("scala.Function1",)


class Function2(JavaProxy):
    """``scala.Function2`` over a Python function."""

    label = "hudi_hive.Function2"

    def __init__(self, function: Callable[[JavaValue, JavaValue], JavaValue]) -> None:
        self._function = function

    @to_java
    def apply(self, first: JavaValue, second: JavaValue) -> JavaValue:
        """Call the function."""
        return self._function(first, second)

    class Java:
        implements = ("scala.Function2",)


class Rewrite(JavaProxy):
    """``scala.PartialFunction`` for tree transforms: the function returns the new node, or None to keep it."""

    label = "hudi_hive.Rewrite"

    def __init__(self, function: Callable[[JavaValue], JavaValue | None]) -> None:
        self._function = function

    @to_java
    def isDefinedAt(self, node: JavaValue) -> bool:
        """Whether the node is rewritten."""
        return self._function(node) is not None

    @to_java
    def apply(self, node: JavaValue) -> JavaValue:
        """The new node."""
        return self._function(node)

    @to_java
    def applyOrElse(self, node: JavaValue, default: JavaValue) -> JavaValue:
        """The new node, or the result of ``default``."""
        result = self._function(node)
        return default.apply(node) if result is None else result

    class Java:
        implements = ("scala.PartialFunction",)
