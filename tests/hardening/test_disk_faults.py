"""A disk that fails (EIO, ENOSPC) at opens, writes, flushes, closes, links, renames and deletes: real calls, preloaded.

A few calls of a few writes, and in a long run all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.fixture_tables import ROOT

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
CASES = [("upsert", MOR, 8, "several"), ("mutation", COW, 6, "plain")]
SOURCE = ROOT / "tests" / "support" / "faults" / "disk_faults.c"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="wants a C compiler and LD_PRELOAD"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = tmp_path_factory.mktemp("library") / "disk_faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], check=True)
    return made


@pytest.mark.parametrize(("act", "kind", "version", "options"), CASES)
def test_a_disk_that_fails(act, kind, version, options, thorough, library, tmp_path):
    command = [
        sys.executable,
        "-m",
        "tests.support.faults.disk_faults",
        str(tmp_path),
        act,
        kind,
        str(version),
        options,
    ]
    environment = {**os.environ, "LD_PRELOAD": str(library), "ARROW_NUM_THREADS": "1"}
    most = [] if thorough else ["--most", "2"]
    done = subprocess.run([*command, *most], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-4000:]
    result = json.loads(done.stdout.splitlines()[-1])
    print(result)
    assert not result["wrong"], result
    assert sum(result["seen"].values()) == result["points"]
