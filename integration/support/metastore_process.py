"""A released metastore on a database server, for a process that measures.

    python -m integration.support.metastore_process postgres 3.1.3 FOLDER

Prints the port of the metastore, and stops both when its input ends. Unlike in tests, PostgreSQL keeps its package's
settings, and the metastore has all compilers of Java and a collector of several threads.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from integration.support.metastores import RELEASES, ReleasedMetastore
from integration.support.stores.mariadb import MariaDbServer
from integration.support.stores.postgres import PostgresServer

_JAVA: Final = ("-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("database", choices=["postgres", "mariadb"])
    parser.add_argument("release", choices=[*RELEASES])
    parser.add_argument("folder", type=Path, help="of the metastore, made when missing")
    arguments = parser.parse_args()
    with PostgresServer(lasting=True) if arguments.database == "postgres" else MariaDbServer() as database:
        store = database.make_store(RELEASES[arguments.release])
        with ReleasedMetastore(
            arguments.release, arguments.folder, heap="1g", java_options=_JAVA, store=store
        ) as metastore:
            print(metastore.uri.rpartition(":")[2], flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    main()
