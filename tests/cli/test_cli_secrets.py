"""Values of options that say where they are, so that they stand on no command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive.cli.common import pairs
from hudi_hive.errors import InvalidOptionError


def test_a_value_comes_from_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a:b=c"
    file.write_text("s3cr3t = @env:X\nsecond\n")
    monkeypatch.setenv("PASSWORD_OF_TEST", " p=w ")
    words = (f"a=@file:{file}", "b=@env:PASSWORD_OF_TEST", "c=@filename", "d=file:/x", "e=", "f=x@env:HOME")
    assert pairs(words, "--conf") == {
        "a": "s3cr3t = @env:X\nsecond",
        "b": " p=w ",
        "c": "@filename",
        "d": "file:/x",
        "e": "",
        "f": "x@env:HOME",
    }


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for value in (f"@file:{tmp_path}/none", f"@file:{tmp_path}", "@env:NO_SUCH_VARIABLE", "@env:", "@file:"):
        with pytest.raises(InvalidOptionError, match="--conf name: "):
            pairs((f"name={value}",), "--conf")
    with pytest.raises(InvalidOptionError, match="it is no text"):
        pairs((f"name=@file:{tmp_path}/bytes",), "--conf")
