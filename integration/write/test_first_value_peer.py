"""Real Hudi beside ours on tables of ``FirstValueAvroPayload``: each reads what the other wrote to the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from integration.support.hudi_peer import HudiPeer
from tests.support.first_value import COLUMNS, DDL, PAYLOAD, SCHEMA, SHOWN, WRITES, text
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("kind", [long_case("MERGE_ON_READ"), long_case("COPY_ON_WRITE")])
@pytest.mark.parametrize("version", [8, 6])
def test_each_reads_what_the_other_wrote(
    version: int, kind: str, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer = hudi_peer(version)
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.payload.class": PAYLOAD,
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.metadata.enable": "false",
        **({"hoodie.write.record.merge.mode": "CUSTOM"} if version == 8 else {}),
    }
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    fields = {"record_keys": ["id"], "ordering_fields": ["ts"], "payload_class": PAYLOAD}
    HudiTable.create(ours, name="t", table_type=kind, version=version, **fields)  # type: ignore[arg-type]
    shown = []
    for rows in WRITES:
        peer.write(theirs, rows, DDL, options)
        HudiTable.open(ours).upsert(pa.Table.from_pylist(rows, SCHEMA))
        read = [
            text(HudiTable.open(path).scan(selected_fields=COLUMNS).to_arrow().to_pylist()) for path in (theirs, ours)
        ]
        read += [text(peer.read(path, COLUMNS)) for path in (theirs, ours)]
        assert len(set(read)) == 1, read
        shown.append(read[0])
    assert (shown[1], shown[-1]) == SHOWN[version, kind]
