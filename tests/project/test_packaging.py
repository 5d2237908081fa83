"""What is shipped: the wheel and the source archive hold what is needed and no more, and run where nothing else is."""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.support.running.long import long_case
from tools import first_rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The wheel and the source archive, built from the files that the repository has, without the network."""
    wheel, source = first_rows.build_archives(tmp_path_factory.mktemp("package"))
    files = {str(path.relative_to(wheel.parents[1])) for path in (wheel.parents[1] / "hudi_hive").rglob("*")}
    return {name for name in files if (ROOT / name).is_file()}, wheel, source


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
def test_first_rows_in_a_clean_environment(archives, tmp_path, kind, capsys):
    """A new environment with the package and what it requires, and nothing that the tests have."""
    first_rows.measure(tmp_path, archives[1] if kind == "wheel" else archives[2])
    printed = capsys.readouterr().out
    steps = ("new environment", "pip install", "README's lines of Python", "hudi-hive read", "hudi-hive read again")
    assert [name for name in steps if not re.search(rf"^{name} +\d+\.\d s$", printed, re.MULTILINE)] == []
    assert "1 rows, 0 changed, 2 in the past" in printed and printed.count("_hoodie_record_key") == 2


def test_the_compose_file_starts_what_the_page_lists():
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) >= {"postgres", "metastore", "s3", "thriftserver", "ui", "hudi"}
    for name, service in services.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
    page = (ROOT / "docs" / "how-to" / "demo-full.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) <= set(services)
    shared = services["hudi"]["volumes"][0]["target"]
    for name in ("metastore", "spark"):  # both write to the volume, which belongs to the user that its folder has
        lines = (ROOT / "docker" / f"{name}.Dockerfile").read_text(encoding="utf-8").splitlines()
        assert any(f"install --directory --owner 1000 {shared}" in line for line in lines) and "USER 1000" in lines
    recipe = (ROOT / "docker" / "spark.Dockerfile").read_text(encoding="utf-8")
    assert "pip wheel" in recipe and all(
        Path(jar).name in recipe for jar in services["thriftserver"]["command"] if jar.endswith(".jar")
    )


def test_the_metastore_starts_again_on_a_database_that_has_its_schema(tmp_path):
    """The image's own start makes the schema, unless it is told that there is one."""
    script = (ROOT / "docker" / "metastore.sh").read_text(encoding="utf-8")
    (tmp_path / "schematool").write_text('#!/bin/sh\necho "$HADOOP_CLIENT_OPTS" > "$0.said"\nexit "$FOUND"\n')
    (tmp_path / "entrypoint.sh").write_text('#!/bin/sh\necho "resumes: $IS_RESUME"\n')
    start = tmp_path / "metastore.sh"
    start.write_text(
        script.replace("/opt/hive/bin/", f"{tmp_path}/").replace("/entrypoint.sh", f"{tmp_path}/entrypoint.sh")
    )
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    for found, resumes in (("1", ""), ("0", "true")):
        variables = {"PATH": "/usr/bin:/bin", "DB_DRIVER": "postgres", "SERVICE_OPTS": "-Da=b", "FOUND": found}
        ended = subprocess.run([str(start)], env=variables, capture_output=True, text=True, check=True, timeout=60)
        assert ended.stdout == f"resumes: {resumes}\n"
        assert (tmp_path / "schematool.said").read_text().strip() == "-Da=b"
