"""No circles of imports, and no imports past a package's face: ``python -m tools.checks.imports``.

Every import counts: at the top of a module, inside a function, below ``TYPE_CHECKING``, and ``import_module`` with a
literal name. A package's ``__init__`` is a module like any other.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tools.checks.report import main
from tools.checks.rules import RULES
from tools.checks.tree import GENERATED, PRODUCT, Finding, Module, SourceTree, is_export_list

INDEPENDENT = (("integration", "benchmarks"), ("benchmarks", "integration"))
OUTSIDE_PRODUCT = ("tests", "integration", "benchmarks", "tools")


class Import(NamedTuple):
    """One import of a module of the repository by another."""

    importer: Module
    target: str
    line: int


def find(tree: SourceTree) -> Iterator[Finding]:
    """All findings: circles, imports past faces, of the parent's face, and between roots that stay apart."""
    imports = list(all_imports(tree))
    yield from _circle_findings(tree, imports)
    for each in imports:
        importer = each.importer
        here = (importer.path, each.line, each.target)
        if is_past_face(tree, importer.name, each.target):
            yield Finding(*here, f"imports {each.target} past the face of {_room(each.target)}")
        elif importer.name.startswith(each.target + ".") and importer.root == PRODUCT:
            yield Finding(*here, f"imports the face of its own package {each.target}; import the module or sub-package")
        target_root = each.target.partition(".")[0]
        if (importer.root, target_root) in INDEPENDENT:
            yield Finding(*here, f"{importer.root} imports {each.target}: share it in tests.support")
        if importer.root == PRODUCT and target_root in OUTSIDE_PRODUCT:
            yield Finding(*here, f"the product imports {each.target}")


def all_imports(tree: SourceTree) -> Iterator[Import]:
    """Every import of one module of the repository by another, each pair once for each line."""
    for module in tree.modules.values():
        if module.generated:
            continue
        places = {place for node in module.nodes for place in _targets(tree, module, node)}
        for target, line in sorted(places, key=lambda place: (place[1], place[0])):
            if target != module.name:
                yield Import(module, target, line)


def is_past_face(tree: SourceTree, importer: str, target: str) -> bool:
    """True if ``importer`` stands outside the package whose module it names instead of the package.

    A module directly below ``hudi_hive`` is its own face, and so is every package; a module that a package lists in
    ``__all__`` is a name of its face. Tests in ``tests.table`` and ``integration.table``, and what they
    share in ``tests.support.table``, may use what is inside ``hudi_hive.table``.
    """
    if target.partition(".")[0] != PRODUCT or (tree.is_package(target) and GENERATED not in target.split(".")):
        return False
    room = _room(target)
    if GENERATED in target.split(".") and any(_within(importer, user) for user in RULES.thrift_users):
        return False
    if room == PRODUCT or _within(importer, room):
        return False
    if target.rpartition(".")[2] in exported_names(tree.modules[room]):
        return False
    inside = ".".join(room.split(".")[1:2])
    return not any(_within(importer, f"{tests}.{inside}") for tests in ("tests", "tests.support", "integration"))


def exported_names(face: Module) -> set[str]:
    """The names that a package's ``__init__`` lists in ``__all__``."""
    lists = [node.value for node in face.syntax.body if isinstance(node, ast.Assign) and is_export_list(node)]
    return {
        each.value
        for names in lists
        for each in ast.walk(names)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def circles(tree: SourceTree, imports: list[Import]) -> list[list[str]]:
    """The strongly connected groups of more than one module, the largest first; each is sorted."""
    edges: dict[str, set[str]] = defaultdict(set)
    for each in imports:
        edges[each.importer.name].add(each.target)
    groups = [sorted(group) for group in _components(sorted(tree.modules), edges) if len(group) > 1]
    return sorted(groups, key=lambda group: (-len(group), group))


def _circle_findings(tree: SourceTree, imports: list[Import]) -> Iterator[Finding]:
    for group in circles(tree, imports):
        first = tree.modules[group[0]]
        inside = set(group)
        edges = {(each.importer.name, each.target) for each in imports if {each.importer.name, each.target} <= inside}
        shown = ", ".join(f"{importer} -> {target}" for importer, target in sorted(edges)[:8])
        yield Finding(first.path, 1, "circle:" + "|".join(group), f"circle of {len(group)} modules: {shown}")


def _targets(tree: SourceTree, module: Module, node: ast.AST) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _existing(tree, alias.name, node.lineno)
    elif isinstance(node, ast.ImportFrom):
        base = _base(module, node)
        for alias in node.names:
            inside = f"{base}.{alias.name}"
            yield from _existing(tree, inside if tree.is_module(inside) else base, node.lineno)
    elif isinstance(node, ast.Call) and _called(node) == "import_module" and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield from _existing(tree, first.value, node.lineno)


def _base(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    above = module.package.split(".")
    above = above[: len(above) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _existing(tree: SourceTree, name: str, line: int) -> Iterator[tuple[str, int]]:
    if tree.is_module(name):
        yield name, line


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _room(target: str) -> str:
    """The package that a module lies in; what is generated belongs to the package above it."""
    parts = target.split(".")
    if GENERATED in parts:
        return ".".join(parts[: parts.index(GENERATED)])
    return ".".join(parts[:-1])


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _components(names: list[str], edges: dict[str, set[str]]) -> Iterator[list[str]]:
    """Tarjan's algorithm without recursion: the strongly connected components of the graph."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for start in names:
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = lowest[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            name, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = lowest[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(edges[target]))))
                    break
                if target in on_stack:
                    lowest[name] = min(lowest[name], index[target])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[name])
                if lowest[name] == index[name]:
                    place = stack.index(name)
                    component = stack[place:]
                    del stack[place:]
                    on_stack.difference_update(component)
                    yield component


if __name__ == "__main__":
    raise SystemExit(main({"imports": find}))
