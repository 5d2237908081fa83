"""The repository's own checks: each is shown to find what it is for in a small tree, and to let the good one pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.checks import architecture, arrow_stubs, dead, imports, literals, names, report, rooms, signatures, words
from tools.checks.tree import Finding, SourceTree

FACE = {
    "hudi_hive/__init__.py": "",
    "hudi_hive/table/__init__.py": "from hudi_hive.table.names import base\n__all__ = ['kinds']",
}


def make_tree(folder: Path, files: dict[str, str]) -> SourceTree:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return SourceTree(folder)


def subjects(check, folder: Path, files: dict[str, str]) -> set[tuple[str, str]]:
    return {(finding.path, finding.subject) for finding in check.find(make_tree(folder, files))}


def product(folder: Path, check, text: str) -> set[str]:
    """The subjects that a check finds in one module of the product."""
    return {subject for _, subject in subjects(check, folder, {"hudi_hive/one.py": text})}


@pytest.mark.parametrize(
    "back",
    [
        "import hudi_hive.one",
        "from hudi_hive import one",
        "from hudi_hive.one import f",
        "from .one import f",
        "def later():\n    from hudi_hive.one import f",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hudi_hive.one import F",
        "from importlib import import_module\nimport_module('hudi_hive.one')",
    ],
)
def test_imports_make_no_circle_lazy_and_type_only_ones_counted(tmp_path, back):
    found = subjects(imports, tmp_path, {"hudi_hive/one.py": "import hudi_hive.two", "hudi_hive/two.py": back})
    assert ("hudi_hive/one.py", "circle:hudi_hive.one|hudi_hive.two") in found


def test_circle_through_a_face(tmp_path):
    names_module = {
        "hudi_hive/table/names.py": "from hudi_hive.view import f",
        "hudi_hive/view.py": "import hudi_hive.table",
    }
    (circle,) = [subject for _, subject in subjects(imports, tmp_path, FACE | names_module) if "circle" in subject]
    assert circle == "circle:hudi_hive.table|hudi_hive.table.names|hudi_hive.view"


def test_two_circles_are_two_findings(tmp_path):
    chain = {"a": "b", "b": "a", "c": "d", "d": "e", "e": "c", "f": "a"}
    tree = make_tree(tmp_path, {f"tests/{one}.py": f"import tests.{other}" for one, other in chain.items()})
    groups = imports.circles(tree, list(imports.all_imports(tree)))
    assert groups == [["tests.c", "tests.d", "tests.e"], ["tests.a", "tests.b"]]


PAST_FACE = "from hudi_hive.table.names import base"


@pytest.mark.parametrize(
    ("importer", "text", "past"),
    [
        ("hudi_hive/plan.py", PAST_FACE, True),
        ("hudi_hive/plan.py", "from hudi_hive.table import names", True),
        ("hudi_hive/plan.py", "from hudi_hive.table import base", False),
        ("hudi_hive/plan.py", "from hudi_hive.table import kinds", False),
        ("hudi_hive/plan.py", "from hudi_hive.table.view import V", False),
        ("hudi_hive/plan.py", "from hudi_hive.table.view.slices import V", True),
        ("hudi_hive/table/keys.py", PAST_FACE, False),
        ("hudi_hive/table/keys.py", "from hudi_hive.table.view.slices import V", True),
        ("hudi_hive/table/view/slices.py", PAST_FACE, False),
        ("tests/table/test_names.py", PAST_FACE, False),
        ("tests/table/view/test_slices.py", "from hudi_hive.table.view.slices import V", False),
        ("tests/plan/test_plan.py", PAST_FACE, True),
        ("tests/test_plan.py", PAST_FACE, True),
        ("integration/table/test_names.py", PAST_FACE, False),
        ("tests/support/table/name_tests.py", PAST_FACE, False),
        ("tests/support/names.py", PAST_FACE, True),
        ("benchmarks/scan.py", PAST_FACE, True),
        ("integration/test_all.py", "from hudi_hive.errors import HudiHiveError", False),
        ("integration/test_all.py", "from hudi_hive.table._thrift import calls", True),
        ("hudi_hive/table/keys.py", "from hudi_hive.table._thrift.calls import C", False),
    ],
)
def test_names_of_other_packages_are_imported_from_their_faces(tmp_path, importer, text, past):
    files = FACE | {
        "hudi_hive/errors.py": "",
        "hudi_hive/table/names.py": "",
        "hudi_hive/table/kinds.py": "",
        "hudi_hive/table/view/__init__.py": "",
        "hudi_hive/table/_thrift/__init__.py": "",
        "hudi_hive/table/_thrift/calls.py": "",
    }
    files |= {"hudi_hive/table/view/slices.py": ""} | {importer: text}
    found = {finding for finding in imports.find(make_tree(tmp_path, files)) if "past the face" in finding.message}
    assert {finding.path for finding in found} == ({importer} if past else set())


def test_modules_do_not_import_the_face_of_their_own_package(tmp_path):
    files = FACE | {"hudi_hive/table/names.py": "", "hudi_hive/table/keys.py": "from hudi_hive.table import base"}
    assert ("hudi_hive/table/keys.py", "hudi_hive.table") in subjects(imports, tmp_path, files)


@pytest.mark.parametrize(
    ("importer", "target"),
    [("integration", "benchmarks"), ("benchmarks", "integration"), ("hudi_hive", "tests"), ("hudi_hive", "tools")],
)
def test_roots_that_stay_apart(tmp_path, importer, target):
    files = {f"{importer}/one.py": f"from {target}.two import f", f"{target}/two.py": ""}
    assert subjects(imports, tmp_path, files) == {(f"{importer}/one.py", f"{target}.two")}


def test_modules_functions_and_packages_have_a_largest_size(tmp_path):
    long_function = "def long():\n" + '    """Text.\n' + "\n" * 60 + '    """\n' + "    pass\n" * 50
    files = {
        "tests/long.py": "\n" * 501,
        "tests/fits.py": "\n" * 500,
        "hudi_hive/function.py": long_function,
        "hudi_hive/function_that_fits.py": long_function.replace("    pass\n", "", 1),
        "hudi_hive/full/__init__.py": "",
        "hudi_hive/room/__init__.py": "",
    }
    files |= {f"hudi_hive/full/m{number}.py": "" for number in range(16)}
    files |= {f"hudi_hive/room/m{number}.py": "" for number in range(15)} | {"hudi_hive/room/inner/__init__.py": ""}
    assert subjects(rooms, tmp_path, files) == {
        ("tests/long.py", "module"),
        ("hudi_hive/function.py", "long"),
        ("hudi_hive/full/__init__.py", "package"),
    }


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("def found_files(): ...", "function found_files"),
        ("def read(wanted): ...", "parameter wanted"),
        ("def read(*, known_files=()): ...", "parameter known_files"),
        ("class KeptListings: ...", "class KeptListings"),
        ("class C:\n    told: int", "attribute told"),
        ("class C:\n    def f(self):\n        self._asked = 1", "attribute _asked"),
        ("class Located: ...", "class Located"),
        ("GHOSTS = 1", "constant GHOSTS"),
        ("import pyarrow as pa\nS = pa.schema([('known', pa.int64())])", "column known"),
        ("import pyarrow as pa\nS = pa.field('given', pa.int64())", "column given"),
        ("import pyarrow as pa\nT = pa.table({'live': []})", "column live"),
        ("def f():\n    found = 1\n" + "    g()\n" * 5 + "    return found", "local found"),
    ],
)
def test_identifiers_with_banned_words_are_findings(tmp_path, text, subject):
    assert product(tmp_path, words, text) == {subject}


@pytest.mark.parametrize(
    "text",
    [
        "class PathNotFoundError: ...",
        "def unknown_columns(): ...",
        "def consume(): ...",
        "def relive(): ...",
        "LOCATED_AT = 1",
        "def f():\n    found = 1\n    return found",
        "NAMES = {'found': 1}",
    ],
)
def test_word_that_may_stay(tmp_path, text):
    assert product(tmp_path, words, text) == set()


def test_word_in_the_name_of_a_module(tmp_path):
    assert subjects(words, tmp_path, {"hudi_hive/plan/wanted.py": ""}) == {
        ("hudi_hive/plan/wanted.py", "module wanted")
    }


def test_sentences_of_tests_may_have_any_word(tmp_path):
    files = {"tests/test_one.py": "def test_found(): ...\ndef found(): ..."}
    assert subjects(words, tmp_path, files) == {("tests/test_one.py", "function found")}


def test_a_class_name_is_used_once_and_a_function_name_seldom(tmp_path):
    files = {f"hudi_hive/m{number}.py": "class _Own: ...\ndef same(): ...\ndef _key(): ..." for number in range(4)}
    files |= {f"hudi_hive/n{number}.py": "class Executor: ...\ndef fewer(): ..." for number in range(2)}
    assert {subject for _, subject in subjects(names, tmp_path, files)} == {"class Executor", "function same"}


@pytest.mark.parametrize("text", ["'hoodie.table.name'", "'_hoodie_record_key'", "f'hoodie.metadata.{x}'", "'hoodie.'"])
def test_names_of_options_are_spelt_out_where_they_are_declared_alone(tmp_path, text):
    assert len(product(tmp_path, literals, f"x = 1\nN = {text}")) == 1


@pytest.mark.parametrize("text", ["'set hoodie.table.name to it'", "'.hoodie'", "'hoodie.properties'", "'hoodiex'"])
def test_text_that_is_no_name_of_an_option(tmp_path, text):
    assert product(tmp_path, literals, f"N = {text}") == set()


def test_literal_in_a_docstring(tmp_path):
    assert product(tmp_path, literals, "def f():\n    'hoodie.table.name'") == set()


def test_literal_that_is_declared_twice(tmp_path):
    files = {f"hudi_hive/{name}/__init__.py": "N = 'hoodie.table.name'" for name in ("names", "options", "table")}
    assert subjects(literals, tmp_path, files) == {
        ("hudi_hive/options/__init__.py", "hoodie.table.name"),
        ("hudi_hive/table/__init__.py", "hoodie.table.name"),
    }


NINE = ", ".join("abcdefghi")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        (f"def f({NINE}): ...", "parameters f"),
        (f"class C:\n    def f(self, *, {NINE}): ...", "parameters C.f"),
        ("def f() -> tuple[int, int, int]: ...", "tuple f"),
        ("def f() -> list[tuple[int, int, int]] | None: ...", "tuple f"),
        ("def f() -> 'tuple[int, int, int]': ...", "tuple f"),
        ("from hudi_hive.two import _own", "private _own"),
        ("def f(x): return x._own", "private _own"),
        ("from hudi_hive.two import B\nclass C(B):\n    def f(self): return self._own", "private _own"),
    ],
)
def test_signatures_have_few_parameters_short_tuples_and_no_private_names(tmp_path, text, subject):
    assert product(tmp_path, signatures, text) == {subject}


@pytest.mark.parametrize(
    "text",
    [
        f"def _f({NINE}): ...",
        f"class C:\n    def f(self, {NINE[:-3]}): ...",
        "def f() -> tuple[int, ...]: ...",
        "def f() -> tuple[int, int]: ...",
        "class C:\n    def __getstate__(self) -> tuple[int, int, int]: ...",
        "class C:\n    def readMessageBegin(self) -> tuple[int, int, int]: ...",
        "def _own(): ...\ndef f(x): return x._own",
        "class C:\n    def g(self): self._own = 1\n    def f(self): return self._own",
        "def f(row): return row._replace(x=1)",
    ],
)
def test_signature_that_is_well(tmp_path, text):
    assert product(tmp_path, signatures, text) == set()


def test_public_names_are_used_by_more_than_tests(tmp_path):
    files = {
        "hudi_hive/__init__.py": "from hudi_hive.one import exported, used\n__all__ = ['exported', 'used']",
        "hudi_hive/one.py": (
            "def exported(): ...\ndef used(): ...\ndef shown(): ...\ndef from_java(): ...\ndef by_name(): ...\n"
            "class C:\n    def method(self): ...\n    @property\n    def size(self): ...\nLIMIT = 1\n"
            "@app.command()\ndef run(): ...\nclass Handler(Base):\n    def emit(self): ...\n"
        ),
        "hudi_hive/two.py": "used()\nC\nHandler\nHOME = 'hudi_hive.one:by_name'\nHOME",
        "hudi_hive/Call.java": "from_java();",
        "README.md": "exported is no code\n```python\nshown()\n```\n",
        "tests/test_one.py": "exported()\nC().method()",
    }
    assert {s for _, s in subjects(dead, tmp_path, files)} == {"exported", "C.method", "C.size", "LIMIT"}


ALLOWED = {("words", "hudi_hive/a.py", "local found")}


def test_allowed_findings_are_silent_and_new_ones_are_not():
    old, new = Finding("hudi_hive/a.py", 3, "local found", "old"), Finding("hudi_hive/a.py", 9, "local told", "new")
    assert report.complaints("words", [old, new], ALLOWED) == ["hudi_hive/a.py:9: new"]


def test_an_allowed_finding_that_is_gone_is_taken_off_the_list():
    (line,) = report.complaints("words", [], ALLOWED)
    assert "local found is mended" in line
    assert report.complaints("rooms", [], ALLOWED) == []


def test_list_of_allowed_findings_is_read_as_written(tmp_path):
    report.write_allowed(tmp_path / "allowed.txt", ALLOWED)
    assert report.read_allowed(tmp_path / "allowed.txt") == ALLOWED
    assert report.read_allowed(tmp_path / "none.txt") == set()


@pytest.mark.parametrize(("count", "grows"), [(1, False), (2, True)])
def test_update_writes_the_list_anew_unless_it_grows(tmp_path, monkeypatch, capsys, count, grows):
    path = tmp_path / "allowed.txt"
    report.write_allowed(path, ALLOWED)
    monkeypatch.setattr(report, "ALLOWED", path)
    findings = [Finding("hudi_hive/moved.py", 1, f"local {number}", "message") for number in range(count)]
    assert report.main({"words": lambda tree: findings}, ["--update"]) == grows
    assert ("would grow from 1 to 2" in capsys.readouterr().out) is grows
    expected = set() if grows else {("words", "hudi_hive/moved.py", "local 0")}
    assert report.read_allowed(path) == expected


def test_the_page_of_the_architecture(tmp_path):
    page = [
        "| **`table`** | Tables. |",
        "| `table.keys` | Keys of rows. |",
        "| **`gone`** | A room that was. |",
        "| HoodieTable | `hudi_hive/table/core.py` | `Table` |",
        "| HoodieKey | `hudi_hive/table/core.py` | `Key` |",
        "| HoodieFile | `hudi_hive/table/files.py` | `File` |",
    ]
    files = {
        "ARCHITECTURE.md": "\n".join(page),
        "hudi_hive/__init__.py": "",
        "hudi_hive/table/__init__.py": '"""Tables.\n\nMore of them."""',
        "hudi_hive/table/core.py": "class Table: ...",
        "hudi_hive/table/keys/__init__.py": '"""Record keys."""',
        "hudi_hive/errors.py": '"""The errors."""',
    }
    found = {subject for _, subject in subjects(architecture, tmp_path, files)}
    assert found == {"no room errors", "room gone", "sentence table.keys", "name Key", "name File"}


STUB = "typings/pyarrow/_arrays.pyi"


def stub_findings(folder: Path, stub: str) -> set[str]:
    """What is wrong with stubs of PyArrow, of which a product of one module uses much."""
    uses = "Array.slice; Array.type; Array.from_buffers; ListArray; array; concat_arrays; NoArray; sliced"
    return {subject for _, subject in subjects(arrow_stubs, folder, {"hudi_hive/one.py": uses, STUB: stub})}


def test_true_arrow_stubs_pass(tmp_path):
    stub = """
class Array:
    @property
    def type(self) -> object: ...
    def slice(self, offset: int = 0, length: int | None = None) -> Array: ...
class ListArray(Array): ...
def array(obj: object, type: object = None, **options: object) -> Array: ...
def concat_arrays(arrays: list[Array], memory_pool: object = None) -> Array: ...
"""
    assert stub_findings(tmp_path, stub) == set()


@pytest.mark.parametrize(
    ("stub", "subject"),
    [
        ("class NoArray: ...", "NoArray: is not there at runtime"),
        ("class array: ...", "array: is no class at runtime"),
        ("class Table: ...", "Table: is used by nothing"),
        ("class Array:\n def sliced(self): ...", "Array.sliced: is not there at runtime"),
        (
            "class Array:\n def type(self): ...",
            "Array.type: is a method here and a property there, or the other way round",
        ),
        ("class Array(ListArray): ...", "Array: has no base ListArray at runtime"),
        ("class Array:\n def slice(self, start=0): ...", "Array.slice: has no parameter start"),
        ("class Array:\n def slice(self, length=None, offset=0): ...", "Array.slice: has offset in another place"),
        ("class Array:\n def slice(self, offset=1): ...", "Array.slice: has offset=0"),
        ("class Array:\n @staticmethod\n def from_buffers(type, length): ...", "Array.from_buffers: needs buffers"),
        ("def concat_arrays(arrays=()): ...", "concat_arrays: needs arrays"),
        (
            "def concat_arrays(arrays, memory_pool=None, more=None, /): ...",
            "concat_arrays: takes no 3 positional arguments",
        ),
    ],
)
def test_wrong_arrow_stubs(tmp_path, stub, subject):
    assert subject in stub_findings(tmp_path, stub)


def test_arrow_functions_that_share_a_protocol(tmp_path):
    stub = "class _Unary:\n def __call__(self, x, /, *, nulls=False): ...\nis_null: _Unary"
    files = {"hudi_hive/one.py": "is_null", "typings/pyarrow/compute.pyi": stub}
    assert subjects(arrow_stubs, tmp_path, files) == {
        ("typings/pyarrow/compute.pyi", "is_null: has no parameter nulls")
    }
