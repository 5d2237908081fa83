"""The page of options is what the declarations say."""

from __future__ import annotations

from hudi_hive.options import ALL_OPTIONS, table
from tools.options_page import PAGE, page


def test_the_page_of_options_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.options_page"


def test_every_name_of_every_option_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for option in ALL_OPTIONS for name in option.names)


def test_every_option_is_since_a_table_version_that_is_written():
    assert {option.since for option in ALL_OPTIONS} == set(table.TABLE_VERSIONS)
