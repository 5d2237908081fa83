"""Writes ``ttypes.pyi`` beside generated Thrift structs, so that mypy --strict knows their fields.

Usage: ``python tools/thrift_type_stubs.py hudi_hive/metastore/_thrift``. A field that the IDL marks ``optional`` may be
None; every constructor argument may be left out, as Thrift allows.
"""

from __future__ import annotations

import importlib
import re
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any

from thrift.Thrift import TException, TType

HEADER = '''"""Types of the generated structs; made by tools/thrift_type_stubs.py, do not edit."""

from enum import IntEnum

from thrift.Thrift import TException
'''
SCALARS = {
    TType.BOOL: "bool",
    TType.BYTE: "int",
    TType.I16: "int",
    TType.I32: "int",
    TType.I64: "int",
    TType.DOUBLE: "float",
}


def type_text(kind: int, detail: Any) -> str:  # noqa: ANN401 - shape depends on the kind
    """The Python type of one Thrift type of a generated ``thrift_spec``."""
    if kind == TType.STRING:
        return "bytes" if detail == "BINARY" else "str"
    if kind == TType.STRUCT:
        return str(detail[0].__name__)
    if kind == TType.LIST:
        return f"list[{type_text(detail[0], detail[1])}]"
    if kind == TType.SET:
        return f"set[{type_text(detail[0], detail[1])}]"
    if kind == TType.MAP:
        key = type_text(detail[0], detail[1]).replace("list[", "tuple[").replace("str]", "str, ...]")
        return f"dict[{key}, {type_text(detail[2], detail[3])}]"
    return SCALARS[kind]


def optional_fields(idl: str) -> set[tuple[str, str]]:
    """(struct, field) of all fields that the IDL marks optional."""
    found: set[tuple[str, str]] = set()
    for kind, name, body in re.findall(r"^(struct|union|exception)\s+(\w+)\s*\{(.*?)\}", idl, re.S | re.M):
        for mark, field in re.findall(r"\d+:\s*(optional\s)?.*?(\w+)\s*(?:,\s*(?=\d+:)|$)", body.strip(), re.S):
            if mark or kind == "union":
                found.add((name, field))
    return found


def enum_types(idl: str) -> dict[tuple[str, str], str]:
    """(struct, field) -> enum name: the generated spec calls enums plain integers."""
    enums = re.findall(r"^enum\s+(\w+)", idl, re.M)
    found: dict[tuple[str, str], str] = {}
    for name, body in re.findall(r"^struct\s+(\w+)\s*\{(.*?)\}", idl, re.S | re.M):
        for enum, field in re.findall(rf"\b({'|'.join(enums)})\s+(\w+)", body):
            found[(name, field)] = enum
    return found


def stub_of(cls: type, optional: set[tuple[str, str]], enums: dict[tuple[str, str], str]) -> str:
    """The stub text of one struct or exception."""
    name = cls.__name__
    fields: list[tuple[str, str]] = []
    for entry in cls.thrift_spec:  # type: ignore[attr-defined]
        if entry is not None:
            text = enums.get((name, entry[2])) or type_text(entry[1], entry[3])
            fields.append((entry[2], text))
    base = "(TException)" if issubclass(cls, TException) else ""
    lines = [f"class {name}{base}:"]
    for field, text in fields:
        lines.append(f"    {field}: {text} | None" if (name, field) in optional else f"    {field}: {text}")
    lines.append("    def __init__(")
    lines.append("        self,")
    lines.extend(f"        {field}: {text} | None = ...," for field, text in fields)
    lines.append("    ) -> None: ...")
    return "\n".join(lines)


def main(target: Path) -> None:
    """Write ``ttypes.pyi`` into ``target``."""
    idl = re.sub(r"/\*.*?\*/", "", (target.parent / "hive_metastore.thrift").read_text(), flags=re.S)
    sys.path.insert(0, str(target.parents[2]))
    module = importlib.import_module("hudi_hive.metastore._thrift.ttypes")
    optional, enums = optional_fields(idl), enum_types(idl)
    parts = [HEADER]
    for cls in vars(module).values():
        if isinstance(cls, type) and cls.__module__ == module.__name__:
            if issubclass(cls, IntEnum):
                members = "\n".join(f"    {member.name} = {member.value}" for member in cls)
                parts.append(f"class {cls.__name__}(IntEnum):\n{members}\n")
            else:
                parts.append(stub_of(cls, optional, enums) + "\n")
    (target / "ttypes.pyi").write_text("\n".join(parts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
