"""Identifiers say what a thing is in the words of Hudi, Hive, Spark and Arrow: ``python -m tools.checks.words``.

``rules.toml`` has the words and names that nobody outside would recognise, and the few places that keep one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from tools.checks.report import main
from tools.checks.rules import RULES
from tools.checks.tree import FUNCTIONS, PRODUCT, Finding, Module, SourceTree, assignment_targets

LOCAL_LINES = 5
"""A local name that is used more than so many lines after it is first assigned counts as an identifier."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class Name(NamedTuple):
    """An identifier that a module declares."""

    kind: str
    text: str
    line: int


def find(tree: SourceTree) -> Iterator[Finding]:
    """Identifiers with a word, or that are a name, of the list in ``rules.toml``.

    Local names count in the product alone; names of tests (``test_…``) are sentences and do not count.
    """
    for module in tree.written():
        for name in declared_names(module):
            if (module.root != PRODUCT and name.kind == "local") or is_exempt(module.name, name.text):
                continue
            advice = advice_on(name)
            if advice:
                text = f"{name.kind} {name.text}: say what it is ({advice})"
                yield Finding(module.path, name.line, f"{name.kind} {name.text}", text)


def advice_on(name: Name) -> str:
    """What ``rules.toml`` says about a name that has a banned word in it or is banned as a whole; else empty."""
    whole = RULES.names.get(name.text) or RULES.names.get(f"{name.kind} {name.text}")
    if whole:
        return whole
    parts = parts_of(name.text)
    for place, part in enumerate(parts):
        pair = " ".join(parts[max(place - 1, 0) : place + 1])
        if part in RULES.words and pair not in RULES.phrases:
            return RULES.words[part]
    return ""


def parts_of(identifier: str) -> list[str]:
    """The words of an identifier in lower case: ``RowsNotFound`` is rows, not, found."""
    return [part.lower() for part in _PARTS.findall(identifier)]


def is_exempt(module: str, identifier: str) -> bool:
    """True if ``rules.toml`` lets the identifier stay, in the module or everywhere."""
    return identifier in RULES.exempt_identifiers or f"{module}.{identifier}" in RULES.exempt_identifiers


def declared_names(module: Module) -> Iterator[Name]:
    """The module's own name, and the classes, functions, parameters, attributes, columns and long-lived locals."""
    yield Name("module", module.name.rpartition(".")[2], 1)
    for node in module.nodes:
        if isinstance(node, ast.ClassDef):
            yield Name("class", node.name, node.lineno)
            yield from _assigned(node.body, "attribute")
        elif isinstance(node, FUNCTIONS):
            if not node.name.startswith("test_"):
                yield Name("function", node.name, node.lineno)
            for each in _parameters(node):
                yield Name("parameter", each.arg, each.lineno)
            yield from _locals(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield Name("attribute", node.attr, node.lineno)
        elif isinstance(node, ast.Call):
            yield from _columns(node)
    yield from _assigned(module.syntax.body, "constant")


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    named = function.args
    starred = [each for each in (named.vararg, named.kwarg) if each]
    return [*named.posonlyargs, *named.args, *named.kwonlyargs, *starred]


def _assigned(body: list[ast.stmt], kind: str) -> Iterator[Name]:
    for node in body:
        for target in assignment_targets(node):
            for each in ast.walk(target):
                if isinstance(each, ast.Name):
                    yield Name(kind, each.id, each.lineno)


def _locals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Name]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                first[node.id] = min(first.get(node.id, node.lineno), node.lineno)
            last[node.id] = max(last.get(node.id, node.lineno), node.lineno)
    for name, line in first.items():
        if last[name] - line > LOCAL_LINES:
            yield Name("local", name, line)


def _columns(call: ast.Call) -> Iterator[Name]:
    """The column names that ``pa.field``, ``pa.schema`` and ``pa.table`` are given as literals."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if called == "field" and call.args:
        yield from _column(call.args[0])
    elif called == "schema" and call.args and isinstance(call.args[0], ast.List):
        for each in call.args[0].elts:
            if isinstance(each, ast.Tuple) and each.elts:
                yield from _column(each.elts[0])
    elif called in ("table", "from_pydict") and call.args and isinstance(call.args[0], ast.Dict):
        for key in call.args[0].keys:
            yield from _column(key)
    elif called == "append_column" and call.args:
        yield from _column(call.args[0])


def _column(node: ast.expr | None) -> Iterator[Name]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        yield Name("column", node.value, node.lineno)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


if __name__ == "__main__":
    raise SystemExit(main({"words": find}))
