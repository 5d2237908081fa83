"""Options and write modes as a user's type checker sees them, with an editable install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from integration.support.spark_cluster import clean_python
from tools.option_types import STUB, stub

ROOT = Path(__file__).parents[2]
SCRIPT = """
import hudi_hive.spark as hudi_spark
from hudi_hive.options import ReadOptions, WriteOptions
from pyspark.sql import DataFrame

def load(df: DataFrame) -> None:
    right: WriteOptions = {"hoodie.table.name": "t", "hoodie.datasource.hive_sync.enable": True}
    reads: ReadOptions = {"hoodie.datasource.query.type": "snapshot"}
    hudi_spark.write(df, "/lake/t", right, "append")
    hudi_spark.write(df, "/lake/t", {"hoodie.table.name": "t"}, mode="overwrite")
    hudi_spark.load(df.sparkSession, "/lake/t", reads)
    hudi_spark.write(df, "/lake/t", right, "appendd")
    wrong: WriteOptions = {"hoodie.table.nam": "t"}
"""


def test_the_stub_has_the_declared_options() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run python -m tools.option_types"


def editable_install(folder: Path) -> Path:
    """What pip puts into an environment for an editable install of this repository's files."""
    source, wheels = folder / "source", folder / "wheels"
    for made in (source, wheels):
        made.mkdir()
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    (source / "hudi_hive").symlink_to(ROOT / "hudi_hive")
    build = f"from setuptools.build_meta import build_editable; build_editable({str(wheels)!r})"
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-c", build], cwd=source, env=environment, check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    python = clean_python(folder / "python")
    (packages,) = (folder / "python").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    paths = [line for file in packages.glob("*.pth") for line in file.read_text().splitlines()]
    assert paths == [str(source)]
    return python


def test_an_editable_install_is_a_path_that_type_checkers_follow(tmp_path: Path) -> None:
    python = editable_install(tmp_path)
    done = subprocess.run([python, "-c", "import hudi_hive"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_type_checker_finds_misspelt_options_and_modes(tmp_path: Path) -> None:
    python = editable_install(tmp_path)
    script = tmp_path / "user.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--python-executable", str(python), "--config-file=", str(script)]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    errors = [line.partition("user.py:")[2] for line in done.stdout.splitlines() if "user.py:" in line]
    assert [line.partition(":")[0] for line in errors] == ["12", "13"], done.stdout
    assert "appendd" in errors[0] and "hoodie.table.nam" in errors[1]
