"""What a statement costs between Python and the JVM: calls are counted, since each is a round trip of its own."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import pytest
from py4j.clientserver import ClientServerConnection

import hudi_hive.spark as hudi_spark
from tests.support.fixture_tables import unzip_fixture

pytestmark = pytest.mark.jvm

NO_CALLS = "mA"
"""What py4j begins commands with that no statement makes: ``m`` gives a Java object back, whenever Python's collector
finds it, from a thread of py4j's own; ``A`` logs a new connection in, before the first command of a thread."""


@pytest.fixture
def counted(monkeypatch):
    """A context that counts calls of methods and constructors, look-ups of names, and what Java calls here."""
    send, answer = ClientServerConnection.send_command, ClientServerConnection._call_proxy
    told: Counter[str] = Counter()

    def sent(self, command):
        told[command[0]] += 1
        return send(self, command)

    def answered(self, number, stream):
        told["callbacks"] += 1
        return answer(self, number, stream)

    @contextmanager
    def counting():
        told.clear()
        with monkeypatch.context() as patch:
            patch.setattr(ClientServerConnection, "send_command", sent)
            patch.setattr(ClientServerConnection, "_call_proxy", answered)
            yield told
        for kind in NO_CALLS:
            told.pop(kind, None)

    return counting


@pytest.mark.parametrize(
    ("condition", "listing"), [("", 1), (" WHERE city = 'oslo'", 2), (" WHERE visit_id > 3", 1)], ids=str
)
def test_calls_of_a_statement_by_name(spark, synced, counted, condition, listing):
    """Besides what any statement takes: its parser's, the table's entry and relation, and one listing of files."""
    table = synced("v9_cow_part_mdt")
    text = f"SELECT count(*) FROM {table}{condition}"
    spark.sql(text).collect()
    with counted() as plain:
        spark.sql("SELECT count(*) FROM range(3)").collect()
    besides = sum(plain.values())
    with counted() as told:
        spark.sql(text).collect()
    assert told["callbacks"] == 3  # the parser, the plan of the table, its files
    assert sum(told.values()) - besides <= 11 + listing, told


def test_calls_of_a_table_by_path(spark, counted):
    base = unzip_fixture("v8_cow_nonpart")
    hudi_spark.load(spark, base).count()
    with counted() as told:
        frame = hudi_spark.load(spark, base)
    assert told["callbacks"] == 0
    assert sum(told.values()) <= 12, told
    frame.count()
    with counted() as told:
        frame.count()
    assert told["callbacks"] == 0  # what was listed is kept
