"""The corpus of SQL statements that write: its groups, their answers in a session, and what they leave on disk.

A file of ``integration/data/spark_writes`` is a topic; in it, ``-- group: NAME`` begins statements on tables of their
own, separated by ``;;``. In a file that begins with ``-- both types`` a group whose name ends in ``(cow)`` or ``(mor)``
is there for the other type of table as well.
``${folder}`` is the group's folder, ``${completed:TABLE:N}`` when the Nth write of a table there was completed, and
``${requested:TABLE:N}`` when it was requested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data" / "spark_writes"

Answer = dict[str, Any]
"""``fails`` with the first line of the error; of queries ``columns`` and ``rows``; nothing of other statements."""

_KINDS = {"(cow)": "(mor)", "(mor)": "(cow)"}
_TYPE = re.compile(r"(\btype'?\s*=\s*')(cow|mor)'", re.IGNORECASE)
_PROPERTIES = re.compile(r"\b(TBLPROPERTIES|OPTIONS)\s*\(", re.IGNORECASE)
_MOMENT = re.compile(r"\$\{(completed|requested):(\w+):(\d+)\}")
_TIMES = re.compile(r"\b20\d{12,15}\b")
_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-\d+)?(_[\d-]+)?")
_PREPARED = "_PREPPED"
"""Ends the operation of writes whose records Hudi located by their meta columns; the operation is the same."""
_DEFAULTS = {
    "hoodie.table.partition.fields": "",
    "hoodie.table.base.file.format": "PARQUET",
    "hoodie.table.cdc.enabled": "false",
    "hoodie.populate.meta.fields": "true",
}
"""Properties that say nothing where they have these values."""
_WRITES = {"commit", "deltacommit", "replacecommit"}
_PROPERTY_NAMES = (
    "hoodie.table.type",
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
    "hoodie.table.precombine.field",
    "hoodie.table.keygenerator.type",
    "hoodie.record.merge.mode",
    "hoodie.table.base.file.format",
    "hoodie.table.cdc.enabled",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.datasource.write.drop.partition.columns",
    "hoodie.populate.meta.fields",
)


# -- the script ----------------------------------------------------------------------------------------------------


def topics() -> dict[str, list[str]]:
    """Topic to the names of its groups, each for both types of tables where its name has one."""
    return {file.stem: list(_groups_of(file)) for file in sorted(DATA.glob("*.sql"))}


def groups() -> dict[str, list[str]]:
    """Group to its statements."""
    found: dict[str, list[str]] = {}
    databases: set[str] = set()
    for file in sorted(DATA.glob("*.sql")):
        for name, statements in _groups_of(file).items():
            assert slug(name) not in databases, name  # as runs of several topics make one database for each group
            databases.add(slug(name))
            found[name] = statements
    return found


def _groups_of(file: Path) -> dict[str, list[str]]:
    written: dict[str, list[str]] = {}
    head, *parts = file.read_text().split("-- group: ")
    for part in parts:
        name, _, body = part.partition("\n")
        body = "\n".join(line for line in body.splitlines() if not line.startswith("--"))
        assert name not in written, name
        written[name] = [text.strip() for text in body.split(";;") if text.strip()]
    found = {}
    for name, statements in written.items():
        found[name] = statements
        ending = name[-5:]
        twin = name.removesuffix(ending) + _KINDS.get(ending, "")
        if head.startswith("-- both types") and ending in _KINDS and twin not in written:
            found[twin] = [_of_other_type(text, _KINDS[ending][1:4]) for text in statements]
    return found


def _of_other_type(text: str, kind: str) -> str:
    """A statement for tables of another type: that of a CREATE TABLE that names one, or could."""
    swapped, count = _TYPE.subn(lambda match: f"{match[1]}{'mor' if match[2].lower() == 'cow' else 'cow'}'", text)
    if count or not re.match(r"CREATE\b.*?\bTABLE\b.*\bUSING\s+hudi\b", text, re.IGNORECASE | re.DOTALL):
        return swapped
    if _PROPERTIES.search(text):
        return _PROPERTIES.sub(lambda match: f"{match[0]}type = '{kind}', ", text, count=1)
    head, using, rest = re.split(r"(\bUSING\s+hudi\b)", text, maxsplit=1, flags=re.IGNORECASE)
    if re.search(r"\bLOCATION\b", rest, re.IGNORECASE):
        return text  # over a folder that may have a table
    return f"{head}{using} TBLPROPERTIES (type = '{kind}'){rest}"


def recorded() -> dict[str, Answer]:
    """Group to what real Hudi did: ``answers`` by statement and ``tables``, what it left."""
    found: dict[str, Answer] = {}
    for file in sorted(DATA.glob("*.answers.json")):
        found |= json.loads(file.read_text())
    return found


def record(answers: dict[str, Answer]) -> None:
    """Keep what real Hudi did; of groups that were not run the old answers stay."""
    known = recorded() | answers
    for topic, names in topics().items():
        kept = [name for name in names if name in known]
        lines = [f" {json.dumps(name)}: {_lines(known[name])}" for name in kept]
        (DATA / f"{topic}.answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _lines(answer: Answer) -> str:
    items = ",\n   ".join(json.dumps(item, ensure_ascii=False) for item in answer["answers"])
    return f'{{\n  "answers": [\n   {items}],\n  "tables": {json.dumps(answer["tables"], sort_keys=True)}}}'


def reasons() -> dict[str, str]:
    """Statements, as ``group: number``, and tables, as ``group: name``, that differ, with the reason.

    ``version 6: `` before one says that tables of that version alone differ, ``continued: `` that real Hudi does when
    it goes on with a table, by its path.
    """
    found: dict[str, str] = json.loads((DATA / "differences.json").read_text())
    return found


# -- answers ---------------------------------------------------------------------------------------------------------


def run_group(spark: Any, name: str, statements: list[str], folder: Path, settings: dict[str, str]) -> list[Answer]:
    """Run a group in a database and a folder of its own; both stay.

    Args:
        spark: the session.
        name, statements: the group.
        folder: holds all groups.
        settings: set before the group.
    """
    own = folder / slug(name)
    database = slug(name)
    spark.sql(f"CREATE DATABASE {database} LOCATION '{own}'")
    spark.sql(f"USE {database}")
    for key, text in settings.items():
        spark.sql(f"SET {key}={text}")
    try:
        return answers_of(spark, statements, own)
    finally:
        spark.sql("RESET")
        spark.sql("USE default")


def slug(name: str) -> str:
    """A name of a database and of a folder."""
    return re.sub(r"\W+", "_", name).strip("_").lower()


def answers_of(spark: Any, statements: list[str], folder: Path) -> list[Answer]:
    """The answer to each statement of a group."""
    answers = []
    for text in statements:
        try:
            answers.append(_answer(spark, _MOMENT.sub(lambda match: _moment(folder, match), text), folder))
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            answers.append({"fails": lines[0].replace(str(folder), "")[:160]})
    return answers


def _answer(spark: Any, text: str, folder: Path) -> Answer:
    frame = spark.sql(text.replace("${folder}", str(folder)))
    rows = frame.collect()
    word = text.split(None, 1)[0].upper().lstrip("(")
    if word == "CALL":
        return {"columns": list(frame.columns)}
    if word in ("DESC", "DESCRIBE"):
        own = [tuple(row) for row in rows]
        ends = [at for at, row in enumerate(own) if not row[0]]
        return {"rows": [repr(row[:2]) for row in own[: ends[0] if ends else None]]}
    if word not in ("SELECT", "WITH", "FROM", "SHOW", "VALUES", "TABLE"):
        return {}
    columns = [f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields]
    return {"columns": columns, "rows": sorted(_masked(repr(tuple(row))) for row in rows)}


def _masked(text: str) -> str:
    """Without what is another one in each run: times of commits and names of files."""
    return _IDS.sub("<id>", _TIMES.sub("<time>", text))


def _moment(folder: Path, match: re.Match[str]) -> str:
    """When a write was completed, or requested; in tables of version 6, when it was requested."""
    table = next(path.parent for path in folder.glob(f"**/{match[2]}/.hoodie") if path.is_dir())
    files = [path.name for place in ("timeline", ".") for path in (table / ".hoodie" / place).glob("*commit")]
    times = sorted(tuple(name.split(".")[0].split("_")) for name in files if name.rpartition(".")[2] in _WRITES)
    return times[int(match[3]) - 1][-1 if match[1] == "completed" else 0]


# -- what stays on disk ----------------------------------------------------------------------------------------------


def tables_in(folder: Path) -> Iterator[Path]:
    """Base paths of the tables below a folder."""
    for properties in sorted(folder.glob("**/.hoodie/hoodie.properties")):
        if ".hoodie" not in properties.parents[1].relative_to(folder).parts:
            yield properties.parents[1]


def left_in(folder: Path) -> dict[str, Answer]:
    """Table to its completed writes, as action and operation in their order, and to some of its properties."""
    from hudi_hive.table import MetaClient

    found = {}
    for path in tables_in(folder):
        client = MetaClient.load(str(path))
        writes = client.timeline.write_instants()
        commits = [(one.action, client.timeline.commit_metadata(one).operation) for one in writes]
        actions = [[action, operation.removesuffix(_PREPARED)] for action, operation in commits]
        lines = (path / ".hoodie" / "hoodie.properties").read_text().splitlines()
        texts = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        texts = {name.replace("hoodie.table.ordering.fields", _PROPERTY_NAMES[3]): text for name, text in texts.items()}
        properties = {
            name: texts[name] for name in _PROPERTY_NAMES if name in texts and texts[name] != _DEFAULTS.get(name)
        }
        found[str(path.relative_to(folder))] = {"writes": actions, "properties": properties}
    return found


def differences(group: str, ours: list[Answer], theirs: list[Answer], version: str | None = None) -> list[str]:
    """Answers that differ without a reason, and reasons without a difference; two failures are the same.

    Args:
        group: its name.
        ours, theirs: by statement.
        version: of our tables, if it is another than that of the recorded ones; then a reason may have no difference.
    """
    statements, known = groups()[group], reasons()
    found = []
    for number, (text, one, other) in enumerate(zip(statements, ours, theirs, strict=True), 1):
        is_same, explained = same(one, other), has_reason(group, number, known, version)
        if is_same == explained and not (is_same and version):
            found.append(f"{group}: {number}: {text}\n  ours   {one}\n  theirs {other}")
    return found


def has_reason(group: str, number: int, explained: Mapping[str, str], version: str | None = None) -> bool:
    """Whether there is a reason for a statement to differ, in all tables or in those of a version."""
    place = f"{group}: {number}"
    return place in explained or f"version {version}: {place}" in explained


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same."""
    return "fails" in one if "fails" in other else one == other


def table_differences(group: str, ours: dict[str, Answer], theirs: dict[str, Answer]) -> list[str]:
    """Tables whose writes or properties differ without a reason, and reasons without a difference."""
    known = reasons()
    found = []
    for name in sorted(set(ours) | set(theirs)):
        one, other = ours.get(name, {}), theirs.get(name, {})
        if (one == other) == (f"{group}: {name}" in known):
            found.append(f"{group}: {name}\n  ours   {one}\n  theirs {other}")
    return found
