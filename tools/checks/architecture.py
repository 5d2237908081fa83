"""ARCHITECTURE.md against the code: ``python -m tools.checks.architecture``.

Reported are packages of the product without a row in the table of rooms, rows of packages that are not there or whose
sentence is not the first of the package's docstring, and names in the table "our file" that their file does not define.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from tools.checks.report import main
from tools.checks.tree import FUNCTIONS, PRODUCT, Finding, Module, SourceTree

PAGE: Final = "ARCHITECTURE.md"

_ROOM: Final = re.compile(r"\| \*{0,2}`([a-z_.]+)`\*{0,2} \| (.+) \|")
_NAME: Final = re.compile(rf"\| .+ \| `({PRODUCT}/[\w/]+\.py)` \| `(\w+)` \|")


def find(tree: SourceTree) -> Iterator[Finding]:
    """Rooms and names of the page that are not those of the code."""
    lines = (tree.folder / PAGE).read_text(encoding="utf-8").splitlines()
    rooms = {match[1]: (number, match[2]) for number, line in enumerate(lines, 1) if (match := _ROOM.fullmatch(line))}
    sentences = {_room_of(module): first_sentence(module) for module in tree.written(PRODUCT) if _is_room(module)}
    for room in sorted(sentences.keys() - rooms.keys()):
        yield Finding(PAGE, 1, f"no room {room}", f"the table of rooms has no row for {room}")
    for room, (number, text) in rooms.items():
        if room not in sentences:
            yield Finding(PAGE, number, f"room {room}", f"there is no room {room}")
        elif text != sentences[room]:
            yield Finding(PAGE, number, f"sentence {room}", f"the docstring of {room} says: {sentences[room]}")
    by_path = {module.path: module for module in tree.written(PRODUCT)}
    for number, line in enumerate(lines, 1):
        match = _NAME.fullmatch(line)
        if match and match[2] not in defined_names(by_path.get(match[1])):
            yield Finding(PAGE, number, f"name {match[2]}", f"{match[1]} defines no {match[2]}")


def first_sentence(module: Module) -> str:
    """The first paragraph of a module's docstring on one line."""
    return " ".join((ast.get_docstring(module.syntax) or "").partition("\n\n")[0].split())


def defined_names(module: Module | None) -> set[str]:
    """The names of the classes and functions that a module defines; none where there is no module."""
    nodes = [] if module is None else module.nodes
    return {node.name for node in nodes if isinstance(node, (ast.ClassDef, *FUNCTIONS))}


def _is_room(module: Module) -> bool:
    """True for packages, and for modules that lie beside them: they are rooms of their own."""
    parts = module.name.split(".")
    return len(parts) > 1 and not parts[-1].startswith("_") and (module.is_package or len(parts) == 2)


def _room_of(module: Module) -> str:
    return module.name.partition(".")[2]


if __name__ == "__main__":
    raise SystemExit(main({"architecture": find}))
