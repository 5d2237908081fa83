"""Options of hive-sync under Hudi's and Hive's own names, as values of a configuration's fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hudi_hive.glue import READ_AT_ONCE, GlueSettings
from hudi_hive.metastore.connection import SECURITY, secured_uris
from hudi_hive.options import Face, OptionSet, as_texts, field_values, fill, sync

_SYNC_OPTIONS: Final = OptionSet("sync", Face.SYNC)

_FOR_SQL: Final = {
    sync.USERNAME.name: "a user of the SQL server",
    sync.PASSWORD.name: "a password of the SQL server",
    sync.JDBC_URL.name: "the address of the SQL server",
}
"""Options of the modes that send DDL statements; a warning says so in ``hms`` mode."""


def option_values(config: type[Any], options: Mapping[str, object]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Field values and warnings out of options under Hudi's names; the table's properties fill what is not there.

    A blank text is as none, but for partition fields, of which it says that there are none.

    Args:
        config: the dataclass whose fields the options set.
        options: names and values; values may be texts, numbers, booleans or lists.

    Raises:
        InvalidOptionError: an option that is unknown or not supported, or a value that it does not take.
    """
    texts = as_texts(options)
    for name in texts:
        if name not in _SYNC_OPTIONS:
            raise _SYNC_OPTIONS.unknown(name)
    texts = {name: text for name, text in texts.items() if text.strip() or name == sync.PARTITION_FIELDS.name}
    _SYNC_OPTIONS.check(texts)
    values = field_values(config, texts)
    security = {name: text for name, text in texts.items() if name in SECURITY}
    if security:
        values["metastore_uris"] = secured_uris(security, values.get("metastore_uris", ()))
    use_jdbc = sync.USE_JDBC.of(texts)
    if use_jdbc is not None:  # as in Hudi, it counts where no mode is named
        values.setdefault("mode", "jdbc" if use_jdbc else "hiveql")
    if sync.TOOL_CLASS.of(texts) == sync.GLUE_TOOL:  # as in Hudi, whatever the mode
        values["mode"] = sync.GLUE
    mode = values.get("mode", sync.MODE.default)
    if mode == sync.GLUE:
        values |= _of_glue(texts)
    return values, tuple(_unused(mode, texts))


def _of_glue(texts: Mapping[str, str]) -> dict[str, Any]:
    """Field values that only count in mode ``glue``."""
    values: dict[str, Any] = {"glue": fill(GlueSettings, texts)}
    names = {"database": sync.GLUE_DATABASE.of(texts), "table": sync.GLUE_TABLE.of(texts)}
    values |= {name: text for name, text in names.items() if text is not None}
    if sync.GLUE_RECREATE_ON_ERROR.of(texts):
        values["recreate_on_error"] = True
    return values


def _unused(mode: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Warnings of options that the mode does not use."""
    if mode in ("hms", sync.GLUE):
        for name, what in _FOR_SQL.items():
            if name in texts:
                yield f"{name} is {what}, which the {mode} mode does not use"
    if mode != sync.GLUE:
        for name in texts:
            if any(option.answers_to(name) for option in sync.GLUE_OPTIONS):
                yield f"{name} is an option of AWS Glue, which the {mode} mode does not use"
        return
    if sync.FILTER_PUSHDOWN.of(texts):
        yield f"{sync.FILTER_PUSHDOWN} is not used: Glue reads {READ_AT_ONCE} partitions by name in one request"
    if sync.CONNECTIONS.name in texts:
        yield f"{sync.CONNECTIONS} is not used: {sync.GLUE_CHANGE_PARALLELISM} counts the requests of the glue mode"
