"""How long it takes from ``pip install`` of the wheel to the first rows: ``python -m tools.first_rows [--extra NAME]``.

Builds the wheel of this tree, makes a new environment, installs the wheel with what it requires, and runs there what
README shows of Python, then ``hudi-hive read`` of a table that real Hudi wrote. Each step's seconds stand by
themselves: those of pip are mostly the network's.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

T = TypeVar("T")
ROOT: Final = Path(__file__).resolve().parents[1]
FIXTURE: Final = ROOT / "hudi_hive" / "cli" / "demo_tables"

_BUILD: Final = "import setuptools.build_meta as build; build.build_wheel('dist'); build.build_sdist('dist')"
_SHOWN: Final = "print(rows.num_rows, 'rows,', changed.num_rows, 'changed,', past.num_rows, 'in the past')\n"


def main() -> int:
    """Take the time of each step and print it."""
    parser = argparse.ArgumentParser(description="Time from pip install of the wheel to the first rows.")
    parser.add_argument("--extra", action="append", default=[], help="An extra to install, too; several times.")
    extras = parser.parse_args().extra
    with TemporaryDirectory(prefix="hudi-hive-first-rows-") as name:
        wheel, _ = build_archives(Path(name) / "package")
        print(f"{'wheel':<24} {wheel.stat().st_size / 1e6:6.1f} MB", flush=True)
        measure(Path(name), wheel, extras)
    return 0


def measure(folder: Path, archive: Path, extras: Sequence[str] = ()) -> None:
    """Install an archive and read with it; print what each step took.

    Args:
        folder: for the environment and the tables.
        archive: the wheel, or the source archive.
        extras: to install beside what the package requires.
    """
    python = _timed("new environment", lambda: _new_environment(folder / "venv"))
    target = f"{archive}[{','.join(extras)}]" if extras else str(archive)
    _timed("pip install", lambda: _install(python, target))
    environment = {name: text for name, text in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}

    def run(*command: str) -> None:
        ended = subprocess.run(
            command, cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=600
        )
        sys.stdout.write("".join(f"    {line}\n" for line in ended.stdout.splitlines()[-2:]))

    (folder / "lake").mkdir()
    code = _readme_python().replace("/lake/", f"{folder}/lake/") + _SHOWN
    table = _unpacked_table(folder / "tables")
    read = [str(python.with_name("hudi-hive")), "read", str(table), "--format", "csv", "--limit", "1"]
    _timed("README's lines of Python", lambda: run(str(python), "-c", code))
    _timed("hudi-hive read", lambda: run(*read))
    _timed("hudi-hive read again", lambda: run(*read))


def build_archives(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source archive, built without the network from the files that the repository has.

    Args:
        folder: gets a copy of the files, and ``dist``.
    """
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z", "hudi_hive"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    files = [name for name in listed.split("\0") if name and (ROOT / name).exists()]
    for name in [*files, "setup.cfg", "pyproject.toml", "README.md", "LICENSE"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "dist").mkdir()
    subprocess.run([sys.executable, "-c", _BUILD], cwd=folder, check=True, capture_output=True, timeout=600)
    (wheel,), (source,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    return wheel, source


def _new_environment(folder: Path) -> Path:
    """The interpreter of a new virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def _install(python: Path, target: str) -> None:
    """Install an archive and what it requires, in the versions of the lock file."""
    constraint = str(ROOT / "requirements.lock")
    command = [str(python), "-m", "pip", "install", "--quiet", "--constraint", constraint, target]
    subprocess.run(command, check=True, timeout=1800)


def _readme_python() -> str:
    """The block of Python that README begins with."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def _unpacked_table(folder: Path) -> Path:
    """A table that real Hudi wrote: one of those of ``hudi-hive demo``."""
    archive = sorted(FIXTURE.glob("*.zip"))[0]
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return next(found.parent.parent for found in folder.rglob("hoodie.properties"))


def _timed(what: str, step: Callable[[], T]) -> T:
    begun = time.perf_counter()
    result = step()
    print(f"{what:<24} {time.perf_counter() - begun:6.1f} s", flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
