"""The shape of the code in figures: ``python -m tools.measure_house [FOLDER]`` prints a table.

FOLDER is a checkout of the repository, this one by default. The product is measured without its generated stubs.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.checks import dead, imports, literals, names, rooms, signatures, words
from tools.checks.tree import FUNCTIONS, PRODUCT, REPOSITORY, Module, SourceTree, parameters, public_functions

LONG_FUNCTION = 50
MANY_PARAMETERS = 7


def measure(tree: SourceTree) -> dict[str, str]:
    """The figures of a tree, by what they are of."""
    product = list(tree.written(PRODUCT))
    functions = [node for module in product for node in module.nodes if isinstance(node, FUNCTIONS)]
    all_imports = list(imports.all_imports(tree))
    past = [each for each in all_imports if imports.is_past_face(tree, each.importer.name, each.target)]
    groups = imports.circles(tree, all_imports)
    sizes = {name: size for name, size in rooms.package_sizes(tree).items() if name.partition(".")[0] == PRODUCT}
    fullest = max(sizes, key=lambda name: sizes[name])
    by_kind = Counter(finding.subject.partition(" ")[0] for finding in signatures.find(tree))
    documented = [ast.get_docstring(node) is not None for node in _public_things(product)]
    readme = tree.folder / "README.md"
    banned = list(words.find(tree))
    return {
        "modules": str(len(product)),
        "lines": str(sum(module.lines for module in product)),
        "longest module": str(max(module.lines for module in product)),
        "functions > 50 lines": _share(sum(_all_lines(node) > LONG_FUNCTION for node in functions), len(functions)),
        "the same without docstrings": _share(sum(rooms.length(n) > LONG_FUNCTION for n in functions), len(functions)),
        ">= 7 parameters": _share(sum(len(parameters(node)) >= MANY_PARAMETERS for node in functions), len(functions)),
        "fixed tuples returned": _share(sum(_returns_tuple(node) for node in functions), len(functions)),
        "public docstrings": _share(sum(documented), len(documented)),
        "largest import circle": str(max((len(group) for group in groups), default=0)),
        "import circles": _in_product([group[0] for group in groups]),
        "imports past a face": _in_product([each.importer.path for each in past]),
        "README, words": str(len(readme.read_text(encoding="utf-8").split())) if readme.exists() else "-",
        "identifiers with a banned word": _in_product([finding.path for finding in banned]),
        "public functions > 8 parameters": str(by_kind["parameters"]),
        "public functions returning tuples > 2": str(by_kind["tuple"]),
        "private names of others reached for": str(by_kind["private"]),
        "public class names defined twice": str(len(names.duplicate_classes(tree))),
        "modules of the fullest package": f"{sizes[fullest]} ({fullest})",
        "packages over 15 modules": str(sum(size > rooms.PACKAGE_MODULES for size in sizes.values())),
        "hoodie literals outside declaring modules": str(len(list(literals.find(tree)))),
        "public names that only tests use": str(len(list(dead.find(tree)))),
        "flat files in tests": str(sum(module.package == "tests" for module in tree.written("tests"))),
        "flat files in integration": str(sum(module.package == "integration" for module in tree.written())),
    }


def _in_product(places: list[str]) -> str:
    return f"{len(places)} ({sum(place.startswith(PRODUCT) for place in places)} in the product)"


def _share(count: int, total: int) -> str:
    return f"{100 * count / max(total, 1):.1f} % ({count} of {total})"


def _all_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _returns_tuple(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if the result is a fixed tuple, or one or None."""
    returned = function.returns.left if isinstance(function.returns, ast.BinOp) else function.returns
    return signatures.is_fixed_tuple(returned)


def _public_things(
    product: list[Module],
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for module in product:
        yield module.syntax
        yield from (
            node for node in module.syntax.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )
        yield from (node for _, node in public_functions(module) if not node.name.startswith("__"))


def main() -> None:
    """Print the figures as a Markdown table."""
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else REPOSITORY
    print("| measure | value |\n|---|---|")
    for name, value in measure(SourceTree(folder)).items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
