"""Nothing public stands in the product for the tests alone: ``python -m tools.checks.dead``.

A public function, class or method is in use if its name occurs in the product's code (Java sources and generated
stubs too) or in code of README and docs. That a package's face exports it is no use. Names are compared as texts:
what shares its name with something in use is not found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.checks.report import main
from tools.checks.rules import RULES
from tools.checks.tree import PRODUCT, Finding, Module, SourceTree, assignment_targets, is_export_list, public_functions

_CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
_PLAIN_DECORATORS = {"property", "cached_property", "staticmethod", "classmethod", "contextmanager", "cache"}


def find(tree: SourceTree) -> Iterator[Finding]:
    """The public functions, classes, methods and constants of the product that nothing uses."""
    used = used_names(tree) | RULES.unused_names
    for module in tree.written(PRODUCT):
        for name, line in _public_names(module):
            last = name.rpartition(".")[2]
            if last not in used:
                yield Finding(module.path, line, name, f"{name} is used by nothing in the product, README or docs")


def used_names(tree: SourceTree) -> set[str]:
    """Every identifier that the product's code, its Java sources, or code in README and docs mentions."""
    used: set[str] = set()
    for module in tree.modules.values():
        if module.root == PRODUCT:
            used |= _names_in(module)
    for path in (tree.folder / PRODUCT).rglob("*.java"):
        used.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for path in [tree.folder / "README.md", *sorted((tree.folder / "docs").glob("**/*.md"))]:
        for code in _CODE.findall(path.read_text(encoding="utf-8")) if path.exists() else ():
            used.update(re.findall(r"\w+", code))
    return used


def _names_in(module: Module) -> set[str]:
    exported = {id(node) for node in module.nodes if is_export_list(node) for node in ast.walk(node)}
    used: set[str] = set()
    for node in module.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store):
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            used.update(alias.name for alias in node.names if alias.asname and alias.asname != alias.name)
        elif isinstance(node, ast.Constant) and id(node) not in exported and id(node) not in module.docstrings:
            used.update(_names_in_text(node.value))
    return used


def _names_in_text(value: object) -> list[str]:
    """The names of a text that may be one: ``package.module:name``, an identifier, a quoted annotation."""
    text = value.replace(", ", ",").replace(" | ", "|") if isinstance(value, str) else ""
    return re.findall(r"\w+", text) if re.fullmatch(r"[\w.:\[\],|]{1,200}", text) else []


def _public_names(module: Module) -> Iterator[tuple[str, int]]:
    classes = [node for node in module.syntax.body if isinstance(node, ast.ClassDef)]
    foreign = {node.name for node in classes if _has_foreign_base(module, node)}
    for name, function in public_functions(module):
        owner = name.rpartition(".")[0]
        if function.name.startswith("__") or owner.partition(".")[0] in foreign or _is_registered(function):
            continue
        yield name, function.lineno
    for node in module.syntax.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node.lineno
        for name in _constants(node):
            yield name, node.lineno


def _constants(node: ast.stmt) -> Iterator[str]:
    for target in assignment_targets(node):
        if isinstance(target, ast.Name) and not target.id.startswith("_"):
            yield target.id


def _has_foreign_base(module: Module, node: ast.ClassDef) -> bool:
    """True if a base class is not of the repository: whoever made it calls the methods."""
    local = {each.name for each in module.syntax.body if isinstance(each, ast.ClassDef)}
    for each in module.nodes:
        if isinstance(each, ast.ImportFrom) and (each.module or "").partition(".")[0] == PRODUCT:
            local.update(alias.asname or alias.name for alias in each.names)
    plain = {"object", "Protocol", "ABC", "NamedTuple", "TypedDict", "Generic", "Enum", "IntEnum", "StrEnum"}
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        if last not in local | plain:
            return True
    return False


def _is_registered(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if a decorator hands the function to somebody: a click command, an overload, a handler."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if last not in _PLAIN_DECORATORS:
            return True
    return False


if __name__ == "__main__":
    raise SystemExit(main({"dead": find}))
