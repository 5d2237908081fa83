"""One name is one idea: ``python -m tools.checks.names``.

No two public classes of the product share a name, but for siblings behind one interface (``rules.toml``); a public
function's name is defined in at most three modules.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator

from tools.checks.report import main
from tools.checks.rules import RULES
from tools.checks.tree import FUNCTIONS, PRODUCT, Finding, Module, SourceTree

MODULES_OF_ONE_FUNCTION = 3

Place = tuple[Module, int]


def find(tree: SourceTree) -> Iterator[Finding]:
    """Public classes of one name, and public functions of one name in more than three modules."""
    for name, places in sorted(duplicate_classes(tree).items()):
        others = ", ".join(module.path for module, _ in places)
        for module, line in places:
            yield Finding(module.path, line, f"class {name}", f"class {name} is defined {len(places)} times: {others}")
    for name, places in sorted(_defined(tree, _function_names).items()):
        if len(places) > MODULES_OF_ONE_FUNCTION:
            others = ", ".join(module.path for module, _ in places)
            for module, line in places:
                text = f"function {name} is defined in {len(places)} modules: {others}"
                yield Finding(module.path, line, f"function {name}", text)


def duplicate_classes(tree: SourceTree) -> dict[str, list[Place]]:
    """The names that several public classes of the product have, with where each stands."""
    places = _defined(tree, _class_names)
    return {name: at for name, at in places.items() if len(at) > 1 and name not in RULES.shared_class_names}


def _defined(tree: SourceTree, names: Callable[[Module], dict[str, int]]) -> dict[str, list[Place]]:
    places: dict[str, list[Place]] = defaultdict(list)
    for module in tree.written(PRODUCT):
        for name, line in names(module).items():
            if not name.startswith("_"):
                places[name].append((module, line))
    return places


def _class_names(module: Module) -> dict[str, int]:
    return {node.name: node.lineno for node in module.syntax.body if isinstance(node, ast.ClassDef)}


def _function_names(module: Module) -> dict[str, int]:
    return {node.name: node.lineno for node in module.syntax.body if isinstance(node, FUNCTIONS)}


if __name__ == "__main__":
    raise SystemExit(main({"names": find}))
