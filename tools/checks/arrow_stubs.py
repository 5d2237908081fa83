"""The type stubs of ``typings`` are true: ``python -m tools.checks.arrow_stubs``.

mypy believes the stubs; this check holds them against the installed library. Every class, function, method and
property of a stub is there at runtime, of the same sort; each parameter has the same name, place and default; and no
required one is missing. A name that the product does not use is reported as well: the stubs have no more than it needs.

A module of stubs without one of its name at runtime (``pyarrow._tables``) describes a part of the extension module
``pyarrow.lib``. Where the library tells no signature (constructors in C), names alone are compared.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import Parameter
from typing import Any, Final

from tools.checks.report import main
from tools.checks.tree import PRODUCT, Finding, SourceTree

STUBS: Final = "typings"
_LIBRARY: Final = "pyarrow.lib"
_IN_C: Final = frozenset({"__buffer__"})
"""What Python 3.11 shows of no class in C, though it has it."""
_MISSING: Final = object()
_PLACED: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_STARRED: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_NAMED: Final = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class _Stub:
    """One module of stubs: its path, its statements, what it describes, and the names that the product uses."""

    path: str
    body: list[ast.stmt]
    runtime: object
    used: frozenset[str]

    def finding(self, node: ast.stmt, name: str, message: str) -> Finding:
        return Finding(self.path, node.lineno, f"{name}: {message}", f"{name} {message}")


def find(tree: SourceTree) -> Iterator[Finding]:
    """The names of the stubs that the library lacks or has otherwise, and those that nothing uses."""
    folder = tree.folder / STUBS
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.pyi"))}
    bodies = {path: ast.parse(text) for path, text in texts.items()}
    used = frozenset(_names_in_use([*(module.syntax for module in tree.written(PRODUCT)), *bodies.values()]))
    for path, syntax in bodies.items():
        parts = list(path.relative_to(folder).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield from _module(_Stub(path.relative_to(tree.folder).as_posix(), syntax.body, _runtime(name), used))


def _runtime(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return importlib.import_module(_LIBRARY)


def _names_in_use(modules: list[ast.Module]) -> Iterator[str]:
    """Names that are read, or imported from a library, anywhere."""
    for node in (node for module in modules for node in ast.walk(module)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def _module(stub: _Stub) -> Iterator[Finding]:
    protocols = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef) and node.name.startswith("_")}
    for node in stub.body:
        name = _defined(node)
        if isinstance(node, ast.ImportFrom):
            yield from _reexported(stub, node)
        if name is None or name.startswith("_"):
            continue
        if name not in stub.used:
            yield stub.finding(node, name, "is used by nothing")
        value = getattr(stub.runtime, name, _MISSING)
        if value is _MISSING:
            yield stub.finding(node, name, "is not there at runtime")
        elif isinstance(node, ast.ClassDef):
            yield from _class(stub, node, value)
        elif isinstance(node, ast.FunctionDef):
            yield from _function(stub, node, name, value, bound=True)
        elif isinstance(node, ast.AnnAssign):
            for call in protocols[ast.unparse(node.annotation)].body:
                assert isinstance(call, ast.FunctionDef)
                yield from _function(stub, call, name, value, bound=False)


def _reexported(stub: _Stub, node: ast.ImportFrom) -> Iterator[Finding]:
    """The names that a module has from another one of the library."""
    for alias in node.names:
        exported = alias.asname == alias.name or stub.path.endswith("/__init__.pyi")
        if exported and not hasattr(stub.runtime, alias.name) and find_spec(f"{node.module}.{alias.name}") is None:
            yield stub.finding(node, alias.name, "is not there at runtime")


def _defined(node: ast.stmt) -> str | None:
    """The name that a statement defines; a type alias is for the stubs alone."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name
    if (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and ast.unparse(node.annotation) != "TypeAlias"
    ):
        return node.target.id
    return None


def _class(stub: _Stub, node: ast.ClassDef, kind: object) -> Iterator[Finding]:
    if not isinstance(kind, type):
        yield stub.finding(node, node.name, "is no class at runtime")
        return
    bases = {each.__name__ for each in kind.__mro__}
    for base in map(ast.unparse, node.bases):
        if not base.startswith("_") and base.partition("[")[0] not in bases:
            yield stub.finding(node, node.name, f"has no base {base} at runtime")
    for member in node.body:
        name = _defined(member)
        if name is None and isinstance(member, ast.Assign):
            name = ast.unparse(member.targets[0])
        if name is None or isinstance(member, ast.AnnAssign):  # an attribute of instances, which a class does not tell
            continue
        if name not in _IN_C:
            yield from _member(stub, member, f"{node.name}.{name}", name, kind)


def _member(stub: _Stub, member: ast.stmt, title: str, name: str, kind: type) -> Iterator[Finding]:
    if not name.startswith("__") and name not in stub.used:
        yield stub.finding(member, title, "is used by nothing")
    value = getattr(kind, name, _MISSING)
    if value is _MISSING:
        yield stub.finding(member, title, "is not there at runtime")
    elif isinstance(member, ast.FunctionDef) and name == "__init__":
        yield from _function(stub, member, title, kind, bound=False)
    elif isinstance(member, ast.FunctionDef):
        decorators = {ast.unparse(each) for each in member.decorator_list}
        if ("property" in decorators) == callable(value):
            yield stub.finding(member, title, "is a method here and a property there, or the other way round")
        elif "property" not in decorators and not name.startswith("__"):
            yield from _function(stub, member, title, value, bound=bool(decorators & {"staticmethod", "classmethod"}))


def _function(stub: _Stub, node: ast.FunctionDef, title: str, value: object, *, bound: bool) -> Iterator[Finding]:
    """Compare parameters; ``bound`` where the stub's have no ``self`` that the runtime's lack, or both lack it."""
    there = _signature(value)
    if there is None:
        return
    here = _parameters(node)
    if here and here[0].name in ("self", "cls"):
        here = here[1:]
    if not bound and there and there[0].name == "self":
        there = there[1:]
    yield from (stub.finding(node, title, message) for message in _differences(here, there))


def _signature(value: object) -> list[Parameter] | None:
    assert callable(value)
    try:
        return list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None


def _parameters(node: ast.FunctionDef) -> list[Parameter]:
    """The parameters of a function of a stub."""
    function: dict[str, Callable[..., Any]] = {}
    plain = ast.FunctionDef(node.name, _unannotated(node.args), node.body, [], None, None, lineno=1, col_offset=0)
    exec(compile(ast.fix_missing_locations(ast.Module([plain], [])), STUBS, "exec"), function)
    return list(inspect.signature(function[node.name]).parameters.values())


def _unannotated(arguments: ast.arguments) -> ast.arguments:
    starred = [each for each in (arguments.vararg, arguments.kwarg) if each]
    for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]:
        each.annotation = None
    return arguments


def _differences(here: list[Parameter], there: list[Parameter]) -> Iterator[str]:
    """What would go wrong at runtime with calls that the stub allows, and the other defaults."""
    if any(each.kind in _STARRED for each in here):
        filled = {each.name for each in there}
    else:
        filled = {each.name for each in there if each.kind in _STARRED}
    for place, each in enumerate(here):
        if each.kind in _STARRED:
            continue
        other, message = _counterpart(place, each, there)
        if message is not None:
            yield message
        if other is None:
            continue
        filled.add(other.name)
        if each.default is not Parameter.empty and other.default is Parameter.empty:
            yield f"needs {each.name}"
        elif each.default not in (Parameter.empty, ..., other.default):
            yield f"has {each.name}={other.default!r}"
    yield from (f"needs {each.name}" for each in there if each.name not in filled and each.default is Parameter.empty)


def _counterpart(place: int, each: Parameter, there: list[Parameter]) -> tuple[Parameter | None, str | None]:
    """The parameter at runtime that gets what is given for one of the stub, and what is wrong with it."""
    places = [other for other in there if other.kind in _PLACED]
    if each.kind is Parameter.POSITIONAL_ONLY:
        if place < len(places):
            return places[place], None
        starred = any(other.kind is Parameter.VAR_POSITIONAL for other in there)
        return None, None if starred else f"takes no {place + 1} positional arguments"
    other = next((other for other in there if other.name == each.name and other.kind in _NAMED), None)
    if other is None:
        starred = any(other.kind is Parameter.VAR_KEYWORD for other in there)
        return None, None if starred else f"has no parameter {each.name}"
    moved = each.kind is Parameter.POSITIONAL_OR_KEYWORD and places[place : place + 1] != [other]
    return other, f"has {each.name} in another place" if moved else None


if __name__ == "__main__":
    raise SystemExit(main({"arrow_stubs": find}))
