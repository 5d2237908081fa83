"""Id-based schemas: their JSON and Avro as real Hudi writes them, changes of them and what is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hudi_hive.errors import SchemaError
from hudi_hive.schema.evolution import SchemaUpdate, merge_writer
from hudi_hive.schema.internal import InternalField, InternalSchema, parse_history, parse_internal_schema
from hudi_hive.schema.internal_avro import from_avro, to_arrow, to_avro, type_of
from hudi_hive.schema.internal_json import history_bytes, to_json
from hudi_hive.schema.promotions import may_become, type_name
from hudi_hive.schema.schema_diff import differences
from hudi_hive.schema.type_text import parse_type
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import DATA, fixture_names, unzip_fixture

ANSWERS = json.loads((DATA / "internal_schemas" / "answers.json").read_text())
RELEASES = [(6, "0.15.0"), (8, "1.0.2"), (9, "1.1.1")]
OWN = {
    # What Hudi before 1.1 makes other types of, which its readers then take the values for; and texts with a meaning
    # that Hudi of all releases makes 16 bytes of.
    "before 1.1": {"tmi", "tsm", "ltm", "ltu", "uu"},
    "1.1.1": {"uu"},
}


@pytest.mark.parametrize("name", [n for kind in ("cow", "mor") for n in fixture_names(f"{kind}_schema_evo")])
def test_bytes_of_fixtures(tmp_path, name):
    """What real Hudi wrote is read and written to the same bytes: files, commits and the Avro schemas beside them."""
    client = MetaClient.load(unzip_fixture(name, tmp_path))
    files = list(client.schema_history_files().values())
    for path in files:
        data = client.storage.read_bytes(path)
        assert history_bytes(parse_history(data)[::-1]) == data
    versions = 0
    for instant in client.timeline.write_instants():
        extra = client.timeline.commit_metadata(instant).extra
        if "latest_schema" not in extra:
            avro = json.loads(extra["schema"])
            oldest = client.evolved_schema().history[0]
            assert from_avro(avro, table_version=client.config.version) == oldest
            continue
        versions += 1
        schema = parse_internal_schema(extra["latest_schema"])
        assert to_json(schema) == extra["latest_schema"]
        own = to_avro(schema, f"{name}_record", f"hoodie.{name}")
        assert json.dumps(own, separators=(",", ":")) == extra["schema"]
        assert to_arrow(schema).names == [item.name for item in schema.fields]
    # Hudi 1.0 keeps the newest file only.
    assert (len(files), versions) == ((1 if name.startswith("v8") else versions), 17 if "mor" in name else 16)


@pytest.mark.parametrize(("version", "release"), RELEASES)
def test_types_as_hudi_has_them(version, release):
    checked = 0
    for answer in ANSWERS[release]["types"]:
        if answer["column"] in OWN.get(release, OWN["before 1.1"]):
            continue
        field = {"name": answer["column"], "type": ["null", answer["avro"]]}
        avro = {"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": [field]}
        schema = from_avro(avro, meta_columns=False, table_version=version)
        assert schema.fields == (InternalField(0, answer["column"], True, answer["internal"]),)
        assert to_avro(schema, "t_record", "hoodie.t")["fields"][0]["type"] == ["null", answer["back"]]
        checked += 1
    assert checked == {6: 14, 8: 14, 9: 18}[version]


@pytest.mark.parametrize(("version", "release"), RELEASES)
def test_ids_and_names_of_nested_columns(version, release):
    schema = from_avro(ANSWERS["nested_avro"], meta_columns=False, table_version=version)
    assert to_json(schema) == ANSWERS[release]["nested"]
    assert to_avro(schema, "t_record", "hoodie.t") == json.loads(ANSWERS["nested_back"])
    assert schema.name_of(schema.find("mst.value.mm.value.element").id) == "mst.value.mm.value.element"
    assert schema.find("mst.q") is None


@pytest.mark.parametrize("release", ["0.15.0", "1.0.2", "1.1.1"])
def test_promotions_as_hudi_allows_them(release):
    table = ANSWERS[release]["promotions"]
    ours = {source: [target for target in table if may_become(source, target)] for source in table}
    for source in ours:
        # Kinds of decimals, which Hudi 1.1 tells apart, say how values are written: they are one type to the user.
        precise = {name for name in table if name.startswith(("decimal_bytes", "decimal_fixed"))}
        assert set(ours[source]) - precise == set(table[source]) - precise, source


# -- changes ---------------------------------------------------------------------------------------------------------

NESTED = {
    "type": "record",
    "name": "n",
    "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "int"]}],
}
BASE = from_avro(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "n", "type": ["null", "int"], "doc": "a number"},
            {"name": "info", "type": ["null", NESTED]},
            {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "float"]}]},
            {"name": "scores", "type": ["null", {"type": "map", "values": ["null", "n"]}]},
            {"name": "part", "type": ["null", "string"]},
        ],
    }
)
UPDATE = SchemaUpdate(BASE, protected={"id": "record key", "part": "partition column", "info.x": "ordering column"})
KEYED = SchemaUpdate(
    BASE, protected={"N": "record key", "info.x": "ordering column", "scores.value.x": "partition column"}
)


def names(schema: InternalSchema) -> list[str]:
    return [item.name for item in schema.fields[5:]]


def test_keys_and_ordering_columns_become_long():
    made = KEYED.change_type("n", "bigint").change_type("info.x", "bigint").apply(1)
    listed = (
        "id string, n bigint, info struct<x:bigint,y:int>, tags array<float>, scores map<string,struct<x:int,y:int>>"
    )
    assert KEYED.replace_columns(f"{listed}, part string").comment("n", "a number").schema.fields == made.fields
    assert {name: item.type for name, item in made.walk() if name in ("n", "info.x")} == {"n": "long", "info.x": "long"}


def test_a_new_column_gets_new_ids_and_its_place():
    assert BASE.max_column_id == 17
    kind = pa.struct([("q", pa.int32()), ("w", pa.list_(pa.decimal128(5, 2))), ("s", pa.struct([("z", pa.int8())]))])
    made = (
        UPDATE.add("new", kind, doc="fresh", after="N")
        .add("info.z", "bigint", first=True)
        .add("front", "date", after="_hoodie_file_name")
    )
    schema = made.apply(7)
    assert (schema.version_id, schema.max_column_id) == (7, 25)
    assert names(schema) == ["front", "id", "n", "new", "info", "tags", "scores", "part"]
    ids = {name: item.id for name, item in schema.walk() if item.id > BASE.max_column_id}
    assert ids == {
        "new": 18,
        "new.q": 19,
        "new.w": 20,
        "new.s": 21,
        "new.w.element": 22,
        "new.s.z": 23,
        "info.z": 24,
        "front": 25,
    }
    assert [item.name for item in schema.find("info").children] == ["z", "x", "y"]
    assert schema.find("new").doc == "fresh" and schema.find("new").optional
    assert schema.find("new.w.element").type == "decimal(5, 2)"
    assert UPDATE.schema is BASE  # each change is a new object


def test_a_dropped_name_comes_back_as_another_column():
    schema = UPDATE.drop("n").add("n", "string").apply(1)
    assert schema.find("n").id == 18 and schema.find("n").doc is None
    assert [str(found) for found in differences(BASE, schema)] == ["drop n: int", "add n: string"]


def test_renames_moves_types_comments_and_null():
    made = (
        SchemaUpdate(BASE)
        .rename("info", "details")
        .rename("details.y", "why")
        .move("details", before="id")
        .move("n", before="part")
        .change_type("N", pa.int64())
        .change_type("tags.element", "double")
        .change_type("scores.value.x", "decimal(12, 2)")
        .optional("scores.value.x")
        .optional("id")
        .comment("n", None)
        .comment("details.why", "because")
    )
    schema = made.apply(3)
    assert names(schema) == ["details", "id", "tags", "scores", "n", "part"]
    assert {item.id for _, item in schema.walk()} == {item.id for _, item in BASE.walk()}
    assert {str(found) for found in differences(BASE, schema)} == {
        "rename details: info -> details",
        "move details after _hoodie_file_name",
        "rename details.why: info.y -> details.why",
        "comment details.why: because",
        "nullable id: false -> true",
        "type tags.element: float -> double",
        "type scores.value.x: int -> decimal(12, 2)",
        "nullable scores.value.x: false -> true",
        "type n: int -> long",
        "move n after scores",
        "comment n: a number",
    }
    assert UPDATE.change_type("n", "int").schema.fields == BASE.fields
    assert UPDATE.required("id").schema is BASE


WHOLE = "id string, info struct<x:int,y:int>, part string"
"""The columns of BASE that the table needs."""


def test_columns_in_place_of_all_keep_the_ids_of_their_names():
    made = UPDATE.replace_columns(
        "part string, N bigint, tags array<double>, info struct<z:string comment 'new', x:int>, "
        "id string comment 'it''s', scores map<string,struct<y:int, more:array<int>>>, fresh struct<q:int>"
    )
    schema = made.apply(3)
    assert names(schema) == ["part", "n", "tags", "info", "id", "scores", "fresh"]
    ids = {name: item.id for name, item in schema.walk()}
    old = {name: item.id for name, item in BASE.walk()}
    new = {"fresh", "fresh.q", "info.z", "scores.value.more", "scores.value.more.element"}
    assert {name for name in ids if name not in old} == new
    assert all(ids[name] == old[name] for name in ids if name in old)
    assert sorted(ids[name] for name in new) == list(range(18, 23)) and schema.max_column_id == 22
    assert {str(found) for found in differences(BASE, schema)} >= {
        "type n: int -> long",
        "comment n: a number",
        "comment id: it's",
        "drop info.y: int",
        "add scores.value.more: array<int>",
        "add fresh: struct<q: int>",
    }
    assert schema.find("info.z").doc == "new" and not schema.find("id").optional and not schema.find("info.x").optional


def test_a_column_that_a_list_left_out_is_another_one_later():
    schema = UPDATE.replace_columns(WHOLE).replace_columns(f"n int, {WHOLE}").apply(1)
    assert schema.find("n").id == 18 and names(schema)[0] == "n"


def test_columns_in_place_of_all_from_arrow():
    fields = [field for field in to_arrow(BASE) if not field.name.startswith("_hoodie")]
    fields[1] = fields[1].with_metadata({"comment": "a number"})
    assert UPDATE.replace_columns(pa.schema(fields)).schema.fields == BASE.fields
    with pytest.raises(SchemaError, match="'n' takes null and cannot be made required"):
        UPDATE.replace_columns(pa.schema([*fields[:1], fields[1].with_nullable(False), *fields[2:]]))
    with pytest.raises(SchemaError, match="'new' cannot be added as NOT NULL"):
        UPDATE.replace_columns(pa.schema([*fields, pa.field("new", pa.int32(), nullable=False)]))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("", "no list of columns"),
        ((), "replaced by none"),
        ("id string NOT NULL", "no list of columns"),
        (f"{WHOLE}, PART string", "named twice"),
        (f"{WHOLE}, _hoodie_file_name string", "meta column"),
        (f"{WHOLE}, `a-b` int", "no name for a column"),
        (f"{WHOLE}, s struct<b:int,B:int>", "two fields of one name"),
        (f"{WHOLE}, n boolean", "column 'n' is of type int, which cannot become boolean"),
        (f"{WHOLE}, n struct<a:int>", "which cannot become struct<a: int>"),
        (f"{WHOLE}, scores map<string,struct<x:string,y:date>>", "'scores.value.y' is of type int, which cannot"),
        ("id string, info struct<x:int,y:int>", "'part' is not among the columns, and cannot be dropped: it is the"),
        ("id string, info struct<y:int>, part string", "'info.x' is not among the columns"),
        ("id string, part string", "'info.x' is not among the columns"),
        ("id string, info struct<x:double>, part string", "ordering column"),
        ("id binary, info struct<x:int>, part string", "record key"),
    ],
)
def test_lists_of_columns_that_are_refused(columns, reason):
    with pytest.raises(SchemaError) as caught:
        UPDATE.replace_columns(columns)
    assert reason in caught.value.message


def test_a_list_cannot_bring_a_key_that_files_lack():
    update = SchemaUpdate(BASE, protected={"key": "record key", "late": "ordering column"})
    with pytest.raises(SchemaError, match="no column can get the name 'key'"):
        update.replace_columns("id string, key string")
    assert names(update.replace_columns("id string, late int").schema) == ["id", "late"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda u: u.add("N", "int"), "there is a column 'n' already"),
        (lambda u: u.add("info.X", "int"), "there is a column 'info.x' already"),
        (lambda u: u.add("no.x", "int"), "there is no column 'no'"),
        (lambda u: u.add("tags.x", "int"), "is no struct but array<float>"),
        (lambda u: u.add("n.x", "int"), "is no struct but int"),
        (lambda u: u.add("1st", "int"), "no name for a column"),
        (lambda u: u.add("_hoodie_file_name", "int"), "meta column"),
        (lambda u: u.add("_hoodie_operation", "int"), "meta column"),
        (lambda u: u.add("a", "integers"), "no column type"),
        (lambda u: u.add("a", "map<int,int>"), "keys of maps are text"),
        (lambda u: u.add("a", "struct<b:int,B:int>"), "two fields of one name"),
        (lambda u: u.add("a", pa.struct([])), "struct without fields"),
        (lambda u: u.add("a", "int", after="no"), "to place another by"),
        (lambda u: u.add("a", "int", after="_hoodie_commit_time"), "before the meta columns"),
        (lambda u: u.add("a", "int", first=True, after="n"), "either first or after"),
        (lambda u: u.add("a", "int", first=True), "Hudi forbids"),
        (lambda u: u.move("n", first=True), "Hudi forbids"),
        (lambda u: u.add("a", "timestamp_ntz").apply(1), "Hudi cannot read"),
        (lambda u: u.drop("id"), "'id' is the table's record key"),
        (lambda u: u.drop("info"), "'info.x' is the table's ordering column"),
        (lambda u: u.drop("_hoodie_record_key"), "meta column"),
        (lambda u: u.drop("tags.element"), "list or map"),
        (lambda u: u.drop("scores.value.x").drop("scores.value.y"), "the last one"),
        (lambda u: u.rename("part", "p"), "partition column"),
        (lambda u: u.rename("info", "i"), "ordering column"),
        (lambda u: u.rename("n", "tags"), "already"),
        (lambda u: u.rename("n", "a-b"), "no name for a column"),
        (lambda u: u.rename("scores.key", "k"), "keys of maps never change"),
        (lambda u: u.change_type("scores.key", "binary"), "keys of maps never change"),
        (lambda u: u.change_type("id", "binary"), "record key"),
        (lambda u: u.change_type("info.x", "double"), "ordering column"),
        (lambda u: KEYED.change_type("n", "string"), "record key"),
        (lambda u: KEYED.change_type("scores.value.x", "bigint"), "partition column"),
        (lambda u: u.change_type("n", "boolean"), "which cannot become boolean"),
        (lambda u: u.change_type("n", "array<int>"), "which cannot become array<int>"),
        (lambda u: u.change_type("info", "string"), "which cannot become string"),
        (lambda u: u.change_type("info", "struct<x:int>"), "which cannot become"),
        (lambda u: u.required("n"), "takes null and cannot be made required"),
        (lambda u: u.move("n"), "say where"),
        (lambda u: u.move("n", after="n"), "by itself"),
        (lambda u: u.move("info.y", after="id"), "no column 'info.id'"),
        (lambda u: u.move("_hoodie_file_name", first=True), "meta column"),
        (lambda u: u.comment("tags.element", "x"), "list or map"),
        (lambda u: u.apply(1), "leave the schema as it is"),
        (lambda u: u.move("n", after="id").apply(1), "leave the schema as it is"),
    ],
)
def test_what_is_refused(change, reason):
    with pytest.raises(SchemaError) as caught:
        change(UPDATE)
    assert reason in caught.value.message


# -- rows of writers -------------------------------------------------------------------------------------------------


def test_rows_bring_new_columns_and_wider_numbers():
    rows = pa.schema(
        [
            ("_hoodie_commit_time", pa.string()),
            ("fresh", pa.list_(pa.int16())),
            ("N", pa.int64()),
            ("info", pa.struct([("z", pa.string()), ("y", pa.float32())])),
            ("tags", pa.list_(pa.int32())),
            ("last", pa.bool_()),
        ]
    )
    made = merge_writer(BASE, rows)
    assert names(made) == ["id", "fresh", "n", "info", "tags", "scores", "part", "last"]
    assert made.find("n").type == "long" and made.find("n").id == BASE.find("n").id
    assert [(item.name, item.type) for item in made.find("info").children] == [
        ("x", "int"),
        ("z", "string"),
        ("y", "float"),
    ]
    assert made.find("tags.element").type == "float"  # holds what the rows have
    assert {item.id for item in (made.find("fresh"), made.find("fresh.element"), made.find("last"))} <= set(
        range(18, 22)
    )
    assert made.max_column_id == 21 and made.version_id == BASE.version_id
    assert merge_writer(made, rows) is made


def test_rows_that_do_not_fit():
    for kind in (pa.string(), pa.list_(pa.int32()), pa.date32()):
        with pytest.raises(SchemaError, match="column 'n' is of type int and cannot take"):
            merge_writer(BASE, pa.schema([("n", kind)]))
    with pytest.raises(SchemaError, match="more than once"):
        merge_writer(BASE, pa.schema([("n", pa.int32()), ("N", pa.int32())]))
    with pytest.raises(SchemaError, match="Hudi cannot read"):
        merge_writer(BASE, pa.schema([("when", pa.timestamp("us"))]))


def test_decimals_widen_and_keep_the_table_s_kind():
    avro = {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}
    table = from_avro({"type": "record", "name": "r", "fields": [{"name": "d", "type": avro}]}, table_version=9)
    assert table.find("d").type == "decimal_bytes(8, 2)"
    assert merge_writer(table, pa.schema([("d", pa.decimal128(8, 2))])) is table
    assert merge_writer(table, pa.schema([("d", pa.decimal128(7, 1))])) is table
    wider = merge_writer(table, pa.schema([("d", pa.decimal128(10, 3))])).find("d")
    assert type_name(wider.type) == "decimal(10, 3)"


def test_texts_of_types():
    text = "struct<a:bigint,`b c` array<map<string,decimal(10,2)>>, d: Decimal(5), e varchar(9)>"
    assert type_name(parse_type(text)) == (
        "struct<a: long, b c: array<map<string, decimal(10, 2)>>, d: decimal(5, 0), e: string>"
    )
    kind = pa.struct([("a", pa.int64()), ("t", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.binary()))])
    assert type_name(type_of(kind)) == "struct<a: long, t: timestamp, l: array<binary>>"
    for wrong in ("", "struct<>", "array<int", "int int", "decimal(39,1)", "decimal(3,5)", "varchar(x)", "a;b"):
        with pytest.raises(SchemaError):
            parse_type(wrong)


def test_invalid_types_and_comments_are_refused_by_column():
    for kind in (pa.null(), pa.uint64(), pa.duration("s")):
        with pytest.raises(SchemaError, match="column 'new' of type"):
            UPDATE.add("info.new", kind)
    for kind in (None, int):
        with pytest.raises(SchemaError, match="no type for column 'new'"):
            UPDATE.add("new", kind)
    with pytest.raises(SchemaError, match="comment of column 'new' is no text: 3"):
        UPDATE.add("new", "int", doc=3)
    with pytest.raises(SchemaError, match="comment of column 'n' is no text: 5"):
        UPDATE.comment("n", 5)
