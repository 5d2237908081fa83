"""How long modules and functions and how full packages may be: ``python -m tools.checks.rooms``."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tools.checks.report import main
from tools.checks.tree import FUNCTIONS, PRODUCT, Finding, Module, SourceTree

MODULE_LINES = 500
FUNCTION_LINES = 50
PACKAGE_MODULES = 15


def find(tree: SourceTree) -> Iterator[Finding]:
    """Modules over 500 lines, functions over 50 lines, packages of more than 15 modules beside sub-packages.

    Docstrings are not counted in a function's lines.
    The packages of ``tests`` and ``integration`` are folders of test files: they may hold more.
    """
    for module in tree.written():
        if module.lines > MODULE_LINES:
            yield Finding(module.path, 1, "module", f"{module.lines} lines, more than {MODULE_LINES}")
        for function in long_functions(module, FUNCTION_LINES):
            text = f"{function.name} has {length(function)} lines, more than {FUNCTION_LINES}"
            yield Finding(module.path, function.lineno, function.name, text)
    for package, count in package_sizes(tree).items():
        if count > PACKAGE_MODULES and package.partition(".")[0] == PRODUCT:
            path = tree.modules[package].path
            yield Finding(path, 1, "package", f"{count} modules in {package}, more than {PACKAGE_MODULES}")


def long_functions(module: Module, limit: int) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a module, nested ones too, of more than ``limit`` lines."""
    return [node for node in module.nodes if isinstance(node, FUNCTIONS) and length(node) > limit]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from ``def`` to the last statement, without the docstring's."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is None:
        return lines
    text = function.body[0]
    return lines - ((text.end_lineno or text.lineno) - text.lineno + 1)


def package_sizes(tree: SourceTree) -> dict[str, int]:
    """How many modules each package (or folder without ``__init__``) holds itself, its ``__init__`` not counted."""
    sizes: dict[str, int] = defaultdict(int)
    for module in tree.written():
        if not module.is_package:
            sizes[module.package] += 1
    return dict(sorted(sizes.items()))


if __name__ == "__main__":
    raise SystemExit(main({"rooms": find}))
