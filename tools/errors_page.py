"""Writes ``docs/errors.md`` from the classes of errors and their remedies: ``python -m tools.errors_page``."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

from hudi_hive import errors
from hudi_hive.cli.help import remedy_for

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "errors.md"

_HEAD = """# Errors

Made by `python -m tools.errors_page` from `hudi_hive/errors.py`; do not edit. Every error that this package raises on
purpose is a `HudiHiveError`. Its text is one line, `what is wrong [path …] [instant …]; remedy`, and the parts are its
attributes `message`, `path`, `instant` and `remedy`. `hudi-hive` prints that line on standard error and exits 1; where
the place that raised named no remedy it adds the one of the class. `HUDI_HIVE_DEBUG=1` shows the traceback.

Catch a class to catch all that stand below it:

```python
from hudi_hive import HudiHiveError, HudiTable

try:
    HudiTable.open("/lake/nothing_here")
except HudiHiveError as error:
    print(error.message, error.path, error.remedy)
```

"""


def page(*, with_places: bool = False) -> str:
    """The text of the page.

    Args:
        with_places: what the places that raise say, too, as on the site; the file in ``docs`` goes without, since it
            would change with every error that is worded otherwise.
    """
    return "".join([_HEAD, *(_section(kind, with_places=with_places) for kind in classes())])


def classes() -> list[type[errors.HudiHiveError]]:
    """All classes of errors, each behind the class that it derives from."""
    found = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.HudiHiveError)]
    order = {name: number for number, name in enumerate(re.findall(r"^class (\w+)", _source(), re.MULTILINE))}
    by_base: dict[type, list[type[errors.HudiHiveError]]] = {}
    for one in sorted(found, key=lambda kind: order[kind.__name__]):
        by_base.setdefault(one.__base__, []).append(one)
    result: list[type[errors.HudiHiveError]] = []

    def add(kind: type[errors.HudiHiveError]) -> None:
        result.append(kind)
        for below in by_base.get(kind, []):
            add(below)

    add(errors.HudiHiveError)
    return result


def _source() -> str:
    return Path(inspect.getfile(errors)).read_text(encoding="utf-8")


def _section(kind: type[errors.HudiHiveError], *, with_places: bool) -> str:
    depth = len([base for base in kind.__mro__ if issubclass(base, errors.HudiHiveError)])
    lines = [f"{'#' * min(depth + 1, 4)} {kind.__name__}", "", _text(inspect.getdoc(kind) or ""), ""]
    lines += [f"**What to do**: {_text(remedy_for(kind('')))}.", ""]
    own = _remedies().get(kind.__name__, []) if with_places else []
    if own:
        lines += ["Places that raise it say, as it applies:", "", *(f"- {_text(text)}" for text in own), ""]
    return "\n".join(lines) + "\n"


@cache
def _remedies() -> dict[str, list[str]]:
    """The remedies that are spelt out where errors are raised, by class; what is filled in stands as ``…``."""
    remedies: dict[str, set[str]] = {}
    for path in sorted((ROOT / "hudi_hive").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "remedy=" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            texts = [_spelt(word.value) for word in node.keywords if word.arg == "remedy"]
            remedies.setdefault(name, set()).update(text for text in texts if text)
    return {name: sorted(texts) for name, texts in remedies.items()}


def _spelt(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values]
        text = "".join(parts)
        return text if len(re.findall(r"\w{3,}", text)) > 1 else ""
    return ""


def _text(docstring: str) -> str:
    first = " ".join(docstring.split("\n\n")[0].split())
    return first.replace("``", "`").replace("<", "\\<").replace("*", "\\*")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
