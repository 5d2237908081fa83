"""The figures of the code's shape, on a small tree."""

from __future__ import annotations

from tools.checks.tree import SourceTree
from tools.measure_house import measure

ONE = '''"""One."""
from hudi_hive.table.names import base
from hudi_hive import two

class Executor:
    def run(self, a, b, c, d, e, f, g, h, i) -> tuple[int, int, int]:
        return 1, 2, 3
'''
FILES = {
    "README.md": "four words of text",
    "hudi_hive/__init__.py": "",
    "hudi_hive/one.py": ONE,
    "hudi_hive/two.py": '"""Two."""\nimport hudi_hive.one\nclass Executor:\n    """E."""\n'
    + "N = 'hoodie.table.name'\n" * 9,
    "hudi_hive/table/__init__.py": "",
    "hudi_hive/table/names.py": "def base(given): ...",
    "tests/test_one.py": "from hudi_hive.table.names import base",
}


def test_figures_of_a_tree_are_measured(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    figures = measure(SourceTree(tmp_path))
    assert figures["longest module"] == "13"
    assert figures[">= 7 parameters"] == "50.0 % (1 of 2)"
    assert figures["fixed tuples returned"] == "50.0 % (1 of 2)"
    assert figures["public docstrings"] == "33.3 % (3 of 9)"
    assert (figures["largest import circle"], figures["import circles"]) == ("2", "1 (1 in the product)")
    assert figures["imports past a face"] == "2 (1 in the product)"
    assert figures["README, words"] == "4"
    assert figures["identifiers with a banned word"] == "1 (1 in the product)"
    assert figures["public functions > 8 parameters"] == figures["public functions returning tuples > 2"] == "1"
    assert figures["public class names defined twice"] == "1"
    assert figures["hoodie literals outside declaring modules"] == "9"
    assert figures["flat files in tests"] == "1"
