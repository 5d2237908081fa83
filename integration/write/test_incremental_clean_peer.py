"""Cleans of partitions that were written since the last one, ours beside real Hudi's: the same files stay."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_hive import HudiTable
from integration.support.hudi_peer import HudiPeer
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

_DDL = "id string, ts long, part string"
_QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
_ROUNDS = (("a", "b", "c"), ("a",), ("a", "b"), ("a",), ("b",), ("c",), ("a", "c"), ("b",), ("b",))
"""Partitions that each commit writes; a clean comes behind each third one."""


def _rows(number: int, parts: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"id": f"k{at}", "ts": number, "part": part} for part in parts for at in range(4)]


def _files(path: Path) -> list[str]:
    return sorted(
        str(one.relative_to(path))
        for one in path.rglob("*")
        if one.is_file() and ".hoodie/" not in f"{one.relative_to(path)}" and not one.name.endswith(".crc")
    )


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", long_case("MERGE_ON_READ")])
@pytest.mark.parametrize("version", [9, long_case(8), long_case(6)])
def test_the_same_files_stay(version: int, kind: str, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path) -> None:
    peer = hudi_peer(version)
    options = {
        "hoodie.table.name": "cleaned",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.metadata.enable": "false",
        "hoodie.compact.inline": str(kind == "MERGE_ON_READ").lower(),
        "hoodie.compact.inline.max.delta.commits": "2",
        **_QUIET,
    }
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    retained = {"hoodie.clean.commits.retained": "1", "hoodie.metadata.enable": "false"}
    name, gone = f"cleaned_{version}_{kind.lower()}", []
    for number, parts in enumerate(_ROUNDS):
        peer.write(theirs, _rows(number, parts), _DDL, options, "append" if number else "overwrite")
        if number % 3 != 2:
            continue
        if number == 2:
            peer.sql(f"CREATE TABLE {name} USING hudi LOCATION '{theirs}'")
        # The same commits for both, and the cleans of each beside them.
        shutil.rmtree(ours, ignore_errors=True)
        shutil.copytree(theirs, ours)
        before = _files(ours)
        peer.sql(f"CALL run_clean(table => '{name}', retain_commits => 1, options => 'hoodie.metadata.enable=false')")
        HudiTable.open(ours).clean(retained)
        assert _files(ours) == _files(theirs), number
        gone.append(len(before) - len(_files(ours)))
    assert gone[0] >= 0 and min(gone[1:]) > 0
    peer.sql(f"DROP TABLE {name}")
