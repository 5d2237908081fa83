"""The example notebook of Spark runs from top to bottom, in a session of its own."""

from __future__ import annotations

import pytest

from tests.support.notebooks import run_notebook

pytestmark = pytest.mark.jvm


@pytest.mark.long
def test_the_notebook_of_spark_runs_and_shows_rows(tmp_path):
    shown = run_notebook("spark.ipynb", tmp_path)
    assert "HudiTable fares" in shown and "Row(id='a', fare=25.0, city='sf')" in shown
