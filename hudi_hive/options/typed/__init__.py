"""Options as typed dictionaries, so that type checkers find names that are misspelt.

The names are those of the declarations; for type checkers they are spelt out in ``__init__.pyi``, which
``python -m tools.option_types`` writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

from hudi_hive.options.declaration import Face, Outcome
from hudi_hive.options.registry import ALL_OPTIONS


def typed_names(*faces: Face) -> Iterator[str]:
    """Names, former ones too, of the options that any of some faces takes, but for those of stores alone."""
    for option in ALL_OPTIONS:
        taken = any(face in option.faces and option.outcome(face) is not Outcome.REFUSED for face in faces)
        if taken and option.pattern is None:
            yield from (name for name in (option.name, *option.aliases) if "." in name)


WriteOptions = TypedDict(  # type: ignore[misc]
    "WriteOptions", dict.fromkeys(typed_names(Face.WRITE, Face.SYNC, Face.LOCK), Any), total=False
)
"""Options of a write, of its lock and of the sync behind it."""
ReadOptions = TypedDict("ReadOptions", dict.fromkeys(typed_names(Face.READ), Any), total=False)  # type: ignore[misc]
"""Options of a read."""
