"""The sources that the checks look at: every module of the repository, parsed once.

A :class:`SourceTree` is made from a folder, so that a test can give a check a small tree of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PRODUCT = "hudi_hive"
ROOTS = (PRODUCT, "tests", "integration", "benchmarks", "tools")
GENERATED = "_thrift"
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, order=True)
class Finding:
    """One place that breaks a rule.

    ``subject`` says what is wrong without a line number: together with the check and the path it is what
    ``allowed.txt`` lists, and it stays the same when lines are added above it.
    """

    path: str
    line: int
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Module:
    """One Python file: its dotted name, its path below the repository and its text."""

    name: str
    path: str
    text: str

    @property
    def is_package(self) -> bool:
        """True for an ``__init__.py``: the face of its package."""
        return self.path.endswith("/__init__.py")

    @property
    def root(self) -> str:
        """The first part of the name, such as ``hudi_hive`` or ``tests``."""
        return self.name.partition(".")[0]

    @property
    def generated(self) -> bool:
        """True for Thrift's stubs, which no rule is about."""
        return GENERATED in self.name.split(".")

    @property
    def package(self) -> str:
        """The package that the module lies in; a package lies in itself."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n")

    @cached_property
    def syntax(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax tree."""
        return list(ast.walk(self.syntax))

    @cached_property
    def docstrings(self) -> set[int]:
        """The ids of the constants that are docstrings of the module, its classes and its functions."""
        owners = [node for node in self.nodes if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))]
        return {id(text) for owner in owners if (text := _docstring(owner.body))}


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class SourceTree:
    """All modules below a folder, by dotted name."""

    def __init__(self, folder: Path = REPOSITORY) -> None:
        self.folder = folder
        self.modules: dict[str, Module] = {}
        for root in ROOTS:
            for path in sorted((folder / root).rglob("*.py")):
                if path.is_relative_to(folder / root / "data"):
                    continue
                module = _read(path, folder)
                self.modules[module.name] = module

    def written(self, *roots: str) -> Iterator[Module]:
        """The modules that people wrote, of the roots (all of them where none is named)."""
        chosen = roots or ROOTS
        return (module for module in self.modules.values() if module.root in chosen and not module.generated)

    def is_module(self, name: str) -> bool:
        """True for the dotted name of a module or of a package's ``__init__``."""
        return name in self.modules

    def is_package(self, name: str) -> bool:
        """True for the dotted name of a package with an ``__init__``."""
        return name in self.modules and self.modules[name].is_package


def public_functions(module: Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions and methods whose name, and whose class's name, has no leading underscore.

    Yields:
        The qualified name (``Scan.plan``) and its node. Functions inside functions are not public.
    """
    yield from _public(module.syntax.body, "")


def _public(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in body:
        if isinstance(node, FUNCTIONS) and (not node.name.startswith("_") or _is_dunder(node.name)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _public(node.body, prefix)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """The parameters of a function, without ``self`` and ``cls``."""
    named = function.args
    all_of_them = [*named.posonlyargs, *named.args, *named.kwonlyargs]
    all_of_them += [starred for starred in (named.vararg, named.kwarg) if starred]
    return [each for place, each in enumerate(all_of_them) if place or each.arg not in ("self", "cls")]


def is_export_list(node: ast.AST) -> bool:
    """True for the assignment of ``__all__``."""
    return isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets)


def assignment_targets(statement: ast.stmt) -> list[ast.expr]:
    """What an assignment, with or without annotation, assigns to; nothing for other statements."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _read(path: Path, folder: Path) -> Module:
    relative = path.relative_to(folder)
    parts = list(relative.with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return Module(".".join(parts), relative.as_posix(), path.read_text(encoding="utf-8"))


def _docstring(body: list[ast.stmt]) -> ast.Constant | None:
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    return first if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
