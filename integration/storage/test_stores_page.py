"""What docs/stores.md and docs/credentials.md say to type runs as it stands, on a store with keys."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.testing import FakeMetastore
from integration.support.stores.s3 import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server

DOCS = Path(__file__).parents[2] / "docs"


def blocks(language: str, page: str = "stores.md") -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_code_and_commands_of_the_page(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in s3.environment().items():
        monkeypatch.setenv(name, text)
    monkeypatch.chdir(tmp_path)
    assert BUCKET == "lake"
    (code,) = blocks("py")
    exec(code, {"rows": pa.table({"id": ["a", "b"], "v": [1, 2]})})
    Path("s3.properties").write_text(f"access_key={ACCESS_KEY}\nsecret_key={SECRET_KEY}\n", encoding="utf-8")
    (commands,) = blocks("bash")
    answers = []
    with FakeMetastore(tmp_path / "warehouse") as metastore:
        for line in commands.splitlines():
            words = shlex.split(line.replace("thrift://host:9083", metastore.uri), comments=True)[1:]
            result = CliRunner().invoke(cli, words, catch_exceptions=False)
            assert result.exit_code == 0, result.output
            answers.append(result.output)
    assert len(answers) == 3 and " a " in answers[1] and " b " in answers[1]


def test_keys_in_a_file_as_the_page_of_credentials_has_them(s3: S3Server, tmp_path: Path) -> None:
    HudiTable.create("s3a://lake/orders", name="orders", record_keys=["id"], storage_options=s3.options()).upsert(
        pa.table({"id": ["of the page"]})
    )
    (commands,) = blocks("sh", "credentials.md")
    read, sync = commands.replace("/run/secrets/", f"{tmp_path}/").splitlines()
    (tmp_path / "lake.properties").write_text("".join(f"{name}={text}\n" for name, text in s3.options().items()))
    result = CliRunner().invoke(cli, shlex.split(read)[1:], catch_exceptions=False)
    assert result.exit_code == 0 and "of the page" in result.output
    # The server of its mode is integration/sync's; here the password's file is looked for, and not shown.
    result = CliRunner().invoke(cli, shlex.split(sync.replace("/lake/orders", str(tmp_path)))[1:])
    assert result.exit_code == 1 and f"{tmp_path}/hive" in str(result.exception)
