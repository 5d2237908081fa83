"""The example notebooks run from top to bottom; that of Spark is in ``integration/spark``."""

from __future__ import annotations

import pytest

from tests.support.notebooks import FOLDER, run_notebook

OF_SPARK = {"spark.ipynb"}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({path.name for path in FOLDER.glob("*.ipynb")} - OF_SPARK))
def test_an_example_notebook_runs_and_shows_tables(name, tmp_path):
    shown = run_notebook(name, tmp_path)
    assert "<table" in shown and "Traceback" not in shown
