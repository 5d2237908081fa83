"""Runs the example notebooks of ``docs/notebooks`` in a kernel of their own, as a reader would."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
_LIMIT_S = 1200
"""Of one cell, against hanging alone."""


class _ThisInterpreter(KernelSpecManager):
    """Knows one kernel: that of the interpreter that runs the tests, whatever is installed beside it."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name=kernel_name, language="python")


def run_notebook(name: str, folder: Path) -> str:
    """Run all cells; gives the HTML and text that the cells showed. An error of a cell is raised.

    Args:
        name: of the notebook's file.
        folder: the kernel's working folder.
    """
    notebook = nbformat.read(FOLDER / name, as_version=4)
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in notebook.cells), "clear it"
    return run_cells(notebook, folder)


def run_cells(notebook: nbformat.NotebookNode, folder: Path) -> str:
    """Run the cells of a notebook, see :func:`run_notebook`; what they wrote to standard error counts as shown."""
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=_ThisInterpreter())
    client = NotebookClient(
        notebook, km=manager, timeout=_LIMIT_S, startup_timeout=_LIMIT_S, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            shown.extend(output.get("data", {}).values())
            shown.append(output.get("text", "") if output.get("name") == "stderr" else "")
    return "\n".join(shown)
