"""``hudi-hive --merger … thriftserver start``: statements of its clients merge by the Python mergers of users."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from integration.support.spark_options import SERVER_SETTINGS, START_SECONDS
from tests.support import mergers

pytestmark = [pytest.mark.jvm, pytest.mark.long]

COMMAND = "from hudi_hive.cli.main import main; main()"


@pytest.fixture
def cursor(metastore_uri: str, tmp_path: Path) -> Iterator[Any]:
    """A connection to a server whose Python finds the merger's module in a folder of its path."""
    (tmp_path / "modules").mkdir()
    shutil.copy(str(mergers.__file__), tmp_path / "modules" / "acme_mergers.py")
    settings = SERVER_SETTINGS | {"spark.executorEnv.PYTHONPATH": f"{Path(__file__).parents[3]}:{tmp_path}/modules"}
    (tmp_path / "settings").write_text("".join(f"{name}={text}\n" for name, text in settings.items()))
    words = ["--merger", "com.acme.Sum=acme_mergers:total", "thriftserver", "start", "--metastore-uris", metastore_uri]
    path = os.pathsep.join([str(Path(__file__).parents[3]), str(tmp_path / "modules")])
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words, "--settings", str(tmp_path / "settings")],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            ready = re.search(r"jdbc:hive2://127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert ready is not None
            made = hive.connect("127.0.0.1", int(ready[1]), username="reader")
            with closing(made) as connection, closing(connection.cursor()) as cursor:
                yield cursor
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def test_statements_merge_by_it_and_name_what_is_missing(cursor, tmp_path):
    def table(name: str, payload: str) -> str:
        properties = f"type = 'mor', primaryKey = 'id', 'hoodie.datasource.write.payload.class' = '{payload}'"
        made = f"CREATE TABLE {name} (id INT, n BIGINT) USING hudi LOCATION '{tmp_path}/{name}'"
        return f"{made} TBLPROPERTIES ({properties})"

    cursor.execute(table("sums", "com.acme.Sum"))
    cursor.execute("INSERT INTO sums VALUES (1, 1), (2, 5)")
    cursor.execute("UPDATE sums SET n = 10 WHERE id = 1")
    cursor.execute("SELECT id, n FROM sums ORDER BY id")
    assert cursor.fetchall() == [(1, 11), (2, 5)]
    with pytest.raises(OperationalError, match=r"payload class com\.acme\.Other.*spark\.hudi_hive\.record\.mergers"):
        cursor.execute(table("others", "com.acme.Other"))
    cursor.execute("DROP TABLE sums")
