"""The families of Spark's releases: which one a version has, and Java source as each takes it."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from hudi_hive.errors import SparkError
from hudi_hive.spark.versions.choice import family_of

OF_SCALA_2_13 = re.compile(r"scala\.jdk|immutable\.(Seq|ArraySeq)|ArraySeq\$|spark\.sql\.classic")


@pytest.mark.parametrize(
    ("version", "has_scripts"), [("3.5.9", False), ("4.0.5", True), ("4.3.0", True), ("4.4.0.dev1", True)]
)
def test_the_family_of_a_release(version, has_scripts):
    assert family_of(version).has_scripts == has_scripts


@pytest.mark.parametrize("version", ["3.4.1", "2.4.8", "5.0.0"])
def test_other_releases_are_refused_by_name(version):
    with pytest.raises(SparkError, match=rf"PySpark {version} .* use PySpark 3\.5 to 4\.3"):
        family_of(version)


def test_java_source_for_scala_2_12_has_no_names_of_2_13():
    sources = [one for one in files("hudi_hive.spark").joinpath("java").iterdir() if one.name.endswith(".java")]
    texts = {one.name: family_of("3.5.9").java_text(one.read_text()) for one in sources}
    assert len(texts) > 8
    without_comments = {name: re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) for name, text in texts.items()}
    assert [name for name, text in without_comments.items() if OF_SCALA_2_13.search(text)] == []
    assert any(OF_SCALA_2_13.search(one.read_text()) for one in sources)
