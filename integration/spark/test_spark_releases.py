"""Spark 3.5 beside the newest: the family of releases whose names, Scala and Python interfaces differ most."""

from __future__ import annotations

from integration.support.spark_releases import RELEASES, ended_statements


def test_twenty_everyday_statements_on_spark_3_5():
    ended = ended_statements(RELEASES[0])
    errors = {(feature, step): error for feature, steps in ended.items() for step, error in steps.items()}
    assert {step: error for step, error in errors.items() if error is not None} == {}
    assert len(errors) == 21  # the twenty, and that all private names are there
