"""What an executor does first with a step: it looks whether it can run it.

Engines send these functions themselves, not their names, so that they run where this package is not installed. They
import nothing of it before they know that it is there.
"""

from __future__ import annotations

import glob
import importlib
import json
import os
import pickle
import sys
from typing import Any, Final

from hudi_hive.read.remote.executor_read import ERROR_MARK

PACKAGE_MARK: Final = "hudi_hive-package.json"
"""A file at the top of an archive that ``hudi-hive spark package`` made."""
_CLASSES: Final = "hudi_hive.read.remote"
_REMEDY: Final = (
    "make an archive by `hudi-hive spark package -o hudi-hive.zip` and give it as --py-files (spark.submit.pyFiles) or "
    "--archives, or install hudi_hive {} with what it needs for the executors' Python; docs/spark-clusters.md"
)


def receive_step(version: str, pickled: bytes, secrets: tuple[bytes, Any] | None, name: str, tally: bytes) -> Any:  # noqa: ANN401 - a class that may not be there
    """The step, on an executor.

    Args:
        version: of this package on the driver.
        pickled: the function of the step.
        secrets: mask and variable of the secrets of the step; None if it has none.
        name: of the function.
        tally: pickle of what gets the step's counts.

    Raises:
        RuntimeError: the executor lacks this package or a package that it needs, or has another version of it; as text
            that :func:`hudi_hive.read.remote.deserialize_error` reads.
    """
    try:
        try:
            classes = importlib.import_module(_CLASSES)
        except ModuleNotFoundError as error:
            if error.name != "hudi_hive" or not find_shipped():
                raise
            classes = importlib.import_module(_CLASSES)
        there = importlib.import_module("hudi_hive._version").__version__
        reason = "" if there == version else f"it has version {there}, the driver {version}"
    except ImportError as error:
        reason = (str(error).strip().splitlines() or ["it cannot be imported"])[0]
    if reason:
        for module in [each for each in sys.modules if each.partition(".")[0] == "hudi_hive"]:
            del sys.modules[module]  # so that the next task finds what is shipped until then
        message = f"an executor cannot run hudi_hive: {reason} (Python {sys.version.split()[0]} at {sys.executable})"
        fields = {"kind": "SparkError", "message": message, "path": None, "instant": None}
        raise RuntimeError(ERROR_MARK + json.dumps({**fields, "remedy": _REMEDY.format(version)}))
    masked = None if secrets is None else classes.MaskedSecrets(*secrets)
    return classes.ShippedStep(pickled, masked, name, pickle.loads(tally))


def find_shipped() -> bool:
    """Put this package on the path of modules, where Spark brought it to the executor in a form that it does not use.

    That is an unpacked archive (``--archives``), or a wheel (``--py-files``). Returns whether there is one.
    """
    from pyspark import SparkFiles

    root = SparkFiles.getRootDirectory()
    marks = glob.glob(os.path.join(glob.escape(root), "*", PACKAGE_MARK))
    found = [os.path.dirname(mark) for mark in marks] or glob.glob(os.path.join(glob.escape(root), "hudi_hive-*.whl"))
    sys.path += [place for place in found if place not in sys.path]
    importlib.invalidate_caches()
    return bool(found)
