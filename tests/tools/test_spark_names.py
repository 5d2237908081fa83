"""Private names of Spark: declared where they are reached, and on the page."""

from __future__ import annotations

from tools.checks.tree import SourceTree
from tools.spark_names import find
from tools.spark_versions_page import PAGE, page


def test_all_names_that_are_reached_are_declared():
    assert [str(finding) for finding in find(SourceTree())] == []


def test_names_that_are_not_declared_are_found(tmp_path):
    text = """
def run(jvm, spark):
    jvm.package("catalyst.plans.logical").Sample
    jvm.class_("org.apache.spark.sql.Made")
    jvm.field(spark._jspark, "hidden")
    spark.sessionState().streams()
"""
    sources = {"scan/one.py": text, "java/MergeRule.java": "import org.apache.spark.sql.MadeUp;\n"}
    for path, source in sources.items():
        written = tmp_path / "hudi_hive" / "spark" / path
        written.parent.mkdir(parents=True)
        written.write_text(source)
    found = {(one.subject, one.line) for one in find(SourceTree(tmp_path)) if "names.py:1:" not in str(one)}
    assert found == {
        ("sql.catalyst.plans.logical.Sample", 3),
        ("sql.Made", 4),
        ("#hidden", 5),
        ("_jspark", 5),
        ("sql.internal.SessionState#streams", 6),
        ("sql.MadeUp", 1),
    }


def test_the_page_of_names_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.spark_versions_page"
