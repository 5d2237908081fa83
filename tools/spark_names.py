"""Looks whether names of Spark's own are declared where they are reached; a test runs it on the sources.

What is no promise of Spark's (classes of the JVM, their private fields and methods, PySpark's attributes with an
underscore) stands in ``hudi_hive/spark/versions/names.py``, by feature. A module or a Java source that reaches one that
its feature does not declare is a finding, and so is a declared one that nothing reaches any more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hudi_hive.spark.versions import FEATURES
from tools.checks.tree import Finding, Module, SourceTree

_ROOT = "org.apache.spark."
_SPARK = "hudi_hive.spark."
_CLASS = re.compile(r"org\.apache\.spark\.(?:[a-z]\w*\.)*[A-Z]\w*\$?")
_IMPORT = re.compile(r"^import org\.apache\.spark\.([\w.]+)\$?;", re.MULTILINE)
_PRIVATE = re.compile(r"_j[a-z]\w*|_gateway|_active_spark_context")
_OWNERS = {"sessionState": "sql.internal.SessionState", "queryExecution": "sql.execution.QueryExecution"}
"""Methods without which nothing private of a session or a query is reached -> the class of what they return."""
_FIELDS = frozenset({"field", "_field", "add_rule"})
"""Functions that take the name of a private field."""
_NAMES_PATH = "hudi_hive/spark/versions/names.py"


def find(tree: SourceTree) -> Iterator[Finding]:
    """Names that are reached undeclared, and those that are declared and not reached."""
    reached: dict[str, set[str]] = {feature.title: set() for feature in FEATURES}
    for room, path, names in _sources(tree):
        feature = next((each for each in FEATURES if each.has(room)), None)
        declared = set() if feature is None else _forms(feature.every)
        for name, line in sorted(names.items()):
            if name not in declared:
                title = feature.title if feature else room
                message = f"{name} of Spark is not declared for {title}; add it to {_NAMES_PATH}"
                yield Finding(path, line, name, message)
        if feature is not None:
            reached[feature.title] |= names.keys()
    for feature in FEATURES if any(reached.values()) else ():
        known = reached[feature.title] | {name.replace("sql.classic.", "sql.") for name in reached[feature.title]}
        for name in feature.every:
            if "#" not in name and name not in known:
                yield Finding(_NAMES_PATH, 1, name, f"{name} is declared for {feature.title}, which does not reach it")


def _forms(names: tuple[str, ...]) -> set[str]:
    """The names, and members without their class, as sources have them."""
    return {*names, *(f"#{name.partition('#')[2]}" for name in names if "#" in name)}


def _sources(tree: SourceTree) -> Iterator[tuple[str, str, dict[str, int]]]:
    for module in tree.written("hudi_hive"):
        if module.name.startswith(_SPARK) and module.path != _NAMES_PATH:
            yield module.name.removeprefix(_SPARK), module.path, dict(_reached(module))
    for path in sorted((tree.folder / "hudi_hive" / "spark" / "java").glob("*.java")):
        text = path.read_text(encoding="utf-8")
        lines = {match[1]: text[: match.start()].count("\n") + 1 for match in _IMPORT.finditer(text)}
        yield path.name, str(path.relative_to(tree.folder)), lines


def _reached(module: Module) -> Iterator[tuple[str, int]]:
    texts, packages = _assigned(module)
    for node in module.nodes:
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            text = _text(node, texts)
            if _CLASS.fullmatch(text):
                yield text.removeprefix(_ROOT).rstrip("$"), node.lineno
        elif isinstance(node, ast.Attribute):
            for name in _of_attribute(node, texts, packages):
                yield name, node.lineno
        elif isinstance(node, ast.Call) and _called(node) in _FIELDS:
            for each in node.args:
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and ast.unparse(node)[:3] != "pa.":
                    yield f"#{each.value}", node.lineno


def _of_attribute(node: ast.Attribute, texts: dict[str, str], packages: dict[str, str]) -> Iterator[str]:
    owner = node.value
    if _PRIVATE.fullmatch(node.attr) and ast.unparse(owner) != "self":
        yield node.attr
    if isinstance(owner, ast.Call) and _called(owner) in _OWNERS:
        yield f"{_OWNERS[_called(owner)]}#{node.attr}"
    if node.attr[0].isupper():
        package = _package(owner, texts) or packages.get(_last(owner), "")
        package = "org.apache.spark.sql.classic" if _last(owner) == "classic" else package
        if package.startswith(_ROOT) and not any(part[:1].isupper() for part in package.split(".")):
            yield f"{package}.{node.attr}".removeprefix(_ROOT)


def _assigned(module: Module) -> tuple[dict[str, str], dict[str, str]]:
    """Names of variables -> texts that begin as Spark's classes do, and -> packages of the JVM."""
    texts: dict[str, str] = {}
    packages: dict[str, str] = {}
    for node in module.nodes:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        name = _last(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        text = _text(node.value, texts)
        if text.startswith(_ROOT):
            texts[name] = text
        package = _package(node.value, texts)
        if package:
            packages[name] = package
    return texts, packages


def _package(node: ast.expr, texts: dict[str, str]) -> str:
    """The package that an expression is: ``jvm.package("…")`` or ``view.org.apache…``; empty for others."""
    if isinstance(node, ast.Call) and _called(node) == "package" and node.args:
        return f"org.apache.spark.sql.{_text(node.args[0], texts)}".rstrip(".")
    text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    return text[text.index(_ROOT) :] if _ROOT in text and "(" not in text[text.index(_ROOT) :] else ""


def _text(node: ast.expr, texts: dict[str, str]) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
    return "".join(texts.get(_last(each), "*") if isinstance(each, ast.Name) else _text(each, texts) for each in parts)


def _called(node: ast.Call) -> str:
    return _last(node.func)


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
