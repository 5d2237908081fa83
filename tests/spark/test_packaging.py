"""The archive for executors, as a Python that has PySpark and PyArrow alone loads it."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from hudi_hive._version import __version__
from hudi_hive.cli import cli
from hudi_hive.errors import InvalidOptionError
from hudi_hive.read.remote import PACKAGE_MARK
from hudi_hive.spark.packaging import write_package
from integration.support.spark_cluster import clean_python
from tests.support.running.long import long_case

LOADS = "import hudi_hive.spark.write, numpy, obstore; print(hudi_hive._version.__version__, numpy.__file__)"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("archive") / "hudi-hive.zip"
    done = CliRunner().invoke(cli, ["spark", "package", "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert f"hudi_hive=={__version__}" in done.output and "numpy==" in done.output and "pyarrow==" not in done.output
    return file


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clean_python(tmp_path_factory.mktemp("python") / "clean")


def loaded(python: Path, place: Path) -> subprocess.CompletedProcess[str]:
    """What a Python says that has an archive on its path."""
    environment = {"PYTHONPATH": str(place), "TMPDIR": str(python.parent)}
    return subprocess.run(
        [python, "-c", LOADS], env=environment, cwd=python.parent, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("unpacked", [False, long_case(True)], ids=["file", "folder"])
def test_the_archive_has_all_that_is_needed_as_a_file_and_as_a_folder(
    archive: Path, python: Path, tmp_path: Path, unpacked: bool
) -> None:
    place = archive
    if unpacked:
        place = tmp_path / "unpacked"
        zipfile.ZipFile(archive).extractall(place)
    before = set(python.parent.iterdir())
    done = loaded(python, place)
    version, numpy = done.stdout.split() if not done.returncode else (done.stderr, "")
    assert version == __version__
    assert "/last/numpy/" in numpy
    assert set(python.parent.iterdir()) == before  # what was unpacked is gone with its process


@pytest.mark.parametrize("name", ["python", "platform"])
def test_another_python_refuses_the_archive(archive: Path, python: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(archive) as file:  # what is found before the packages are looked for
        file.extractall(tmp_path, [item for item in file.namelist() if not item.startswith(("packages/", "last/"))])
    mark = json.loads((tmp_path / PACKAGE_MARK).read_text())
    (tmp_path / PACKAGE_MARK).write_text(json.dumps({**mark, name: "other"}))
    done = loaded(python, tmp_path)
    assert done.returncode == 1 and f"was made for {name} other, here is " in done.stderr


@pytest.mark.long
def test_extras_are_added_and_unknown_ones_refused(tmp_path: Path) -> None:
    names = write_package(tmp_path / "a.zip", ["zookeeper"])
    assert any(name.startswith("kazoo==") for name in names)
    with pytest.raises(InvalidOptionError, match="there is no extra 'nonsense'"):
        write_package(tmp_path / "b.zip", ["nonsense"])
    with pytest.raises(InvalidOptionError, match=r"does not end in \.zip"):
        write_package(tmp_path / "c.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]
