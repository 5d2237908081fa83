"""DDL statements and JDBC addresses: whatever the text, a statement says what was meant and nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError, MetastoreConnectError, SchemaSyncError
from hudi_hive.metastore import FieldSchema, Order, Partition, SerDeInfo, StorageDescriptor, Table, Timeouts
from hudi_hive.sync.apply.sql import JdbcAddress, SqlServer, ddl, parse_jdbc_url

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.text(
    "'\"\\`;${}\n\t\x00\x7f%_-(),=abcu0041é😀", max_size=12
)
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: "${" not in text
)


# -- what a server makes of a statement ------------------------------------------------------------------------------

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`|[A-Za-z_][A-Za-z_0-9.]*|[0-9]+|[(),=<>:.]|\s+", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "0": "\0", "Z": "\x1a"}


def substituted(statement: str) -> str:
    """Servers replace variables first; an unknown one stays, a known one does not."""
    return re.sub(r"\$\{[^}]*\}", "REPLACED", statement)


def tokens(statement: str) -> list[tuple[str, str]]:
    """(kind, value) of each token as Hive's and Spark's lexers see them; literals without quotes and escapes."""
    found, place = [], 0
    statement = substituted(statement)
    while place < len(statement):
        match = _TOKEN.match(statement, place)
        assert match is not None, f"no token at {statement[place:]!r}"
        place, text = match.end(), match[0]
        if text[0] == "'":
            found.append(("text", unescaped(text[1:-1])))
        elif text[0] == "`":
            found.append(("name", text[1:-1].replace("``", "`")))
        elif not text.isspace():
            found.append(("word", text))
    return found


def unescaped(literal: str) -> str:
    """Hive's rules: four hexadecimal digits behind ``u``, a few letters, ``%`` and ``_`` keep their backslash."""

    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if match[2] in "%_":
            return match[0]
        return _SIMPLE.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", one, literal, flags=re.DOTALL)


def words(statement: str) -> str:
    """The statement with names and texts taken out."""
    return " ".join({"text": "'…'", "name": "`…`"}.get(kind, value) for kind, value in tokens(statement))


def values(statement: str, kind: str) -> list[str]:
    """All names or all texts of a statement."""
    return [value for found, value in tokens(statement) if found == kind]


# -- names and texts -------------------------------------------------------------------------------------------------


@given(texts)
def test_a_text_comes_out_of_its_literal_as_it_went_in(text):
    assert tokens(ddl.string_literal(text)) == [("text", text)]


@given(names)
def test_a_name_comes_out_of_its_back_ticks_as_it_went_in(name):
    assert tokens(ddl.identifier(name)) == [("name", name)]


@pytest.mark.parametrize("name", ["", "a${b}", "a\n-- b", "tab\t"])
def test_names_that_no_quotes_protect_are_refused(name):
    with pytest.raises(SchemaSyncError, match="name"):
        ddl.identifier(name)


# -- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("string", "string"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("array<int>", "array<int>"),
        ("map<string,array<bigint>>", "map<string,array<bigint>>"),
        ("struct<a:int,from:string>", "struct<`a`:int,`from`:string>"),
        ("struct<a b:int,c`d:struct<e-f:decimal(3,1)>>", "struct<`a b`:int,`c``d`:struct<`e-f`:decimal(3,1)>>"),
        ("uniontype<int,struct<x:date>>", "uniontype<int,struct<`x`:date>>"),
        ("STRUCT<member0:int>", "struct<`member0`:int>"),
    ],
)
def test_field_names_of_types_are_quoted(text, written):
    assert ddl.column_type(text) == written


@pytest.mark.parametrize(
    "text",
    ["", "struct>", "struct<>", "struct<a:int", "array<int>>", "int) --", "map<string;int>", "struct<:int>", "`x`"],
)
def test_what_is_no_type_is_refused(text):
    with pytest.raises(SchemaSyncError, match="type"):
        ddl.column_type(text)


field_names = st.text("abz_0'`\\;- $", min_size=1, max_size=6)
types = st.recursive(
    st.sampled_from(["int", "string", "decimal(38,18)", "timestamp"]),
    lambda inner: st.one_of(
        inner.map(lambda one: f"array<{one}>"),
        inner.map(lambda one: f"map<string,{one}>"),
        st.lists(st.tuples(field_names, inner), min_size=1, max_size=3).map(
            lambda fields: f"struct<{','.join(f'{name}:{one}' for name, one in fields)}>"
        ),
    ),
    max_leaves=6,
)


@given(types)
def test_a_type_without_its_quotes_is_the_type(text):
    rendered = "".join(value for _, value in tokens(ddl.column_type(text)))
    assert rendered == text


# -- statements ------------------------------------------------------------------------------------------------------

parameters = st.dictionaries(texts, texts, max_size=3)


@st.composite
def tables(draw):
    """A table with any texts; names that Hive would refuse are not the point here."""
    fields = st.builds(FieldSchema, name=names, type=st.sampled_from(["int", "array<string>"]), comment=texts)
    return Table(
        dbName=draw(names),
        tableName=draw(names),
        sd=StorageDescriptor(
            cols=draw(st.lists(fields, min_size=1, max_size=3)),
            location=draw(texts),
            inputFormat=draw(texts),
            outputFormat=draw(texts),
            numBuckets=draw(st.sampled_from([0, 8])),
            bucketCols=draw(st.lists(names, max_size=2)),
            sortCols=draw(st.lists(st.builds(Order, col=names, order=st.sampled_from([0, 1])), max_size=2)),
            serdeInfo=SerDeInfo(serializationLib=draw(texts), parameters=draw(parameters)),
        ),
        partitionKeys=draw(st.lists(fields, max_size=2)),
        parameters=draw(parameters),
        tableType=draw(st.sampled_from(["EXTERNAL_TABLE", "MANAGED_TABLE"])),
    )


@given(tables())
def test_create_table_says_everything_of_a_table_and_nothing_else(table):
    statement = ddl.create_table(table, table.parameters)
    descriptor, serde = table.sd, table.sd.serdeInfo
    buckets = descriptor.bucketCols if descriptor.numBuckets else []
    sort = descriptor.sortCols if buckets else []
    fields = [*descriptor.cols, *table.partitionKeys]
    assert values(statement, "name") == [
        table.dbName,
        table.tableName,
        *(field.name for field in fields),
        *buckets,
        *(order.col for order in sort),
    ]
    flat = [text for pair in serde.parameters.items() for text in pair]
    assert values(statement, "text") == [
        *(field.comment for field in fields),
        serde.serializationLib,
        *flat,
        descriptor.inputFormat,
        descriptor.outputFormat,
        descriptor.location,
        *(text for pair in table.parameters.items() for text in pair),
    ]
    shape = words(statement)
    assert shape.startswith("CREATE EXTERNAL TABLE" if table.tableType == "EXTERNAL_TABLE" else "CREATE TABLE")
    assert ("PARTITIONED BY" in shape) == bool(table.partitionKeys)
    assert ("INTO 8 BUCKETS" in shape) == bool(buckets)
    assert ("WITH SERDEPROPERTIES" in shape, "TBLPROPERTIES" in shape) == (
        bool(serde.parameters),
        bool(table.parameters),
    )


@given(names, names, st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=3))
def test_partitions_are_added_and_moved_where_they_are_meant(database, table, rows):
    keys = ["year", "my key"]
    items = [Partition(values=[one, two], sd=StorageDescriptor(location=place)) for one, two, place in rows]
    added = ddl.add_partitions(database, table, keys, items)
    assert values(added, "name") == [database, table, *(keys * len(items))]
    assert values(added, "text") == [text for row in rows for text in row]
    one = "PARTITION ( `…` = '…' , `…` = '…' )"
    expected = " ".join([f"{one} LOCATION '…'"] * len(items))
    assert words(added) == f"ALTER TABLE `…` . `…` ADD IF NOT EXISTS {expected}"
    moved = ddl.set_location(table, keys, items[0])
    assert (words(moved), values(moved, "text")) == (f"ALTER TABLE `…` {one} SET LOCATION '…'", list(rows[0]))
    touched = ddl.touch_partitions(table, keys, items)
    assert words(touched) == f"ALTER TABLE `…` TOUCH {' '.join([one] * len(items))}"


def test_a_partition_needs_a_value_for_each_key():
    with pytest.raises(ValueError, match="zip"):
        ddl.partition_spec(["a", "b"], ["1"])


def test_columns_are_replaced_for_all_partitions_only_by_option():
    table = Table(dbName="d", tableName="t", sd=StorageDescriptor(cols=[FieldSchema(name="a", type="int")]))
    assert ddl.replace_columns(table, cascade=False) == "ALTER TABLE `d`.`t` REPLACE COLUMNS (`a` int)"
    assert ddl.replace_columns(table, cascade=True) == "ALTER TABLE `d`.`t` REPLACE COLUMNS (`a` int) CASCADE"


def test_statements_about_databases():
    assert ddl.create_database("d", "it's") == "CREATE DATABASE IF NOT EXISTS `d` COMMENT 'it\\'s'"
    assert ddl.use_database("d") == "USE `d`"


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("jdbc:hive2://h", JdbcAddress("h")),
        ("jdbc:hive2://h:1/", JdbcAddress("h", 1)),
        ("JDBC:hive2://[::1]:1/d", JdbcAddress("::1", 1, "d")),
        ("jdbc:hive2://h:1/d;auth=noSasl", JdbcAddress("h", 1, "d", sasl=False)),
        ("jdbc:hive2://h:1/;ssl=true;user=u;password=p=q", JdbcAddress("h", 1, ssl=True, user="u", password="p=q")),
        ("jdbc:hive2://h:1/d;principal=hive/_HOST@R", JdbcAddress("h", 1, "d", principal="hive/_HOST@R")),
        ("jdbc:hive2://h;auth=kerberos;principal=hive/_HOST@R", JdbcAddress("h", principal="hive/_HOST@R")),
        (
            "jdbc:hive2://h:1/d?hive.x=1;hive.y=2#v=3",
            JdbcAddress(
                "h", 1, "d", settings={"set:hiveconf:hive.x": "1", "set:hiveconf:hive.y": "2", "set:hivevar:v": "3"}
            ),
        ),
    ],
)
def test_jdbc_addresses_are_read(url, address):
    assert parse_jdbc_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "jdbc:mysql://h:1/d",
        "jdbc:hive2://",
        "jdbc:hive2://h:x/d",
        "jdbc:hive2://h:70000",
        "jdbc:hive2://a:1,b:1/d",
        "jdbc:hive2://h:1/d;principal=hive/_HOST@R;auth=noSasl",
        "jdbc:hive2://h:1/d;principal=hive",
        "jdbc:hive2://h:1/d;transportMode=http",
        "jdbc:hive2://h:1/d;serviceDiscoveryMode=zooKeeper",
        "jdbc:hive2://h:1/d;auth=kerberos",
        "jdbc:hive2://h:1/d;ssl=maybe",
        "jdbc:hive2://h:1/d;auth",
        "jdbc:hive2://h:1/d?x",
    ],
)
def test_what_cannot_be_honoured_is_refused(url):
    with pytest.raises(InvalidOptionError, match="jdbcurl"):
        parse_jdbc_url(url)


def test_a_password_is_not_shown():
    assert "secret" not in repr(parse_jdbc_url("jdbc:hive2://h:1/d;password=secret;user=u"))
    assert str(parse_jdbc_url("jdbc:hive2://h:1/d;password=secret")) == "jdbc:hive2://h:1"


def test_an_address_without_a_server_is_an_error(unused_port):
    with pytest.raises(MetastoreConnectError, match="SQL server") as caught:
        SqlServer(JdbcAddress("127.0.0.1", unused_port), timeouts=Timeouts(connect=1.0))
    assert caught.value.path == f"jdbc:hive2://127.0.0.1:{unused_port}"


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
