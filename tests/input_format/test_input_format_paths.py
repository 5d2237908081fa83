"""Comma lists, globs and job confs as Hadoop has them."""

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError, PathNotFoundError
from hudi_hive.input_format.job import INPUT_DIR, JobConf, classify
from hudi_hive.options import jobs, write
from hudi_hive.storage import HadoopPath, Stores, compile_glob, expand, expand_braces, is_glob, join_paths, split_paths


@pytest.mark.parametrize(
    "text, paths",
    [
        ("a,b", ["a", "b"]),
        (" a , b ,, ", ["a", "b"]),
        (r"a\,b,c", ["a,b", "c"]),
        (r"a\\,c", ["a\\", "c"]),
        (r"a\*b", [r"a\*b"]),
        ("x/{p,q},y", ["x/{p,q}", "y"]),
        ("x/{p,y", ["x/{p", "y"]),
        (r"x/{p\,q}", ["x/{p,q}"]),
        ("", []),
    ],
)
def test_input_paths_are_split_at_commas_outside_braces(text, paths):
    assert split_paths(text) == paths


_WORDS = st.text(alphabet="ab,\\/= é", max_size=6)
_PATHS = st.tuples(_WORDS, st.sampled_from(["", "{x,y}"]), _WORDS).map(lambda parts: "".join(parts).strip())


@given(st.lists(_PATHS.filter(bool), max_size=5))
def test_join_then_split_gives_the_same_paths(paths):
    assert split_paths(join_paths(paths)) == paths


@pytest.mark.parametrize(
    "text, prefix, path",
    [
        ("/a//b/", "", "/a/b"),
        ("file:///a/b", "file:", "/a/b"),
        ("file:/a/b", "file:", "/a/b"),
        ("s3a://bucket/a/b/", "s3a://bucket", "/a/b"),
        ("hdfs://nn:8020/", "hdfs://nn:8020", "/"),
        ("hdfs://nn:8020", "hdfs://nn:8020", "/"),
        ("/t/at=x%3Ay", "", "/t/at=x%3Ay"),
        ("file:///t/at=x%3Ay", "file:", "/t/at=x%3Ay"),
        ("/t/at=a:b/c", "", "/t/at=a:b/c"),
    ],
)
def test_paths_are_parsed_as_hadoop_does(text, prefix, path):
    parsed = HadoopPath.parse(text)
    assert (parsed.prefix, parsed.path) == (prefix, path)


def test_relative_paths_are_below_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert HadoopPath.parse("x/../y").path == os.path.join(os.getcwd(), "y")
    with pytest.raises(InvalidOptionError):
        HadoopPath.parse("s3://b/x/../y")
    with pytest.raises(InvalidOptionError):
        HadoopPath.parse("")


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("a{b,c}d", ["abd", "acd"]),
        ("a{b,c{d,e}}", ["ab", "acd", "ace"]),
        ("{a,b}/{x,y}", ["a/x", "a/y", "b/x", "b/y"]),
        (r"\{a,b\}", [r"\{a,b\}"]),
        ("a", ["a"]),
    ],
)
def test_braces_are_expanded(pattern, expected):
    assert expand_braces(pattern) == expected


def test_open_brace_and_bracket_are_refused():
    with pytest.raises(InvalidOptionError):
        expand_braces("a{b")
    with pytest.raises(InvalidOptionError):
        compile_glob("a[b", "a[b")


@pytest.mark.parametrize(
    "glob, yes, no",
    [
        ("p=*", ["p=", "p=1", "p=11"], ["q=1"]),
        ("p=?", ["p=1"], ["p=11", "p="]),
        ("p=[0-3x]", ["p=2", "p=x"], ["p=4"]),
        ("p=[^a]", ["p=b"], ["p=a"]),
        (r"p=\*", ["p=*"], ["p=1"]),
        ("a.b+", ["a.b+"], ["axb+", "a.bb"]),
    ],
)
def test_a_part_of_a_glob_matches_names(glob, yes, no):
    matcher = compile_glob(glob, glob)
    assert all(matcher.fullmatch(text) for text in yes)
    assert not any(matcher.fullmatch(text) for text in no)


@given(st.text(min_size=1).filter(lambda t: "/" not in t))
def test_an_escaped_name_matches_itself_only(name):
    escaped = re.sub(r"([*?\[\]{}\\])", r"\\\1", name)
    assert not is_glob(escaped)
    assert compile_glob(escaped, name).fullmatch(name)


@pytest.fixture
def tree(tmp_path):
    for folder in ("t/p=1", "t/p=11", "t/.hoodie", "t/_tmp", "t/__HIVE_DEFAULT_PARTITION__", "u/p=1/q=2"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "t/p=1/f.parquet").write_bytes(b"12")
    (tmp_path / "t/p=1/.f.crc").write_bytes(b"")
    return tmp_path


def names(tree, pattern):
    return [found.path.path.removeprefix(f"{tree}/") for found in expand([f"{tree}/{pattern}"], Stores())]


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("t/p=*", ["t/p=1", "t/p=11"]),
        ("t/p=?", ["t/p=1"]),
        ("*/p=1", ["t/p=1", "u/p=1"]),
        ("{t,u}/p=1/*", ["t/p=1/f.parquet", "u/p=1/q=2"]),
        ("t/{p=1,p=7}", ["t/p=1"]),
        ("t/p=1/*.parquet", ["t/p=1/f.parquet"]),
        ("t/*/f.parquet", ["t/p=1/f.parquet"]),
    ],
)
def test_globs_give_the_paths_that_match(tree, pattern, expected):
    assert names(tree, pattern) == expected


def test_wildcards_leave_out_dots_and_mark_underscores(tree):
    found = {item.path.path.rpartition("/")[2]: item for item in expand([f"{tree}/t/*"], Stores())}
    assert sorted(found) == ["__HIVE_DEFAULT_PARTITION__", "_tmp", "p=1", "p=11"]
    assert [name for name, item in found.items() if item.hidden] == ["_tmp"]


def test_expand_keeps_order_and_drops_repeats(tree):
    found = expand([f"{tree}/t/p=11", f"{tree}/t/p=*", f"file://{tree}/t/p=1/", f"{tree}/t/p=1/f.parquet"], Stores())
    assert [str(item.path).removeprefix(f"{tree}/") for item in found] == ["t/p=11", "t/p=1", "t/p=1/f.parquet"]
    assert (found[-1].is_dir, found[-1].size) == (False, 2)


@pytest.mark.parametrize("pattern", ["t/p=9", "t/q=*", "t/p=1/f.parquet/*", "no/*/such"])
def test_missing_input_paths_are_errors(tree, pattern):
    with pytest.raises(PathNotFoundError) as error:
        expand([f"{tree}/{pattern}"], Stores())
    assert error.value.path == f"{tree}/{pattern}"


def test_exact_counts_of_a_glob(tree):
    stores = Stores()
    expand([f"{tree}/*/p=1", f"{tree}/t/p=1", f"{tree}/u"], stores)
    assert stores.counters.snapshot() == {"exists": 4, "lists": 1}


# -- job conf ------------------------------------------------------------------------------------------------------


def test_a_conf_does_not_change():
    conf = JobConf({"a": 1, "b": True, "c": None})
    copy = conf.with_({"a": 2, "b": None}, d="x")
    assert dict(conf) == {"a": "1", "b": "true"}
    assert dict(copy) == {"a": "2", "d": "x"}
    assert conf == {"a": "1", "b": "true"}
    assert conf != copy
    with pytest.raises(TypeError):
        conf["a"] = "3"


def test_values_of_a_job_are_parsed_by_type():
    conf = JobConf(
        {
            "hoodie.metadata.enable": " FALSE ",
            "hoodie.trips.consume.max.commits": "-1",
            "fs.s3a.block.size": "48m",
            "columns": " a, b,,c",
            "mapreduce.input.fileinputformat.input.dir.recursive": " ",
        }
    )
    assert conf.value(write.METADATA_ENABLE) is False
    assert conf.value(jobs.CONSUME_MAX_COMMITS, table="trips") == -1
    assert conf.value(jobs.CONSUME_MAX_COMMITS, table="other") is None
    assert (conf.value(jobs.S3_BLOCK_SIZE), conf.value(jobs.GS_BLOCK_SIZE)) == (48 << 20, 64 << 20)
    assert conf.value(jobs.COLUMNS) == ("a", "b", "c")
    assert conf.value(jobs.INPUT_RECURSIVE) is False
    for option, text in ((write.METADATA_ENABLE, "yes"), (jobs.S3_BLOCK_SIZE, "big"), (jobs.S3_BLOCK_SIZE, "0")):
        with pytest.raises(InvalidOptionError, match=option.name):
            conf.with_({option.name: text}).value(option)


def test_deprecated_names_of_properties_work():
    conf = JobConf({"mapred.input.dir": "/a", "mapred.min.split.size": "7"})
    assert conf.input_paths == ("/a",)
    assert conf[INPUT_DIR] == conf["mapred.input.dir"] == "/a"
    assert conf.value(jobs.SPLIT_MIN_SIZE) == 7


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("hoodie.datasource.query.type", "incremental", "is not supported.*HoodieParquetInputFormat"),
        ("hoodie.datasource.read.begin.instanttime", "0", r"is not supported.*consume\.start\.timestamp"),
        ("hoodie.datasource.read.incr.path.glob", "/a/*", "is not supported.*input paths"),
        ("hoodie.datasource.read.paths", "/a", "is not supported"),
        ("hoodie.metadata.enabel", "false", r"unknown option.*did you mean hoodie\.metadata\.enable\?"),
        ("hoodie.trips.consume.strat.timestamp", "0", r"did you mean hoodie\.trips\.consume\.start\.timestamp\?"),
        ("hoodie.trips.comsume.mode", "INCREMENTAL", r"did you mean hoodie\.trips\.consume\.mode\?"),
        ("hoodie.upsert.shuffle.parallelism", "2", "unknown option.*it is an option of: write"),
    ],
)
def test_keys_of_hudi_that_are_not_honoured_are_refused_by_name(tmp_path, key, value, words):
    with pytest.raises(InvalidOptionError, match=words) as caught:
        classify([str(tmp_path)], JobConf({key: value}))
    assert key in str(caught.value)
    classify([str(tmp_path)], JobConf({key: " "}))  # as if it were not there


def test_input_paths_round_trip():
    paths = ("/a,b", "s3://x/{p,q}", "/c\\d")
    assert JobConf().with_input_paths(paths).input_paths == paths
    with pytest.raises(InvalidOptionError):
        _ = JobConf().input_paths
