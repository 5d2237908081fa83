"""Short parameter lists, named results, no private names of others: ``python -m tools.checks.signatures``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.checks.report import main
from tools.checks.rules import RULES
from tools.checks.tree import FUNCTIONS, PRODUCT, Finding, Module, SourceTree, parameters, public_functions

PARAMETERS = 8
TUPLE_PARTS = 2


def find(tree: SourceTree) -> Iterator[Finding]:
    """Public functions of the product with too many parameters or bare tuples, and private names reached for."""
    for module in tree.written(PRODUCT):
        for name, function in public_functions(module):
            count = len(parameters(function))
            if count > PARAMETERS:
                text = f"{name} has {count} parameters, more than {PARAMETERS}"
                yield Finding(module.path, function.lineno, f"parameters {name}", text)
            if widest_tuple(function.returns) > TUPLE_PARTS and not is_called_by_others(function.name):
                text = f"{name} returns a bare tuple: {ast.unparse(function.returns)}"  # type: ignore[arg-type]
                yield Finding(module.path, function.lineno, f"tuple {name}", text)
        yield from _private_names(tree, module)


def widest_tuple(annotation: ast.expr | None) -> int:
    """The parts of the widest fixed tuple in an annotation; 0 where there is none, as for ``tuple[int, ...]``."""
    widest = 0
    for node in ast.walk(annotation) if annotation else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "tuple[" in node.value:
            widest = max(widest, widest_tuple(ast.parse(node.value, mode="eval").body))
        if isinstance(node, ast.Subscript) and is_fixed_tuple(node) and isinstance(node.slice, ast.Tuple):
            widest = max(widest, len(node.slice.elts))
    return widest


def is_called_by_others(name: str) -> bool:
    """True for special methods and for what ``rules.toml`` lists: Python or a library says what they return."""
    return name.startswith("__") or name in RULES.foreign_signatures


def is_fixed_tuple(annotation: ast.expr | None) -> bool:
    """True for ``tuple[A, B]``, false for ``tuple[A, ...]``."""
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.slice, ast.Tuple):
        return False
    parts = annotation.slice.elts
    named_tuple = isinstance(annotation.value, ast.Name) and annotation.value.id == "tuple"
    return named_tuple and not any(isinstance(part, ast.Constant) and part.value is ... for part in parts)


def _private_names(tree: SourceTree, module: Module) -> Iterator[Finding]:
    own = _own_names(module)
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == PRODUCT:
            for alias in node.names:
                if _is_private(alias.name) and not tree.is_module(f"{node.module}.{alias.name}"):
                    text = f"imports the private name {alias.name} of {node.module}"
                    yield Finding(module.path, node.lineno, f"private {alias.name}", text)
        elif isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            text = f"reaches for {ast.unparse(node)[:80]}, which is private and of another module"
            yield Finding(module.path, node.lineno, f"private {node.attr}", text)


def _own_names(module: Module) -> set[str]:
    """The private names that a module defines itself: functions, classes, attributes, fields, imported modules."""
    own: set[str] = set()
    for node in module.nodes:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id in ("self", "cls"):
                own.add(node.attr)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            own.update(alias.asname or alias.name for alias in node.names)
    return own


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and len(name) > 1 and name not in RULES.private_names


if __name__ == "__main__":
    raise SystemExit(main({"signatures": find}))
