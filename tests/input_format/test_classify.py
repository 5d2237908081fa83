"""Which table a path belongs to, and how the job reads it."""

import shutil
import tempfile
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError, InvalidPropertiesError, PathNotFoundError, TableError
from hudi_hive.input_format.job.input_paths import Coverage, InputPath, classify
from hudi_hive.metrics import IoCounters
from hudi_hive.storage import HadoopPath
from tests.support.running.long import examples

PROPERTIES = (
    "hoodie.table.name={name}\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=8\n"
    "hoodie.timeline.layout.version=2\nhoodie.table.partition.fields=p\n{more}"
)


def make_table(base: Path, name: str, more: str = "") -> None:
    (base / ".hoodie" / "timeline").mkdir(parents=True)
    (base / ".hoodie" / "hoodie.properties").write_text(PROPERTIES.format(name=name, more=more))


def incremental(name: str, **more: str) -> dict[str, str]:
    keys = {"mode": "INCREMENTAL", "start.timestamp": "0", **more}
    return {f"hoodie.{name}.consume.{key}": value for key, value in keys.items()}


# -- the longest base path wins ------------------------------------------------------------------------------------

# Few names, some of them beginnings of others, so that tables nest and look alike.
_NAMES = st.sampled_from(["a", "aa", "p=1", "p=11", "p=1.1"])
_FOLDER = st.lists(_NAMES, max_size=4).map("/".join)


@settings(max_examples=examples(120), deadline=None)
@given(
    tables=st.sets(_FOLDER.filter(bool), max_size=5),
    inputs=st.lists(_FOLDER, min_size=1, max_size=6),
    as_uri=st.booleans(),
)
def test_a_path_belongs_to_the_nearest_table_above_it(tables, inputs, as_uri):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for table in tables:
            make_table(root / table, "t_" + table.replace("/", "_"))
        for path in inputs:
            (root / path).mkdir(parents=True, exist_ok=True)
        prefix = "file://" if as_uri else ""
        texts = [f"{prefix}{root}/{path}" if path else f"{prefix}{root}" for path in inputs]
        groups = classify(texts, {})
        want_tables: dict[str, list[str]] = {}
        want_plain: list[str] = []
        for path in dict.fromkeys(inputs):
            above = [PurePosixPath(path), *PurePosixPath(path).parents]
            base = next((str(candidate) for candidate in above if str(candidate) in tables), None)
            if base is None:
                want_plain.append(path)
            else:
                relative = PurePosixPath(path).relative_to(base)
                want_tables.setdefault(base, []).append("" if str(relative) == "." else str(relative))
        shown = "file:" if as_uri else ""
        got = {
            base.removeprefix(f"{shown}{root}/"): [p.relative for p in t.paths] for base, t in groups.snapshot.items()
        }
        assert got == want_tables
        assert list(groups.non_hudi) == [f"{shown}{root}/{path}".rstrip("/") for path in want_plain]
        assert all(
            table.name == "t_" + base.removeprefix(f"{shown}{root}/").replace("/", "_")
            for base, table in groups.snapshot.items()
        )


# -- whole path segments -------------------------------------------------------------------------------------------


def input_path(relative, is_file=False):
    return InputPath(HadoopPath("", f"/t/{relative}"), relative, is_file)


@settings(max_examples=examples(200), deadline=None)
@given(
    folders=st.lists(_FOLDER, max_size=4),
    files=st.lists(_FOLDER.filter(bool), max_size=3),
    partitions=st.lists(_FOLDER, max_size=8),
)
def test_coverage_is_by_whole_segments(folders, files, partitions):
    coverage = Coverage([*(input_path(f) for f in folders), *(input_path(f + "/x.parquet", True) for f in files)])

    def below(partition, folder):
        return (
            not folder
            or PurePosixPath(partition) == PurePosixPath(folder)
            or PurePosixPath(folder) in PurePosixPath(partition).parents
        )

    for partition in partitions:
        wholly = any(below(partition, folder) for folder in folders)
        assert coverage.wholly(partition) == wholly
        assert coverage.covers(partition) == (wholly or partition in files)
    names = ["x.parquet", "y.parquet"]
    rows = [(partition, name) for partition in partitions for name in names]
    mask = coverage.mask(
        pa.chunked_array([[r[0] for r in rows]], pa.string()), pa.chunked_array([[r[1] for r in rows]], pa.string())
    )
    assert mask.to_pylist() == [
        any(below(p, folder) for folder in folders) or (n == "x.parquet" and p in files) for p, n in rows
    ]
    roots = coverage.roots
    assert all(not below(a, b) for a in roots for b in roots if a != b)
    assert all(any(below(path, root) for root in roots) for path in [*folders, *files])


# -- the groups ----------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    make_table(tmp_path / "t", "t")
    make_table(tmp_path / "t/nested", "nested")
    make_table(tmp_path / "u", "u", "hoodie.database.name=db\n")
    for folder in ("t/p=1", "t/p=11", "t/_x", "t/nested/p=1", "u/p=1", "plain/_tmp", "plain/y=1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "t/p=1/f.parquet").write_bytes(b"123")
    return tmp_path


def shorten(tree, paths):
    return [str(path).removeprefix(f"{tree}/") for path in paths]


def test_paths_are_of_incremental_snapshot_or_plain_tables(tree):
    conf = {**incremental("nested"), **incremental("t")}
    paths = [f"{tree}/{path}" for path in ("u", "t/p=1", "t/nested/p=1", "plain", "t/p=11")]
    groups = classify(paths, conf)
    assert shorten(tree, groups.incremental) == ["t/nested", "t"]  # in the order of the keys
    assert shorten(tree, groups.incremental[f"{tree}/t"].paths) == ["t/p=1", "t/p=11"]
    assert shorten(tree, groups.snapshot) == ["u"]
    assert shorten(tree, groups.non_hudi) == ["plain"]


def test_each_table_is_loaded_once_and_nothing_is_listed(tree):
    counters = IoCounters()
    for number in range(200):
        (tree / f"t/p=2{number:03}").mkdir()
    groups = classify([f"{tree}/t/p=2{number:03}" for number in range(200)], {}, counters=counters)
    assert len(groups.snapshot[f"{tree}/t"].paths) == 200
    # Each path: is it there, does it hold .hoodie; then the base path once; then the properties.
    counts = counters.snapshot()
    assert (counts["exists"], counts["opens"], counts.get("lists", 0)) == (401, 1, 0)


def test_globs_and_files(tree):
    groups = classify([f"{tree}/t/*", f"{tree}/t/p=1/f.parquet", f"{tree}/plain/*"], {})
    paths = groups.snapshot[f"{tree}/t"].paths
    assert shorten(tree, paths) == ["t/_x", "t/p=1", "t/p=11", "t/p=1/f.parquet"]  # "_" hides only plain files
    assert shorten(tree, groups.snapshot[f"{tree}/t/nested"].paths) == ["t/nested"]
    assert (paths[3].is_file, paths[3].folder, paths[3].name, paths[3].size) == (True, "p=1", "f.parquet", 3)
    assert shorten(tree, groups.non_hudi) == ["plain/y=1"]


def test_two_tables_of_one_name(tree):
    make_table(tree / "copy", "t")
    groups = classify([f"{tree}/t", f"{tree}/copy"], incremental("t"))
    assert shorten(tree, groups.incremental) == ["t", "copy"]


@pytest.mark.parametrize("mode", ["INCREMENTAL", " incremental "])
def test_mode_is_trimmed_in_any_case(tree, mode):
    conf = incremental("t", mode=mode)
    assert list(classify([f"{tree}/t"], conf).incremental) == [f"{tree}/t"]


def test_a_snapshot_mode_of_another_table_is_no_error(tree):
    conf = {"hoodie.other.consume.mode": "SNAPSHOT", "hoodie.other.consume.start.timestamp": "5"}
    assert list(classify([f"{tree}/t"], conf).snapshot) == [f"{tree}/t"]


def test_names_with_database(tree):
    conf = {"hoodie.incremental.use.database": "true", **incremental("db.u")}
    assert list(classify([f"{tree}/u"], conf).incremental) == [f"{tree}/u"]
    with pytest.raises(InvalidOptionError, match=r"hoodie\.u\.consume\.mode names no table.*db\.u"):
        classify([f"{tree}/u"], {"hoodie.incremental.use.database": "true", **incremental("u")})


@pytest.mark.parametrize(
    "conf, text",
    [
        (incremental("T"), "names no table"),
        (incremental("t", mode="INCREMENTL"), "is not one of INCREMENTAL, SNAPSHOT, LATEST"),
        ({"hoodie.t.consume.mode": "INCREMENTAL"}, "without a start"),
        (incremental("t", **{"start.timestamp": "yesterday"}), "start.timestamp"),
        (incremental("t", **{"max.commits": "0"}), "max.commits"),
        (incremental("t", **{"max.commits": "-2"}), "max.commits"),
        (incremental("t", **{"max.commits": "many"}), "max.commits"),
        (incremental("t", **{"stop.timestamp": "5"}), "unknown option"),
        ({"hoodie.x.consume.commit": "5"}, "names no table"),
        ({"hoodie.x.consume.snapshot.time": "2026-01-01"}, "names no table"),
        ({"hoodie.t.consume.commit": "5", "hoodie.t.consume.snapshot.time": "6"}, "different times"),
        ({"hoodie.t.consume.pending.commits": "perhaps"}, "true or false"),
        ({"hoodie.t.ro.stop.at.compaction": "1"}, "true or false"),
        ({"hoodie.read.timeline.holes.resolution.policy": "bogus"}, "policy"),
    ],
)
def test_bad_keys_are_refused_by_name(tree, conf, text):
    with pytest.raises(InvalidOptionError) as error:
        classify([f"{tree}/t"], conf)
    assert text in str(error.value)


def test_default_and_configured_numbers_of_commits(tree):
    def commits(**more):
        return classify([f"{tree}/t"], incremental("t", **more)).incremental[f"{tree}/t"].options

    assert commits().max_commits == 1
    assert commits(**{"max.commits": "-1"}).max_commits == -1
    assert commits(**{"end.timestamp": "9"}).max_commits == -1
    assert commits(**{"end.timestamp": "9", "max.commits": "2"}).max_commits == 2
    assert commits(**{"start.timestamp": "2026-11-21"}).start == "20261121000000000"
    assert commits(**{"start.timestamp": "earliest"}).start == "0"


@pytest.mark.parametrize("path", ["t/p=9", "nowhere/t", "t/q=*"])
def test_a_missing_path_is_an_error(tree, path):
    with pytest.raises(PathNotFoundError):
        classify([f"{tree}/{path}"], {})


def test_a_damaged_table_is_not_taken_for_a_plain_folder(tree):
    shutil.copytree(tree / "t", tree / "broken")
    (tree / "broken/.hoodie/hoodie.properties").unlink()
    with pytest.raises(TableError):
        classify([f"{tree}/broken/p=1"], {})
    (tree / "broken/.hoodie/hoodie.properties").write_text("hoodie.table.version=8\n")
    with pytest.raises(InvalidPropertiesError):
        classify([f"{tree}/broken/p=1"], {})


def test_the_metadata_folder_is_no_input(tree):
    with pytest.raises(InvalidOptionError):
        classify([f"{tree}/t/.hoodie/timeline"], {})
