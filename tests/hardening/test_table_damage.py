"""Damage to files of tables that are no data files, drawn by a seed: right rows or an error of ours, never other rows.

``python -m tests.support.faults.table_damage`` tries every byte.
"""

from __future__ import annotations

import logging
import random
from collections import Counter

import pytest

from tests.support.faults.table_damage import TABLES, Damage, cases, make_sweep
from tests.support.running.long import with_long_cases

CASES = 4
SOME = ("v6_cow_archived", "v9_cow_schema_evo", "v9_mor_part_rli", "ours_6")


@pytest.mark.parametrize("name", with_long_cases(SOME, TABLES))
def test_no_damage_gives_other_rows(name, tmp_path):
    sweep = make_sweep(name, tmp_path)
    outcomes = Counter()
    logging.disable(logging.WARNING)
    try:
        for file, damage in cases(sweep, random.Random(name), CASES):
            for question, outcome, text in sweep.run(file, damage):
                assert outcome != "wrong", (str(file), damage.kind, damage.at, question, text)
                outcomes[outcome] += 1
    finally:
        logging.disable(logging.NOTSET)
    assert outcomes["right"] + outcomes["refused"]


@pytest.mark.parametrize("version", with_long_cases((6, 9), (6, 8, 9)))
def test_a_log_file_of_the_metadata_table_in_the_place_of_another(version, tmp_path):
    """Of another partition and the same instant, of the same partition and another instant."""
    sweep = make_sweep(f"ours_{version}", tmp_path)
    folder = sweep.path / ".hoodie/metadata"
    last = max((folder / "files").glob(".files-*.log.*"), key=lambda file: file.name)
    others = [file for file in folder.glob("*/.*.log.*") if file != last and file.read_bytes() != last.read_bytes()]
    assert others
    for other in [b"", *(file.read_bytes() for file in others)]:
        outcomes = dict(one[:2] for one in sweep.run(last, Damage("swapped", 0, other)))
        assert outcomes["snapshot"] == "right" and outcomes["metadata listing"] in ("refused", "unnamed"), outcomes


def test_a_log_file_of_version_6_in_the_place_of_another_commit_s(tmp_path):
    """Its name tells no commit; the last one is of a clean."""
    sweep = make_sweep("v6_cow_part_mdt", tmp_path)
    folder = sweep.path / ".hoodie/metadata/files"
    logs = sorted(folder.glob(".files-*.log.*"), key=lambda file: int(file.name.split(".log.")[1].split("_")[0]))
    assert len(logs) > 5
    for one, other in [(logs[-1], logs[-2]), (logs[-1], logs[-3]), (logs[-3], logs[-1]), (logs[2], logs[3])]:
        outcomes = {name: text for name, *text in sweep.run(one, Damage("swapped", 0, other.read_bytes()))}
        outcome, text = outcomes["metadata listing"]
        assert outcomes["snapshot"][0] in ("right", "refused") and outcome == "refused", (one, other, outcomes)
        assert "no block of a completed write" in text
