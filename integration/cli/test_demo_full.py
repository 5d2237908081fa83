"""``make demo-full``: all servers of the set-up start, answer, and are gone at the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from integration.support.stores.hadoop_aws import s3a_class_path
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("words", [long_case(["--once"], name="once")])
def test_the_whole_set_up_starts_answers_and_ends(words: list[str]) -> None:
    if not s3a_class_path():
        pytest.skip("hadoop-aws cannot be downloaded")
    command = [sys.executable, "-m", "tools.demo_full", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=1800, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stderr
    for part in ("thrift://127.0.0.1:", "jdbc:hive2://127.0.0.1:", "[('a', 12.5), ('b', 9.5)]", "they show the table"):
        assert part in ended.stdout
    assert ended.stdout.endswith("ended; nothing of it stays\n")
