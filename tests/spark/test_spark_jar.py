"""What the Python process of a jar does first: it looks whether this Python has what is needed, and says what not."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pyspark
import pytest

from hudi_hive import __version__

START = files("hudi_hive.spark.jar").joinpath("start.py").read_text(encoding="utf-8")
REMEDY = "; set it to another"
OTHERS = "import sys; sys.version_info = (3, 9); "


def answer(*arguments: str, text: str = START, path: str = "", bare: bool = False) -> tuple[int, str]:
    """Exit code and answer of a process that runs the text; a bare one has no packages but those of ``path``."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = path or str(Path(__file__).parents[2])
    command = [sys.executable, *(["-S"] if bare else []), "-c", text, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def released(folder: Path, version: str) -> str:
    """A folder in which PySpark of a version is found, and nothing else of it."""
    package = folder / version / "pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "version.py").write_text(f"__version__: str = '{version}'\n")
    return str(folder / version)


def test_python_without_the_package_is_named(tmp_path):
    path = released(tmp_path, "4.3.0")
    reason = f"failed {sys.executable} has no package hudi_hive{REMEDY}\n"
    assert answer("1.0", "4.3.0", "", REMEDY, path=path, bare=True) == (1, reason)


def test_python_without_pyspark_of_the_release_is_named(tmp_path):
    reason = f"failed {sys.executable} has no PySpark 9.9.9, nor has SPARK_HOME; install pyspark==9.9.9 there\n"
    assert answer(__version__, "9.9.9", released(tmp_path, "9.9.8"), REMEDY) == (1, reason)


def test_pyspark_beside_the_jars_is_taken_where_that_of_python_is_of_another_release(tmp_path):
    reason = f"failed {sys.executable} has no package hudi_hive{REMEDY}\n"
    own, beside = released(tmp_path, "4.2.0"), released(tmp_path, "4.3.0")
    assert answer("1.0", "4.3.0", beside, REMEDY, path=own, bare=True) == (1, reason)


@pytest.mark.parametrize("beside", ["", os.pathsep])
def test_jar_of_another_version_of_the_package_is_refused(beside):
    reason = f"failed the jar was written by hudi_hive 0.0.1, and {sys.executable} has {__version__}{REMEDY}\n"
    assert answer("0.0.1", pyspark.__version__, beside, REMEDY) == (1, reason)


def test_an_old_python_is_refused_by_its_version():
    code, said = answer(
        __version__, pyspark.__version__, "", REMEDY, text=START.replace("import os\n", OTHERS + "import os\n")
    )
    assert (code, said) == (1, f"failed {sys.executable} is Python 3.9, 3.11 or newer is needed{REMEDY}\n")
