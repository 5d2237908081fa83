"""Writes the table of ``docs/spark-versions.md`` from the declared names: ``python -m tools.spark_versions_page``."""

from __future__ import annotations

from pathlib import Path

from hudi_hive.spark.versions import FEATURES, Feature

PAGE = Path(__file__).parent.parent / "docs" / "spark-versions.md"
_TABLE = "| feature | in all releases | from 4.0 on | in 3.5 alone |"


def page() -> str:
    """The text of the page: what was written above the table, and the table."""
    written = PAGE.read_text(encoding="utf-8").partition(_TABLE)[0].rstrip()
    return "\n".join([written, "", _TABLE, "|---|---|---|---|", *map(_row, FEATURES)]) + "\n"


def _row(feature: Feature) -> str:
    cells = [(*feature.names, *feature.pyspark), feature.spark4, feature.spark3]
    return f"| {feature.title} | " + " | ".join(", ".join(f"`{name}`" for name in names) for names in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
