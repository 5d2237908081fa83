"""What the client makes of metastores whose databases do not hold or tell apart all texts."""

from __future__ import annotations

from copy import deepcopy

import pytest

from hudi_hive.errors import MetastoreServerError, MetastoreTextError
from tests.metastore.shared.client_helpers import client, server, table
from tests.support.metastore.metastore_behaviour import partition_of, table_of

__all__ = ["client", "server", "table"]

COLLATIONS = "java.sql.SQLException: Illegal mix of collations (latin1_bin,IMPLICIT) and (utf8mb4_general_ci,COERCIBLE)"
SAME = "Expecting a partition with name p=a , but metastore is returning a partition with name p=a."


@pytest.fixture
def refuse(client, monkeypatch):
    """``refuse(method, message)`` has the metastore refuse a method."""
    call = client.call

    def start(refused: str, message: str) -> None:
        def answer(method, *arguments, **settings):
            if method == refused:
                client.call_counter.add(method)
                raise MetastoreServerError(f"partitions of default.t: {message}", path=client.uri)
            return call(method, *arguments, **settings)

        monkeypatch.setattr(client, "call", answer)

    return start


@pytest.mark.parametrize(
    ("values", "message", "expected"),
    [
        (["a", "日本", "b"], COLLATIONS, "cannot hold the name of partition value=日本 of default.t"),
        (["a", "a "], SAME, "takes two partitions of default.t for the same"),
    ],
)
def test_a_refusal_of_a_text_is_named_and_not_tried_in_halves(
    client, table, tmp_path, refuse, values, message, expected
):
    refuse("add_partitions_req", message)
    with pytest.raises(MetastoreTextError, match=expected):
        client.add_partitions("default", "t", [partition_of(table, [value], tmp_path) for value in values])
    assert client.calls["add_partitions_req"] == 1


def test_other_refusals_are_tried_in_halves(client, table, tmp_path, refuse):
    refuse("add_partitions_req", "Exception thrown when executing query : SELECT")
    with pytest.raises(MetastoreServerError) as caught:
        client.add_partitions("default", "t", [partition_of(table, [value], tmp_path) for value in "abcd"])
    assert type(caught.value) is MetastoreServerError
    assert client.calls["add_partitions_req"] == 3


def test_names_that_cannot_be_looked_for(client, table, refuse):
    refuse("get_partitions_by_names", COLLATIONS)
    with pytest.raises(MetastoreTextError, match="p=Ω"):
        list(client.partitions("default", "t", ["p=a", "p=Ω"]))


def test_what_was_not_named_is_left_out(client, table, tmp_path, monkeypatch):
    """As databases answer that ignore trailing blanks; and nothing else is dropped for it."""
    values = ["a", "b", "", "é"]
    client.add_partitions(
        "default", "t", [partition_of(table, [value], tmp_path / str(i)) for i, value in enumerate(values)]
    )
    names = client.partition_names("default", "t")
    assert sorted(item.values[0] for item in client.partitions("default", "t")) == sorted(values)
    call = client.call

    def without_blanks(method, *arguments, **settings):
        if method == "get_partitions_by_names":
            arguments = (*arguments[:2], [name.rstrip() for name in arguments[2]])
        return call(method, *arguments, **settings)

    monkeypatch.setattr(client, "call", without_blanks)
    assert [item.values for item in client.partitions("default", "t", ["p=b ", "p=a"])] == [["a"]]
    client.drop_partitions("default", "t", ["p=b "])
    assert client.partition_names("default", "t") == names
    with pytest.raises(MetastoreServerError, match="no partition 'p=b '"):
        client.drop_partitions("default", "t", ["p=b "], if_exists=False)


def test_values_are_no_patterns(client, table, tmp_path, monkeypatch):
    values = ["a.b", "axb", "a_b"]
    client.add_partitions(
        "default", "t", [partition_of(table, [value], tmp_path / str(i)) for i, value in enumerate(values)]
    )
    call = client.call

    def by_pattern(method, *arguments, **settings):
        answer = call("get_partition_names", "default", "t", -1, about="") if method.endswith("_ps") else None
        return answer or call(method, *arguments, **settings)

    monkeypatch.setattr(client, "call", by_pattern)
    assert client.partition_names("default", "t", values=["a.b"]) == ["p=a.b"]
    assert client.partition_names("default", "t", 1, values=["axb"]) == ["p=axb"]


@pytest.mark.parametrize("what", ["location", "column", "comment of column id", "partition key", "parameter k"])
def test_a_table_whose_characters_were_lost_is_not_left_behind(client, tmp_path, monkeypatch, what):
    wanted = table_of("default", "lost", tmp_path / ("日本" if what == "location" else "x"))
    if what == "column":
        wanted.sd.cols[1].name = "日本"
    elif what.startswith("comment"):
        wanted.sd.cols[0].comment = "日本"
    elif what == "partition key":
        wanted.partitionKeys[0].name = "日本"
    elif what == "parameter k":
        wanted.parameters["k"] = "日本"
    call = client.call

    def losing(method, *arguments, **settings):
        if method == "create_table":
            (stored,) = map(deepcopy, arguments)
            stored.sd.location = stored.sd.location.replace("日本", "jp")
            for column in (*stored.sd.cols, *stored.partitionKeys):
                column.name, column.comment = column.name.replace("日本", "jp"), column.comment.replace("日本", "??")
            stored.parameters = {name: text.replace("日本", "??") for name, text in stored.parameters.items()}
            arguments = (stored,)
        return call(method, *arguments, **settings)

    monkeypatch.setattr(client, "call", losing)
    with pytest.raises(MetastoreTextError, match=f"did not keep the characters of table default.lost: {what}"):
        client.create_table(wanted)
    assert client.find_table("default", "lost") is None


@pytest.mark.parametrize(("folder", "reads"), [("日本", 1), ("é€", 0), ("x", 0)])
def test_only_texts_that_may_be_lost_are_read_back(client, tmp_path, folder, reads):
    wanted = table_of("default", "kept", tmp_path / folder)
    assert client.create_table(wanted)
    assert client.calls["get_table_req"] == reads
    wanted.parameters["k"] = "v"
    client.alter_table("default", "kept", wanted)
    assert client.calls["get_table_req"] == 2 * reads
