"""Writes ``hudi_hive/options/typed/__init__.pyi``, the options for type checkers: ``python -m tools.option_types``."""

from __future__ import annotations

from pathlib import Path

from hudi_hive.options import ReadOptions, WriteOptions

STUB = Path(__file__).parent.parent / "hudi_hive" / "options" / "typed" / "__init__.pyi"

_HEAD = """# Made by `python -m tools.option_types` from the declarations of options; do not edit.
from collections.abc import Iterator
from typing import TypedDict

from hudi_hive.options.declaration import Face

def typed_names(*faces: Face) -> Iterator[str]: ...
"""


def stub() -> str:
    """The text of the stub."""
    parts = [_HEAD]
    for kind in (ReadOptions, WriteOptions):
        names = sorted(kind.__annotations__)
        fields = "".join(f'        "{name}": str | bool | float,\n' for name in names)
        parts.append(
            f'{kind.__name__} = TypedDict(\n    "{kind.__name__}",\n    {{\n{fields}    }},\n    total=False,\n)\n'
        )
    return "\n".join(parts)


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
