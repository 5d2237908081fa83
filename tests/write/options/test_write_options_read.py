"""An option that is accepted and that no code reads would be ignored in silence: the package's source is searched."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest

import hudi_hive
from hudi_hive.write.files.context import FileStyle
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.options.config import _GROUPS, WriteConfig
from hudi_hive.write.options.settings import FileSettings
from hudi_hive.write.options.unsupported_options import ENGINE_ONLY, PASSED_ON, REFUSED, TIME_FORMATS

BY_NAME = {part.__name__: part for part in (*_GROUPS, FileStyle, IndexOptions)}
ANNOTATED = BY_NAME | {"SizeSettings": FileSettings}  # the part of them that sizes files
PACKAGE = Path(hudi_hive.__file__).parent
WRITERS = ("write", "metadata", "metastore", "table", "timeline", "formats", "spark")
PROPERTIES = {"hoodie.table.multiple.base.file.formats.enable", "hoodie.partition.metafile.use.base.format"}
NAMERS = ("settings.py", "table_settings.py", "unsupported_options.py", "config.py")  # of write/options: they only name
PARTS = {item.name: BY_NAME[item.type] for item in dataclasses.fields(WriteConfig) if item.type in BY_NAME}


def modules():
    """Source of the code that writes, without that which only names options."""
    found = [path for name in WRITERS for path in (PACKAGE / name).rglob("*.py") if "_thrift" not in path.parts]
    return {path: ast.parse(path.read_text()) for path in found}


TREES = modules()
CONSTANTS = {
    path: {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for path, tree in TREES.items()
    if path.parent.name != "options" or path.name not in NAMERS
}
TEXTS = frozenset().union(*CONSTANTS.values())


def part_of(node, names):
    """The group of settings that an expression stands for: ``….config.clean``, ``job.files``, or a name that has it."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Call) and (made := re.match(r"(?:fill\()?(\w+)(?:\.of\(|,)", ast.unparse(node))):
        return BY_NAME.get(made[1])
    if not isinstance(node, ast.Attribute):
        return None
    text = ast.unparse(node.value)
    if "WriteConfig" in names and text == "self":
        return PARTS.get(node.attr)
    if node.attr == "files" and re.search(r"(^|[._])job$", text):
        return FileStyle
    if re.search(r"(^|[._])config$", text) or "WriteConfig.of(" in text:
        return PARTS.get(node.attr)
    return IndexOptions if f"{text}.{node.attr}" == "self.options" and "self.options" in names else None


def assigned(target, value):
    """(name, value) pairs of an assignment, one for each element where both sides have as many."""
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)):
        return [(target, value)]
    return list(zip(target.elts, value.elts, strict=True))


def reads_of(function, names):
    """(group, field) pairs that a function reads."""
    names = dict(names)
    for argument in (*function.args.args, *function.args.kwonlyargs):
        if argument.annotation is not None and (part := ANNOTATED.get(ast.unparse(argument.annotation))) is not None:
            names[argument.arg] = part
    for node in (node for node in ast.walk(function) if isinstance(node, ast.Assign)):
        for target, value in assigned(node.targets[0], node.value):
            if isinstance(target, ast.Name) and (part := part_of(value, names)) is not None:
                names[target.id] = part
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            part = part_of(node.value, names)
            if part is not None:
                yield part, node.attr


def all_reads():
    """(group, field) of everything that is read, through properties of the groups too."""
    found, within = set(), {}
    for path, tree in TREES.items():
        index = {"self.options": IndexOptions} if path.parent.name == "index" else {}
        for owner in ast.walk(tree):
            group = BY_NAME.get(owner.name) if isinstance(owner, ast.ClassDef) else None
            for method in owner.body if isinstance(owner, (ast.ClassDef, ast.Module)) else []:
                if not isinstance(method, ast.FunctionDef):
                    continue
                if path.name == "config.py" and path.parent.name == "options":  # what it checks it does not do
                    found |= set(reads_of(method, {"WriteConfig": None})) if owner is not tree else set()
                elif group is not None and method.args.args[0].arg == "self":
                    within[group, method.name] = set(reads_of(method, {"self": group}))
                else:
                    found |= set(reads_of(method, index))
    while (more := found | {read for key in found if key in within for read in within[key]}) != found:
        found = more
    return found


READS = all_reads()
FIELDS = [(part, item) for part in BY_NAME.values() for item in dataclasses.fields(part)]


@pytest.mark.parametrize(("part", "item"), FIELDS, ids=lambda one: getattr(one, "name", getattr(one, "__name__", "")))
def test_what_is_set_is_read(part, item):
    names = [item.metadata["key"], *item.metadata["aliases"]] if "key" in item.metadata else []
    assert (part, item.name) in READS or TEXTS & set(names), f"nothing reads {part.__name__}.{item.name} {names}"


@pytest.mark.parametrize("name", sorted(PASSED_ON))
def test_what_is_handed_on_is_read(name):
    for start in TIME_FORMATS:
        if name.startswith(start):
            assert start in TEXTS
            name = name.removeprefix(start)
    assert any(name in (text, f"hoodie.record.merge.property.{text}") for text in TEXTS)


@pytest.mark.parametrize("name", sorted({*ENGINE_ONLY, *REFUSED} - PROPERTIES))
def test_what_is_said_to_have_no_effect_is_read_nowhere(name):
    found = [
        path for path, texts in CONSTANTS.items() if name in texts and path.relative_to(PACKAGE).parts[0] != "table"
    ]
    assert not found
