"""Lives of tables whose keys and partition values are odd texts: what is acknowledged all readers read.

After each step the rows by folder listings, by the metadata table and by the package ``hudi`` are those of a model; a
write that is refused leaves the table's tree as it was.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import HudiHiveError
from hudi_hive.table.keys import partition_path
from hudi_hive.table_api import HudiTable
from tests.support.running.long import TABLE_CASES, long_case
from tests.support.tables.written_rows import HOODIE_NAMES, ODD_TEXTS, OWN_NAMES, rows_by_peer, tree
from tests.write.shared.services_random_helpers import Life, Model

SEEDS = [(0, 5), *(long_case(seed, 24) for seed in range(8))]
"""Seeds of lives, and how many steps they have."""
TEXTS = (*HOODIE_NAMES, *OWN_NAMES, *ODD_TEXTS)
ACCEPTED = 3
INDEXES = ("SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "BUCKET", "RECORD_INDEX")

counts: Counter[str] = Counter()
"""What lives came to: values refused and written, looks that agreed, tables that the peer does not read."""


class OddLife(Life):
    """A life with texts that some layer may take for something else."""

    def make(self, path: Path, version: int, kind: str) -> None:
        chance = self.chance
        index = chance.choice(INDEXES)
        del self.options["hoodie.metadata.record.index.enable"]
        self.options["hoodie.index.type"] = index
        if index == "BUCKET":
            self.options["hoodie.bucket.index.num.buckets"] = "2"
        if index == "RECORD_INDEX":
            self.options |= {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
        self.fields = chance.choice([["city"], ["city", "zone"], ["zone", "city"]])
        self.style = {"hive_style": chance.random() < 0.5, "url_encoded": chance.random() < 0.5}
        self.zones: dict[str | None, str | None] = {}
        self.kind = kind
        composite = chance.random() < 0.4
        HudiTable.create(
            path,
            name="t",
            version=version,
            table_type=kind,
            record_keys=["id", "zone"] if composite else ["id"],
            partition_fields=self.fields,
            merge_mode="COMMIT_TIME_ORDERING",
            hive_style_partitioning=self.style["hive_style"],
            url_encode_partitioning=self.style["url_encoded"],
        )
        keys = [text for text in TEXTS if len(text) < 1000 and text not in ("__null__", "__empty__")]
        self.keys = chance.sample(keys, 20)
        self.zone_texts = [text for text in TEXTS if len(text) < 40 and text not in ("__null__", "__empty__")]
        self.cities = []
        for number, city in enumerate(chance.sample([*TEXTS, "", "plain"], 40)):
            if len(self.cities) < ACCEPTED:
                self.try_city(number, city)

    def try_city(self, number: int, city: str) -> None:
        """Write a row of a value, which is either acknowledged or refused without a trace."""
        self.zones.setdefault(city, self.chance.choice(self.zone_texts) if len(self.fields) > 1 else "z")
        row = {(self.keys[len(self.cities)], city): -1 - number}
        before = tree(self.path)
        try:
            self.write("insert", row)
        except HudiHiveError:
            assert tree(self.path) == before, city
            counts["refused"] += 1
            return
        counts["written"] += 1
        self.cities.append(city)
        self.check(look_back=True)

    def batch(self, rows: Model) -> pa.Table:
        zones = [self.zones[city] for _, city in rows]
        return super().batch(rows).append_column("zone", pa.array(zones, pa.string()))

    def partition(self, city: str | None) -> str:
        values = {"city": city, "zone": self.zones[city]}
        return partition_path([values[name] for name in self.fields], self.fields, **self.style)

    def check(self, *, look_back: bool) -> None:
        super().check(look_back=look_back)
        counts["looks"] += 1
        if self.kind != "COPY_ON_WRITE" or not look_back:
            return
        try:
            found = rows_by_peer(self.path, ["id", "city", "n"])
        except Exception:  # it refuses, for one, names with control characters
            counts["not read by the peer"] += 1
            return
        counts["read by the peer"] += 1
        assert {(row[0], row[1]): row[2] for row in found} == self.model, self.done
        assert len(found) == len(self.model), self.done


@pytest.mark.parametrize(("seed", "steps"), SEEDS)
@pytest.mark.parametrize(("version", "kind"), TABLE_CASES)
def test_what_is_acknowledged_is_read_by_all(version: int, kind: str, seed: int, steps: int, tmp_path: Path) -> None:
    life = OddLife(tmp_path / "t", seed, version, kind)
    for number in range(steps):
        life.step(number)
    print(dict(counts))
