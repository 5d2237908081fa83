"""What tests of statements share: sessions that interpret expressions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from integration.support.spark_options import INTERPRETED


@pytest.fixture(scope="session")
def new_session(spark) -> Callable[[], object]:
    """Gives a new session that interprets expressions."""

    def make() -> object:
        made = spark.newSession()
        for name, text in {**INTERPRETED, "spark.sql.shuffle.partitions": "2"}.items():
            made.conf.set(name, text)
        return made

    return make
