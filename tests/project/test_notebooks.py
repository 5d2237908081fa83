"""The example notebooks run from top to bottom; that of Spark is in ``integration/spark``."""

from __future__ import annotations

import re

import nbformat
import pytest

from tests.support.notebooks import FOLDER, run_cells, run_notebook

OF_SPARK = {"spark.ipynb"}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({path.name for path in FOLDER.glob("*.ipynb")} - OF_SPARK))
def test_an_example_notebook_runs_and_shows_tables(name, tmp_path):
    shown = run_notebook(name, tmp_path)
    assert "<table" in shown and "Traceback" not in shown


WATCHED = """
import pyarrow as pa
from hudi_hive import HudiTable
from hudi_hive.progress import notebook, show_progress
notebook.NotebookBars.__init__.__defaults__ = (0,)  # work of any length has a bar
notebook._EVERY_S = 0
publisher, drawn = get_ipython().display_pub, []
publish = publisher.publish
def watched(data, **more):
    drawn.append((more["transient"]["display_id"], more["update"], data["text/html"]))
    publish(data, **more)
publisher.publish = watched
ids = [str(number) for number in range(5)]
table = HudiTable.create("t", name="t", record_keys=["id"], partition_fields=["p"])
table.upsert(pa.table({"id": ids, "p": ids}))
drawn.clear()
table.scan().to_arrow()
with show_progress():
    table.scan().to_arrow()
publisher.publish = publish
drawn
"""


@pytest.mark.long
def test_a_notebook_shows_bars_and_takes_them_away(tmp_path):
    shown = run_cells(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(WATCHED)]), tmp_path)
    drawn = re.findall(r"\('(hudi-hive-\w+)',\s+(\w+),\s+'(.*?)'\)", shown)
    by_bar = {bar: [html for one, _, html in drawn if one == bar] for bar, _, _ in drawn}
    reads = [texts for texts in by_bar.values() if "reading base files [files]" in texts[0]]
    assert len(reads) == 2
    for texts in reads:
        assert texts[-1] == "" and '<progress value="5" max="5"></progress> 5/5' in texts[-2]
    assert [update for _, update, _ in drawn].count("False") == len(by_bar)
    assert "Warning" not in shown and "Traceback" not in shown
