"""Time travel behind a cleaner that keeps file versions, whose metadata names no earliest commit."""

from __future__ import annotations

import fastavro
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import TimeTravelError
from hudi_hive.input_format import HoodieParquetInputFormat
from hudi_hive.input_format.job_conf import INPUT_DIR
from tests.support import fixture_names, unzip_fixture


def forget_retained(path, table: HudiTable) -> None:
    """Rewrite all cleans as KEEP_LATEST_FILE_VERSIONS leaves them."""
    for clean in table.timeline.completed({"clean"}):
        file = path / clean.path
        with open(file, "rb") as stream:
            reader = fastavro.reader(stream)
            schema, records = reader.writer_schema, list(reader)
        records[0]["earliestCommitToRetain"] = ""
        with open(file, "wb") as stream:
            fastavro.writer(stream, schema, records)


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_a_time_whose_files_are_gone_is_refused(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    retained = table.timeline.clean_metadata(table.timeline.completed({"clean"})[-1]).earliest_retained
    want = {i.requested: table.scan(as_of=i.requested) for i in table.timeline.write_instants()}
    forget_retained(path, table)
    table = HudiTable.open(path)
    refused = 0
    for as_of, scan in want.items():
        asked = table.scan(as_of=as_of)
        conf = {INPUT_DIR: str(path), f"hoodie.{name}.consume.commit": as_of}
        if as_of >= retained:
            assert asked.to_arrow().equals(scan.to_arrow())
            assert len(HoodieParquetInputFormat(conf).list_status()) == asked.plan().num_rows
            continue
        try:
            asked.to_arrow()
        except TimeTravelError as error:
            assert "cleaned" in error.message and error.path and error.instant == as_of and error.remedy
            with pytest.raises(TimeTravelError, match="cleaned"):
                HoodieParquetInputFormat(conf).list_status()
            refused += 1
    assert refused
