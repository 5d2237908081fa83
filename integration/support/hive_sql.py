"""The SQL engine of Hive 4.0.1 and its compactor, on a real metastore of that release.

Queries run as MapReduce jobs inside of one Java process, some seconds each. Beside the metastore's jars it needs only
``hive-exec`` and a few small libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self
from xml.sax.saxutils import escape

from hudi_hive.metastore.transactions import CAPABILITIES
from integration.support.hive_process import HiveProcess
from integration.support.metastores import ReleasedMetastore, _jars, fetch

VERSION = "4.0.1"
"""The release."""

_MAIN = Path(__file__).with_name("HiveSql.java")
_LIBRARIES = _jars(
    "org.apache.commons commons-collections4 4.1 b1fe8b5968b57d8465425357ed2d9dc695504518bed2df5b565c4b8e68c1c8a5",
    "org.apache.commons commons-compress 1.23.0 c267f17160e9ef662b4d78b7f29dca7c82b15c5cff2cb6a9865ef4ab3dd5b787",
    "org.apache.commons commons-math3 3.6.1 1e56d7b058d28b65abd256b8458e3885b674c1d588fa43cd7d1cbb9c7ef2b308",
    "com.jayway.jsonpath json-path 2.9.0 11a9ee6f88bb31f1450108d1cf6441377dec84aca075eb6bb2343be157575bea",
    "org.reflections reflections 0.10.2 938a2d08fe54050d7610b944d8ddc3a09355710d9e6be0aac838dbc04e9a2825",
)
_OPENED = ("java.lang.reflect", "java.text", "java.time", "java.util.concurrent.atomic", "sun.nio.ch")


class HiveSql:
    """A session of Hive's SQL engine; a context manager.

    Args:
        metastore: of release 4.0.1.
        heap: largest heap of the Java process.
    """

    def __init__(self, metastore: ReleasedMetastore, *, heap: str = "1g") -> None:
        self._metastore = metastore
        opens = [part for name in _OPENED for part in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")]
        self._process = HiveProcess(
            VERSION,
            _MAIN,
            heap=heap,
            jars=[fetch(jar) for jar in _LIBRARIES],
            options=[*opens, "-Djava.io.tmpdir=."],
            arguments=CAPABILITIES,
        )
        self.statements = 0

    def __enter__(self) -> Self:
        lines = (
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in self._settings(self._process.folder).items()
        )
        text = "\n".join(("<configuration>", *lines, "</configuration>", ""))
        (self._process.folder / "hive-site.xml").write_text(text, encoding="utf-8")
        self._process.__enter__()
        return self

    def _settings(self, folder: Path) -> Mapping[str, str]:
        return {
            "hive.metastore.uris": self._metastore.uri,
            "hive.metastore.warehouse.dir": f"file:{self._metastore.warehouse}",
            "hive.support.concurrency": "true",
            "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
            "hive.execution.engine": "mr",
            "mapreduce.framework.name": "local",
            "hive.exec.dynamic.partition.mode": "nonstrict",
            "hive.auto.convert.join": "false",
            "hive.exec.submitviachild": "false",
            "hive.exec.submit.local.task.via.child": "false",
            "hive.exec.scratchdir": f"{folder}/scratch",
            "hive.exec.local.scratchdir": f"{folder}/local",
            "hive.downloaded.resources.dir": f"{folder}/resources",
            "hive.querylog.location": f"{folder}/queries",
            "hadoop.tmp.dir": f"{folder}/hadoop",
            "mapreduce.cluster.local.dir": f"{folder}/mapreduce",
        }

    def __exit__(self, *error: object) -> None:
        self._process.__exit__(None, None, None)

    def run(self, statement: str) -> list[list[str]]:
        """The results of a statement, as Hive prints them: ``NULL`` for a missing value.

        Raises:
            HiveError: Hive refuses it.
        """
        self.statements += 1
        return [line.split("\t") for line in self._process.ask(f"sql {' '.join(statement.split())}")]

    def compact(self, kind: Literal["MINOR", "MAJOR"], database: str, table: str, partition: str = "") -> str:
        """Have Hive compact a table or partition, and wait for it.

        Args:
            kind: only the deltas, or all.
            database: name of the database.
            table: name of the table.
            partition: name of the partition, ``k=v``; empty for a table without partitions.

        Returns:
            the state that the metastore has of it: ``ready for cleaning`` if it succeeded.

        Raises:
            HiveError: it was not begun.
        """
        (state,) = self._process.ask("\t".join(("compact", kind, database, table, partition)).rstrip("\t"))
        return state
