"""What is shipped: the wheel and the source archive hold what is needed and no more, and run where nothing else is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.support.running.long import long_case

ROOT = Path(__file__).resolve().parents[2]
BUILD = "import setuptools.build_meta as build; build.build_wheel('dist'); build.build_sdist('dist')"
FIRST_ROWS = """
import time; begun = time.perf_counter()
import pyarrow as pa
from hudi_hive import HudiTable
table = HudiTable.create("trips", name="trips", record_keys=["id"])
table.upsert(pa.table({"id": ["a", "b"], "fare": [1.0, 2.0]}))
print(HudiTable.open("trips").scan().count(), "rows after", round(time.perf_counter() - begun, 1), "s")
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The wheel and the source archive, built from the files that the repository has, without the network."""
    folder = tmp_path_factory.mktemp("package")
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z", "hudi_hive"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    files = [name for name in listed.split("\0") if name and (ROOT / name).exists()]
    for name in [*files, "setup.cfg", "pyproject.toml", "README.md", "LICENSE"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "dist").mkdir()
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True, capture_output=True, timeout=600)
    (wheel,), (source,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    return set(files), wheel, source


def test_the_wheel_holds_the_package_and_nothing_else(archives):
    files, wheel, _ = archives
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    shipped = {name for name in names if ".dist-info/" not in name}
    assert shipped == files - {name for name in files if name.endswith((".md", ".gitignore"))}
    for needed in ("py.typed", "cli/demo_tables/", ".java", "hive_metastore.thrift", "ui/templates/", ".pyi"):
        assert any(needed in name for name in shipped), needed
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if re.search(r"(^|/)(tests?|integration|benchmarks|tools|docs)/", name)]
    assert "Apache-2.0" in metadata


def test_the_source_archive_holds_what_the_wheel_is_built_from(archives):
    files, _, source = archives
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert files <= names | {name for name in files if name.endswith((".md", ".gitignore"))}
    assert {"LICENSE", "README.md", "setup.cfg", "pyproject.toml"} <= names
    assert not [name for name in names if name.startswith(("tests/", "integration/", "tools/", "docs/"))]


def test_every_extra_is_documented():
    import configparser

    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([\w-]+)`", "".join(re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE))))
    assert set(setup["options.extras_require"]) - {"test"} <= documented


@pytest.mark.parametrize("kind", [long_case("wheel"), long_case("source")])
def test_first_rows_in_a_clean_environment(archives, tmp_path, kind):
    """A new environment with the package and what it requires, and nothing that the tests have."""
    archive = archives[1] if kind == "wheel" else archives[2]
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(ROOT / "requirements.lock"),
        str(archive),
    ]
    subprocess.run(install, check=True, timeout=1800)
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    options = {"cwd": tmp_path, "env": clean, "check": True, "capture_output": True, "text": True, "timeout": 600}
    assert subprocess.run([str(python), "-c", FIRST_ROWS], **options).stdout.startswith("2 rows after")
    shown = subprocess.run([str(python.with_name("hudi-hive")), "read", "trips", "--format", "csv"], **options).stdout
    assert len(shown.splitlines()) == 3


def test_the_compose_file_starts_what_the_page_lists():
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) >= {"postgres", "metastore", "s3", "thriftserver", "ui", "hudi"}
    for name, service in services.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
    page = (ROOT / "docs" / "how-to" / "demo-full.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) <= set(services)
    recipe = (ROOT / "docker" / "spark.Dockerfile").read_text(encoding="utf-8")
    assert "pip wheel" in recipe and all(
        Path(jar).name in recipe for jar in services["thriftserver"]["command"] if jar.endswith(".jar")
    )
