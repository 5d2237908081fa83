"""The code blocks of README, docs and docstrings, and the tables that they name: what runs them as they stand.

``/lake`` becomes a folder of the test, ``thrift://…`` a metastore of the test. A name that a block uses without making
it (``table``, ``changes``, ``transaction`` …) is made when the block asks for it, by :class:`Names`.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import MutatorClient
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.write.services import TableServices
from tests.support.metastore.registered import make_table
from tests.support.mutation.acid_definitions import acid_table

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "tutorials")]
"""Pages whose blocks run each by itself; those of a tutorial run one after the other (``tests.support.tutorials``)."""
JVM = {"spark", "hudi_spark", "df", "stream", "EmbeddedMetastore", "ThriftServer"}
"""Names in statements that need a session of Spark or start a JVM."""

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class CodeBlock:
    """One block: where it stands, its language (empty without one) and its text."""

    where: str
    language: str
    text: str

    @property
    def needs_jvm(self) -> bool:
        """True if a statement of the block uses a session of Spark, or starts a JVM."""
        return any(_uses_jvm(statement) for statement in ast.parse(self.text).body)

    def run(self, names: Names, *, jvm: bool) -> int:
        """Run the block, without what needs a JVM where there is none.

        Returns:
            The number of statements that ran.
        """
        text = names.replace(self.text)
        names.update(self._module_names())
        skipped: set[str] = set()
        ran = 0
        for statement in ast.parse(text).body:
            if not jvm and _uses_jvm(statement, skipped):
                skipped |= {node.id for node in ast.walk(statement) if _is_assigned(node)}
                continue
            exec(compile(ast.Module([statement], []), self.where, "exec"), names)
            ran += 1
        return ran

    def _module_names(self) -> dict[str, Any]:
        """The names of the module whose docstring it is."""
        path, _, _ = self.where.partition(":")
        if not path.endswith(".py"):
            return {"__name__": "__main__"}
        module = import_module(path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
        return {"HudiTable": HudiTable, **vars(module)}


def page_blocks(*languages: str) -> list[CodeBlock]:
    """The blocks of README and docs in some languages."""
    blocks = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            if match[1] in languages:
                blocks.append(CodeBlock(f"{page.relative_to(ROOT)}:{line}", match[1], match[2]))
    return blocks


def docstring_blocks() -> list[CodeBlock]:
    """The examples in docstrings of the product: behind ``>>>``, or Python in an indented block after ``::``."""
    blocks = []
    for path in sorted((ROOT / "hudi_hive").rglob("*.py")):
        if "_thrift" in path.parts:
            continue
        source = path.read_text(encoding="utf-8")
        if ">>>" not in source and "::\n\n" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                where = f"{path.relative_to(ROOT)}:{getattr(node, 'name', '')}"
                blocks += [CodeBlock(where, "python", example) for example in _examples(text)]
    return blocks


def _examples(docstring: str) -> Iterator[str]:
    prompted = "".join(example.source for example in doctest.DocTestParser().get_examples(docstring))
    if prompted:
        yield prompted
    for match in re.finditer(r"^ *.*::\n\n((?:(?: {4,}.*)?\n)+)", docstring + "\n", re.MULTILINE):
        literal = inspect.cleandoc(match[1]) + "\n"
        if _is_python(literal):
            yield literal


def _is_python(text: str) -> bool:
    try:
        return any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(text)))
    except SyntaxError:
        return False


def _uses_jvm(statement: ast.stmt, more: Iterable[str] = ()) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return any("spark" in alias.name for alias in statement.names)
    needing = JVM | set(more)
    return any(isinstance(node, ast.Name) and node.id in needing for node in ast.walk(statement))


def _is_assigned(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


class Names(dict[str, Any]):
    """The names of a block: those that it makes, and those of the tables here that it only uses."""

    def __init__(self, folder: Path, uri: str, spark: Any = None) -> None:
        """Take a folder for tables, the URI of a metastore and, if there is one, a session of Spark."""
        super().__init__()
        self.folder, self.uri, self.spark = folder, uri, spark
        self._stack = ExitStack()

    def __missing__(self, name: str) -> Any:
        """Make what a block names and did not make itself."""
        made: Callable[[], Any] | None = getattr(self, f"_make_{name}", None)
        if made is None:
            raise KeyError(name)
        self[name] = made()
        return self[name]

    def replace(self, text: str) -> str:
        """A block's text with paths and addresses of the test, whose tables are made if the text names them."""
        for name in sorted(set(re.findall(r"/lake/(\w+)", text))):
            if name in _TABLES and not (self.folder / name).exists():
                _TABLES[name](self.folder / name)
        if re.search(r"\blake\b[\"'.]", text):
            self._sync_trips()
        if "bank" in text:
            self._make_bank()
        text = re.sub(r"\"/(out|tmp/)", f'"{self.folder}/\\1', text)
        return re.sub(r"thrift://[\w.]+(:\d+)?", self.uri, text.replace("/lake/", f"{self.folder}/"))

    def close(self) -> None:
        """Close what was opened for the block."""
        self._stack.close()

    def path(self, name: str) -> str:
        """The path of a table, which is made first if need be."""
        if not (self.folder / name).exists():
            _TABLES[name](self.folder / name)
        return str(self.folder / name)

    def _sync_trips(self) -> None:
        config = HiveSyncConfig(base_path=self.path("trips"), database="lake", table="trips", metastore_uris=self.uri)
        HiveSyncTool(config).sync()

    def _make_bank(self) -> None:
        if (self.folder / "bank").exists():
            return
        location = self.folder / "bank" / "accounts"
        columns = [("id", "bigint"), ("amount", "bigint")]
        made = acid_table(
            f"file:{location}", columns, [("country", "string")], database="bank", name="accounts", buckets=1
        )
        with HiveMetastore(self.uri) as metastore:
            if "bank" not in metastore.databases():
                metastore.create_database("bank", location=f"file:{self.folder}/bank")
            if "accounts" in metastore.tables("bank"):
                metastore.drop_table("bank", "accounts")
            TransactionClient(metastore).create_table(made)
        client = MutatorClient(self.uri, sinks=["bank.accounts"], create_partitions=True)
        with client, client.new_transaction() as transaction:
            coordinator = transaction.coordinator("bank", "accounts")
            for number, country in ((1, "nl"), (3, "nl"), (2, "de")):
                coordinator.insert([country], {"id": number, "amount": -number})

    def _make_table(self) -> HudiTable:
        return HudiTable.open(self.path("trips"))

    def _make_config(self) -> HiveSyncConfig:
        return HiveSyncConfig(base_path=self.path("trips"), database="lake", table="trips", metastore_uris=self.uri)

    def _make_connector(self) -> HudiConnector:
        return self._stack.enter_context(HudiConnector(self.uri))

    def _make_trips(self) -> Any:
        self._sync_trips()
        return self["connector"].metadata.table("lake", "trips")

    def _make_changes(self) -> Any:
        rows = {"id": [1, 2, 9], "country": ["nl", "de", "nl"], "amount": [10, 20, 90]}
        gone = [False, True, False]
        return self.spark.createDataFrame(_rows(rows | {"gone": gone})) if self.spark else pa.table(rows)

    def _make_transaction(self) -> Any:
        self._make_bank()
        client = self._stack.enter_context(MutatorClient(self.uri, sinks=["bank.accounts"], create_partitions=True))
        return self._stack.enter_context(client.new_transaction())

    def _make_row_id(self) -> dict[str, int]:
        return self._row_ids()[1]

    def _make_other_row_id(self) -> dict[str, int]:
        return self._row_ids()[3]

    def _row_ids(self) -> dict[int, dict[str, int]]:
        rows = self["transaction"].reader("bank", "accounts").read(with_row_id=True).to_pylist()
        return {row["id"]: row["ROW__ID"] for row in rows}

    def _make_arrow_table(self) -> pa.Table:
        return pa.table({"id": [11, 12], "amount": [1, 2]})

    def _make_spark(self) -> Any:
        return self.spark

    def _make_df(self) -> Any:
        rows = {"id": ["a", "b"], "city": ["sf", "rio"], "country": ["nl", "de"], "fare": [1.5, 2.5], "ts": [1, 1]}
        return self.spark.createDataFrame(_rows(rows))


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return pa.table(columns).to_pylist()


def _trips(path: Path) -> None:
    driver = {"type": "record", "name": "driver", "fields": [{"name": "name", "type": "string"}]}
    columns = {"id": "string", "rider": "string", "driver": driver, "seats": "int", "legacy": "string"}
    row = {"rider": "r", "driver": {"name": "d"}, "seats": 1, "legacy": "", "ts": 1}
    make_table(
        path,
        columns | {"fare": "double", "city": "string", "ts": "long"},
        [row | {"id": "a", "fare": 12.5, "city": "sf"}, row | {"id": "b", "fare": 8.0, "city": "rio"}],
        lambda each: each["city"],
        hoodie__table__partition__fields="city",
        hoodie__table__ordering__fields="ts",
    )


def _drivers(path: Path) -> None:
    table = HudiTable.create(
        path, name="drivers", record_keys=["id"], partition_fields=["city"], hive_style_partitioning=True
    )
    table.insert(pa.table({"id": ["a"], "city": ["sf"]}))


def _events(path: Path) -> None:
    table = HudiTable.create(
        path, name="events", table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"]
    )
    for time in (1, 2):
        table.upsert(pa.table({"id": ["a"], "ts": [time]}))


def _visits(path: Path) -> None:
    fields = [{"name": name, "type": kind} for name, kind in (("id", "string"), ("pages", "long"), ("ts", "long"))]
    schema = {"type": "record", "name": "visits", "fields": fields}
    table = HudiTable.create(path, name="visits", record_keys=["id"], ordering_fields=["ts"], create_schema=schema)
    table.insert(pa.table({"id": ["a"], "pages": [3], "ts": [1]}))


def _accounts(path: Path) -> None:
    table = HudiTable.create(
        path, name="accounts", record_keys=["id"], partition_fields=["country"], ordering_fields=["ts"]
    )
    rows = {"id": [1, 2], "ts": [1, 1], "amount": [1, 2], "country": ["de", "fr"]}
    table.insert(pa.table(rows))


def _buckets(path: Path) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "8"}
    table = HudiTable.create(
        path, name="buckets", record_keys=["id"], partition_fields=["month"], ordering_fields=["ts"]
    )
    table.upsert(pa.table({"id": ["a", "b"], "ts": [1, 1], "month": ["2024-11", "2025-11"]}), options)
    TableServices.open(table.refresh().client, options).rescale_buckets("2023,4", 8)


def _raw(path: Path) -> None:
    path.mkdir()
    pq.write_table(pa.table({"id": ["a"]}), path / "part-0.parquet")


_TABLES: dict[str, Callable[[Path], None]] = {
    "trips": _trips,
    "riders": _trips,
    "drivers": _drivers,
    "events": _events,
    "visits": _visits,
    "accounts": _accounts,
    "buckets": _buckets,
    "raw": _raw,
}
