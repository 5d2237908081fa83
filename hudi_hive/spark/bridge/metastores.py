"""Where the metastore of a Spark session is, and how to reach it."""

from __future__ import annotations

from hudi_hive.spark.versions import JavaValue


def metastore_settings(session: JavaValue) -> dict[str, str]:
    """The session's addresses of a metastore server and how to talk to it, by Hive's own names.

    Args:
        session: the JVM's session, whose configuration counts before that of the context.

    Returns:
        Settings, as an option of a sync each; without an address where the session has no metastore server.
    """
    from hudi_hive.metastore.connection import SECURITY, URIS  # tasks, which load this module, need no client

    settings = session.sessionState().newHadoopConf()
    return {name: str(settings.get(name)) for name in (*URIS, *SECURITY) if settings.get(name)}
