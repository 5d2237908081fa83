"""Names of options and meta columns are spelt out once: ``python -m tools.checks.literals``.

A text that is an option's or a meta column's whole name (``hoodie.table.name``, ``_hoodie_record_key``) stands only
in the modules that declare them, which ``rules.toml`` lists, and there once. Docstrings and sentences that mention a
name may.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.checks.report import main
from tools.checks.rules import RULES
from tools.checks.tree import PRODUCT, Finding, Module, SourceTree

_NAME = re.compile(r"hoodie\.[\w.\-]*|_hoodie_\w*")


def find(tree: SourceTree) -> Iterator[Finding]:
    """The literals of the product outside the declaring modules, and those that are declared twice."""
    declared: dict[str, str] = {}
    for module in sorted(tree.written(PRODUCT), key=lambda each: each.name):
        for line, text in literals(module):
            if not declares(module.name):
                yield Finding(module.path, line, text, f"{text!r} is spelt out; take it from where it is declared")
            elif text in declared:
                yield Finding(
                    module.path, line, text, f"{text!r} is declared in {declared[text]}, too; take it from there"
                )
            else:
                declared[text] = module.name


def declares(module: str) -> bool:
    """True for a module that ``rules.toml`` lists, and for those inside a package that it lists."""
    return any(module == each or module.startswith(each + ".") for each in RULES.literal_modules)


def literals(module: Module) -> Iterator[tuple[int, str]]:
    """Line and text of each literal that is the name (or the beginning of a name) of an option or a meta column."""
    for node in module.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in module.docstrings:
            continue
        if _NAME.fullmatch(node.value) and node.value not in RULES.literal_values:
            yield node.lineno, node.value


if __name__ == "__main__":
    raise SystemExit(main({"literals": find}))
