"""Storage options of Spark sessions: those of a call, of ``enable`` and of Hadoop's configuration, in this order.

They reach tasks inside the pickled steps, their secrets beside these (:mod:`hudi_hive.spark.bridge.shipping`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from hudi_hive.errors import StoreCredentialsError
from hudi_hive.spark.bridge.jvm import Jvm
from hudi_hive.spark.bridge.secrets import unlogged
from hudi_hive.spark.versions import JavaValue
from hudi_hive.storage import Credentials, add_options_origin, hadoop_properties, layered, split_credential_providers

_LOCAL: Final = ("", "file", "local")
_SEPARATOR: Final = "\x01"
_guard: Final = threading.Lock()
_of_contexts: Final[WeakKeyDictionary[SparkContext, Credentials]] = WeakKeyDictionary()
_added: Final[WeakKeyDictionary[SparkContext, set[str]]] = WeakKeyDictionary()
_jvms: Final[WeakKeyDictionary[SparkContext, Jvm]] = WeakKeyDictionary()


def set_session_options(context: SparkContext, options: Mapping[str, Any]) -> None:
    """Let all sessions of a context use storage options.

    Spark's own readers get them as well, as properties of Hadoop, where nobody has set these.
    """
    with _guard:
        _of_contexts[context] = Credentials(options)
        settings, before = context._jsc.hadoopConfiguration(), _added.pop(context, set())
    for name in before:
        settings.unset(name)
    _share(context, options)


def store_options(session: JavaValue, location: str | None, options: Mapping[str, Any] | None = None) -> Credentials:
    """The storage options for files at a location.

    Args:
        session: the JVM's session, whose Hadoop configuration counts; that of the context if it is None.
        location: a path or URI; None if it may be anywhere.
        options: of the call; they go before those of :func:`set_session_options`, and these before Hadoop's.
    """
    context = SparkContext._active_spark_context
    if context is None:
        return layered(options)
    with _guard:
        of_context = _of_contexts.get(context)
    if location is not None and _scheme(location) in _LOCAL:
        return layered(options, of_context)
    settings = context._jsc.hadoopConfiguration() if session is None else session.sessionState().newHadoopConf()
    own = (_with_secrets(context, settings, layer or {}) for layer in (options, of_context))
    return layered(*own, _of_hadoop(context, settings))


def use_session_options_in_pickles() -> None:
    """Let the options of this process's Spark context take the place of secrets that did not come with a pickle."""
    add_options_origin("spark", _of_active_context)


def _of_active_context() -> Credentials:
    return Credentials() if SparkContext._active_spark_context is None else store_options(None, None)


def reader_settings(location: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Properties of Hadoop for Spark's own reader of a table: what storage options say beside Hadoop's configuration.

    Args:
        location: of the table.
        options: of the call, which go before those of :func:`set_session_options`.
    """
    if _scheme(location) in _LOCAL:
        return {}
    context = SparkContext._active_spark_context
    with _guard:
        merged = layered(options, None if context is None else _of_contexts.get(context))
    return hadoop_properties(merged, location)


def _share(context: SparkContext, options: Mapping[str, Any]) -> None:
    """Add storage options to the context's Hadoop configuration, for checkpoints and the like, where it is silent."""
    added = hadoop_properties(options)
    if not added:
        return
    settings = context._jsc.hadoopConfiguration()
    before = _of_hadoop(context, settings)
    merged = layered(before, added)
    pairs = [text for name in merged.keys() - before.keys() for text in (name, str(merged[name]))]
    if pairs:
        java, helper = _jvm(context).view.java.util.ArrayList(), _helper(context)
        with unlogged():
            for text in pairs:
                java.add(text)
            helper.add(settings, java)
        with _guard:
            _added.setdefault(context, set()).update(pairs[::2])


def _with_secrets(context: SparkContext, settings: JavaValue, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with what Hadoop's credential providers hold in place of where these are."""
    others, providers = split_credential_providers(options)
    for bucket, path in providers.items():
        others |= _read(context, "secrets", settings, path, bucket)
    return others


def _of_hadoop(context: SparkContext, settings: JavaValue) -> dict[str, str]:
    return _read(context, "read", settings)


def _read(context: SparkContext, method: str, *arguments: JavaValue) -> dict[str, str]:
    helper = _helper(context)
    try:
        with unlogged():
            texts = str(getattr(helper, method)(*arguments)).split(_SEPARATOR)
    except (PySparkException, Py4JJavaError) as error:
        reason = str(error).partition("\n\tat ")[0].rpartition("\n: ")[2].partition("\n")[0]
        raise StoreCredentialsError(
            f"Hadoop's credential providers cannot be read: {reason}",
            remedy="correct hadoop.security.credential.provider.path and the password of its file",
        ) from None
    return dict(zip(texts[:-1:2], texts[1::2], strict=True))


def _jvm(context: SparkContext) -> Jvm:
    with _guard:
        jvm = _jvms.get(context)
        if jvm is None:
            jvm = _jvms[context] = Jvm(context)
        return jvm


def _helper(context: SparkContext) -> JavaValue:
    jvm = _jvm(context)
    return jvm.memoize("StoreSettings", lambda: jvm.made("StoreSettings"))


def _scheme(location: str) -> str:
    scheme, separator, _ = location.partition(":")
    return "" if not separator or "/" in scheme or len(scheme) < 2 else scheme.lower()
