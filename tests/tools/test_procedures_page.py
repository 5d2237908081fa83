"""The page of procedures is the one that the declarations make, and they are those of Hudi 1.0.2."""

from __future__ import annotations

import json
from pathlib import Path

from hudi_hive.spark.statements.procedures import columns_of, procedures
from tools.procedures_page import PAGE, page

DECLARED = Path(__file__).parent.parent / "data" / "procedures-1.0.2.json"
LATER = {"partition_bucket_index_manager", "show_cleans", "show_cleans_metadata", "show_clean_plans", "show_timeline"}


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.procedures_page"


def test_parameters_and_columns_are_those_of_hudi():
    declared = json.loads(DECLARED.read_text(encoding="utf-8"))
    for name, procedure in procedures().items():
        if name in LATER:
            continue
        parameters = [[one.name, one.kind, one.required, one.default] for one in procedure.positional]
        assert parameters == declared[name]["parameters"], name
        assert [list(column) for column in columns_of(procedure)] == declared[name]["columns"], name
