"""The hook of a Spark session: resolves names of synced tables to plans, in the session catalog's cache."""

from __future__ import annotations

import threading

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import Function1, JavaValue, Weak, relations
from hudi_hive.spark.catalog.table_lookup import HudiTableEntry, find_table, table_of_entry
from hudi_hive.spark.scan import Environment, relation_plan

CACHE_LABEL = "hudi_hive.RelationCache"

_installing = threading.Lock()


class SessionHook:
    """The hook of one session, which finds and plans synced tables.

    A table's snapshot is taken once per statement, so that a self-join sees one state of it, and anew in the next. Each
    thread has its own statement: sessions may be used by several at once.

    The session holds its hook, and nothing here holds the session.

    Args:
        environment: of the Spark context.
        session: the JVM's session.
    """

    session = Weak()
    _cache = Weak()

    def __init__(self, environment: Environment, session: JavaValue) -> None:
        self.environment = environment
        self.session = session
        self._cache_installed = False

    def begin_statement(self) -> None:
        """Start a statement in this thread, for which tables are looked up again."""
        self.install_cache()
        self._cache.begin()

    def find(self, database: str | None, name: str) -> HudiTableEntry | None:
        """The synced table of this name, or None; a temporary view hides a table of the current database."""
        jvm = self.environment.jvm
        if database is None and self.session.sessionState().catalog().isTempView(jvm.seq([name])):
            return None
        return find_table(jvm, self.session, database, name)

    def plan(self, entry: JavaValue) -> JavaValue:
        """The plan of a table as it is now, by its entry in the catalog.

        Raises:
            HudiHiveError: it cannot be read.
        """
        table = table_of_entry(entry)
        if not table.native:
            raise SparkError(
                f"{table.declared.name} was synced without Spark's table properties, and Spark would read old file "
                "versions beside the new ones",
                path=table.location,
                remedy="sync it with hoodie.datasource.hive_sync.sync_as_datasource=true, or use hudi_hive.spark.table",
            )
        return relation_plan(self.environment, self.session, table.location, table.query(), table.declared)

    # -- hooks -----------------------------------------------------------------------------------------------------

    def install_cache(self) -> None:
        """Hook the session catalog, as soon as it exists."""
        if self._cache_installed:
            return
        with _installing:  # several hooks of one session would put a cache of theirs around Spark's own
            field = self.environment.jvm.field(self.session.sessionState().catalog(), "tableRelationCache")
            current = field.get()
            if str(current.toString()) == CACHE_LABEL:
                self._cache = self.environment.jvm.view.java.lang.reflect.Proxy.getInvocationHandler(current)
            else:
                cache = self._new_cache(current)
                field.set(cache.proxy(self.environment.jvm.class_(field.type_name)))
                self._cache = cache
            self._cache_installed = True

    def remove_cache(self) -> None:
        """Give the session catalog its own cache back."""
        with _installing:
            field = self.environment.jvm.field(self.session.sessionState().catalog(), "tableRelationCache")
            current = field.get()
            if str(current.toString()) == CACHE_LABEL:
                handler = self.environment.jvm.view.java.lang.reflect.Proxy.getInvocationHandler(current)
                field.set(handler.delegate())
            self._cache_installed = False

    def _new_cache(self, delegate: JavaValue) -> JavaValue:
        """Makes the handler of ``RelationCache.java`` around Spark's own cache."""
        jvm = self.environment.jvm
        callbacks = Function1(self.plan), Function1(self._refuse)
        return jvm.made("RelationCache", delegate, self.session, relations(jvm), *callbacks)

    def _refuse(self, entry: JavaValue) -> None:
        """Refuse ``saveAsTable`` with mode ``overwrite`` from where nothing of this package stands in its place."""
        table = table_of_entry(entry)
        raise SparkError(
            f"saveAsTable with mode overwrite would drop {table.declared.name} before it writes",
            path=table.location,
            remedy="use INSERT OVERWRITE, or CREATE OR REPLACE TABLE … AS SELECT",
        )
