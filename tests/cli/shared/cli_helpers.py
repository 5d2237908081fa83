"""Runs the command line in the test's own process."""

from __future__ import annotations

import pytest

from hudi_hive.cli.main import main

TABLE = "v8_cow_part_mdt"
WIDE = "v9_cow_wide_250"


@pytest.fixture
def run(capsys):
    """Run the command; gives (exit code, stdout, stderr)."""

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        return caught.value.code or 0, printed.out, printed.err

    return call
