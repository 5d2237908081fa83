"""Says what to do about a name that the session catalog has not: Spark's own error only says that it is not there.

A rule of the analyser throws it in the JVM, so that clients of Spark's servers, who have no Python of ours, see it too.
"""

from __future__ import annotations

import difflib
import logging
import re
import shlex
from collections.abc import Sequence
from typing import Final

from hudi_hive.errors import HudiHiveError, SparkError
from hudi_hive.spark.bridge import Function1, JavaValue, option, quoted, relations, scala_items
from hudi_hive.spark.catalog.session_hook import SessionHook
from hudi_hive.spark.versions import SPARK, AnalyzerRule
from hudi_hive.table import MetaClient, is_hudi_table

MISSING_TABLE_RULE: Final = "hudi_hive.MissingTableRule"
_LOG = logging.getLogger("hudi_hive.spark")
_SESSION_CATALOG: Final = "spark_catalog"
_OF_MERGE_ON_READ: Final = ("_ro", "_rt")
"""What a sync puts behind the name of a merge-on-read table, for its views."""
_MOST_NAMES: Final = 10_000
"""Tables of a database among which the nearest name is looked for."""
_LAST_PART: Final = re.compile(r"`((?:[^`]|``)+)`$")


def explain_missing_tables(hook: SessionHook) -> None:
    """Have a session's analyser say what to do about names that no table or view has. Idempotent.

    Args:
        hook: of the session.
    """
    jvm = hook.environment.jvm
    function = Function1(lambda node: _explained(hook, node))
    rule = AnalyzerRule(MISSING_TABLE_RULE, lambda: jvm.made("MissingTableRule", MISSING_TABLE_RULE, function))
    SPARK.add_last_rule(jvm, hook.session, rule)


def _explained(hook: SessionHook, node: JavaValue) -> JavaValue | None:
    """The exception of a name that the analyser left as it was; None where we know no better than Spark."""
    try:
        if option(node.origin().objectType()) == "VIEW":
            return None  # whose names are those of the database where it was made
        parts = [str(part) for part in scala_items(node.multipartIdentifier())]
        error = _missing_table(hook, parts)
        return None if error is None else _exception(hook, node, parts, error)
    except Exception:  # Spark's own error says more than why it cannot be explained
        _LOG.debug("a missing table cannot be explained", exc_info=True)
        return None


def _exception(hook: SessionHook, node: JavaValue, parts: Sequence[str], error: SparkError) -> JavaValue:
    """Spark's exception about a name, with the text of an error of ours."""
    origin = node.origin()
    line, position = option(origin.line()), option(origin.startPosition())
    error.message += "" if line is None or position is None else f" (line {line}, pos {position})"
    jvm, catalog = hook.environment.jvm, hook.session.sessionState().catalog()
    path = quoted(_SESSION_CATALOG, str(catalog.getCurrentDatabase()))
    parameters = jvm.map({"relationName": quoted(*parts), "searchPath": f"[{path}]"})  # the latter since Spark 4.3
    return jvm.made("MissingTableException", str(error), parameters, origin)


def _missing_table(hook: SessionHook, parts: Sequence[str]) -> SparkError | None:
    jvm, state = hook.environment.jvm, hook.session.sessionState()
    if len(parts) == 3 and parts[0].lower() == _SESSION_CATALOG:
        parts = parts[1:]
    elif str(state.catalogManager().currentCatalog().name()) != _SESSION_CATALOG:
        return None
    catalog = state.catalog()
    if len(parts) > 2 or "/" in parts[-1] or parts[0].lower() == _global_views(hook):
        return None
    database = parts[0] if len(parts) == 2 else str(catalog.getCurrentDatabase())
    if not catalog.databaseExists(database):
        return SparkError(
            f"no table or view {database}.{parts[-1]}: there is no database {database}",
            remedy=f"SHOW DATABASES lists them; `hudi-hive sync --database {shlex.quote(database)}` makes it "
            "where it adds a Hudi table",
        )
    identifier = jvm.package("catalyst").TableIdentifier(parts[-1], jvm.some(database))
    if catalog.tableExists(identifier):
        return None  # a view looked for it in the database that it was made in
    left_out = _left_out(hook, catalog, database, parts[-1])
    if left_out is not None:
        table, path = left_out
        words = ["hudi-hive", "sync", "--base-path", path, "--database", database, "--table", table]
        return SparkError(
            f"no table or view {database}.{parts[-1]}: a Hudi table lies in its place, but was not synced",
            path=path,
            remedy=f"run `{shlex.join(words)}`, or read it with spark.read.format('hudi').load({path!r})",
        )
    hint = _hint(parts[-1], _names(catalog, database))
    return SparkError(
        f"no table or view {database}.{parts[-1]} in the catalog",
        remedy=f"{hint}SHOW TABLES IN {database} lists them; `hudi-hive sync` adds a Hudi table",
    )


def _global_views(hook: SessionHook) -> str:
    """The database of global temporary views, which is in no metastore."""
    return str(hook.session.conf().get("spark.sql.globalTempDatabase")).lower()


def _left_out(hook: SessionHook, catalog: JavaValue, database: str, name: str) -> tuple[str, str] | None:
    """The Hudi table in the place of a name that was not synced: the name that a sync takes, and the base path."""
    jvm = hook.environment.jvm
    identifier = jvm.package("catalyst").TableIdentifier("t", jvm.some(database))
    place = str(relations(jvm).qualified(hook.session, catalog.defaultTablePath(identifier)))
    bare = next((name[: -len(end)] for end in _OF_MERGE_ON_READ if name.lower().endswith(end)), None)
    for table in dict.fromkeys(one for one in (name, name.lower(), bare) if one):
        path = f"{place[: -len('/t')]}/{table}"
        options = hook.environment.store_options(hook.session, path)
        try:
            is_left_out = is_hudi_table(path, options) and (
                table != bare or MetaClient.load(path, options).config.is_merge_on_read
            )
        except HudiHiveError:
            return None  # a store that does not answer is asked, and waited for, once; the name may still be explained
        if is_left_out:
            return table, path
    return None


def _names(catalog: JavaValue, database: str) -> list[str]:
    """The names of a database's tables, in one call; none where they are too many to compare."""
    tables = catalog.listTables(database)
    if int(tables.size()) > _MOST_NAMES:
        return []
    found = (_LAST_PART.search(line) for line in str(tables.mkString("\n")).split("\n"))
    return [match[1].replace("``", "`") for match in found if match]


def _hint(name: str, names: Sequence[str]) -> str:
    nearest = difflib.get_close_matches(name, names, 1)
    return f"did you mean {nearest[0]}? " if nearest else ""
