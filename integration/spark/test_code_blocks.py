"""The code of README, docs and docstrings that needs Spark or another JVM runs as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.code_blocks import CodeBlock, Names, docstring_blocks, page_blocks
from tests.support.running.long import long_case

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

# Blocks of docs/spark-connect.md need a server: connect/test_connect_server.py runs them.
# Blocks on Hive's ACID tables need a metastore of Hive 3 or 4: test_spark_mutate.py is about those.
BLOCKS = [
    block
    for block in [*page_blocks("python"), *docstring_blocks()]
    if block.needs_jvm and "bank" not in block.text and not block.where.startswith("docs/spark-connect.md")
]
# Those of docs/spark-jar.md are for spark-sql: jar/test_spark_jar.py.
SQL = [block for block in page_blocks("sql") if not block.where.startswith("docs/spark-jar.md")]


@pytest.fixture
def names(metastore_uri: str, metastore: Any, spark: Any, tmp_path: Path) -> Iterator[Names]:
    metastore.create_database("lake", location=f"file:{tmp_path}", if_not_exists=True)
    made = Names(tmp_path, metastore_uri, spark)
    yield made
    for query in spark.streams.active:
        query.stop()
    made.close()
    metastore.drop_database("lake", cascade=True)


# They start a server of their own, as thrift/test_thrift_server.py and each test on a metastore does.
LONG = [
    block
    for block in BLOCKS
    if block.where.endswith((":ThriftServer", ":EmbeddedMetastore")) or "/thrift-server.md" in block.where
]
CASES = [long_case(block) if block in LONG else block for block in BLOCKS]


@pytest.mark.parametrize("block", CASES, ids=lambda block: block.where)
def test_a_code_block_of_the_docs_runs(block: CodeBlock, names: Names) -> None:
    assert block.run(names, jvm=True)


@pytest.mark.parametrize("block", SQL, ids=lambda block: block.where)
def test_the_sql_of_a_page_runs(block: CodeBlock, names: Names, spark: Any) -> None:
    text = re.sub(r"--.*", "", names.replace(block.text))
    for statement in filter(None, (each.strip() for each in text.split(";"))):
        spark.sql(statement).collect()
