"""Loads this package from an archive that ``hudi-hive spark package`` made, on a machine that has it not.

The text of this module is what the archive has as ``hudi_hive/__init__.py``: it stands alone, on Python and on no
package. Modules with machine code cannot be loaded from a file that Python imports from, so such a file is unpacked.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile

_NAME = "hudi_hive"
_MARK = "hudi_hive-package.json"


def load_packaged(init: str) -> None:
    """Load the package in the archive in place of the module that calls this.

    Args:
        init: path of that module, in the archive's file or in the folder to which it was unpacked.

    Raises:
        ImportError: the archive is for another Python or another kind of machine.
    """
    top = os.path.dirname(os.path.dirname(os.path.abspath(init)))
    if os.path.isdir(top):
        with open(os.path.join(top, _MARK), encoding="utf-8") as file:
            mark = json.load(file)
        _check(top, mark)
    else:
        with zipfile.ZipFile(top) as archive:
            mark = json.loads(archive.read(_MARK))
            _check(top, mark)
            top = _unpacked(archive, top, mark["id"])
    sys.path.insert(0, os.path.join(top, "packages"))
    sys.path.append(os.path.join(top, "last"))  # what else runs there was made for the NumPy that it has
    importlib.invalidate_caches()
    del sys.modules[_NAME]
    importlib.import_module(_NAME)


def _check(top: str, mark: dict[str, str]) -> None:
    here = {"python": "{}.{}".format(*sys.version_info[:2]), "platform": sysconfig.get_platform()}
    for name, value in here.items():
        if mark[name] != value:
            raise ImportError(f"{top} was made for {name} {mark[name]}, here is {value}", name=_NAME)


def _unpacked(archive: zipfile.ZipFile, top: str, identity: str) -> str:
    """The folder to which an archive is unpacked: an executor's own, or a temporary one of this process."""
    try:
        from pyspark import SparkFiles, TaskContext

        on_executor = TaskContext.get() is not None
    except ImportError:
        on_executor = False
    if not on_executor:
        folder = tempfile.mkdtemp(prefix="hudi-hive-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        archive.extractall(folder)
        return folder
    target = os.path.join(SparkFiles.getRootDirectory(), f"hudi-hive-{identity}")
    if not os.path.isdir(target):
        folder = tempfile.mkdtemp(prefix="hudi-hive-", dir=os.path.dirname(target))
        archive.extractall(folder)
        try:
            os.rename(folder, target)
        except OSError:
            if not os.path.isdir(target):  # unless another task was first
                raise
            shutil.rmtree(folder, ignore_errors=True)
    return target
