"""Booleans are read in two ways: checked where a user gives them, as Java reads them where a table holds them."""

from __future__ import annotations

import pytest

from hudi_hive.options import parse_boolean, parse_java_boolean


@pytest.mark.parametrize(
    ("text", "checked", "of_java"),
    [
        ("true", True, True),
        ("TRUE", True, True),
        ("false", False, False),
        ("False", False, False),
        (" true ", True, False),
        ("yes", None, False),
        ("1", None, False),
        ("", None, False),
    ],
)
def test_booleans_are_parsed_checked_and_as_java_does(text, checked, of_java):
    assert (parse_boolean(text), parse_java_boolean(text)) == (checked, of_java)
