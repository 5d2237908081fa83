"""What docs/stores.md says to type runs as it stands, with the keys and the endpoint in the environment."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive.cli import cli
from hudi_hive.testing import FakeMetastore
from integration.support.stores.s3 import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


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
