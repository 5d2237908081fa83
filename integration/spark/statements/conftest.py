"""What tests of statements share: sessions that interpret expressions."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def new_session(spark) -> Callable[[], object]:
    """Gives a new session that interprets expressions: for a few rows, Spark's generated code costs more than it saves.

    Sessions that run generated code are those of the other folders, of the Thrift server and of the commands.
    """

    def make() -> object:
        made = spark.newSession()
        made.conf.set("spark.sql.codegen.wholeStage", "false")
        made.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        return made

    return make
