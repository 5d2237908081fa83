"""The set-up script: a missing or too old Python or Java gives one clear line and makes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "bootstrap.sh"
TOOLS = ("bash", "sed", "head")


@pytest.fixture
def machine(tmp_path):
    """A PATH with the basic tools only; returns (bin folder, run)."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for tool in TOOLS:
        (binaries / tool).symlink_to(shutil.which(tool))

    def run(**extra: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", str(SCRIPT), str(tmp_path / "venv")],
            env={"PATH": str(binaries), **extra},
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )

    return binaries, run


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n")
    os.chmod(path, 0o755)


def _refused(result: subprocess.CompletedProcess, *words: str) -> None:
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("error: ")
    for word in words:
        assert word in result.stderr


def test_a_machine_without_python_is_refused(machine, tmp_path):
    _, run = machine
    _refused(run(), "Python 3.11", "PYTHON=")
    assert not (tmp_path / "venv").exists()


def test_an_old_python_is_refused(machine):
    binaries, run = machine
    _program(binaries / "python3", "exit 1")  # says no to the version check
    _refused(run(), "Python 3.11")


def test_a_machine_without_java_is_refused(machine, tmp_path):
    binaries, run = machine
    _program(binaries / "python3", "exit 0")
    _refused(run(), "Java 17", "JAVA_HOME")
    assert not (tmp_path / "venv").exists()


def test_an_old_java_is_refused(machine):
    binaries, run = machine
    _program(binaries / "python3", "exit 0")
    _program(binaries / "java", "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2")
    _refused(run(), "Java 17", "version 11")


def test_java_home_wins(machine, tmp_path):
    binaries, run = machine
    _program(binaries / "python3", "exit 0")
    _program(binaries / "java", "echo 'openjdk version \"17.0.2\" 2022-01-18' >&2")
    _refused(run(JAVA_HOME=str(tmp_path / "none")), "Java 17")
