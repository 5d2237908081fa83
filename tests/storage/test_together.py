"""Calls that wait for a store at the same time: their order, their errors, and an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from hudi_hive.storage import run_together


class Remote:
    is_local = False


def test_answers_and_errors_come_in_the_order_of_calls():
    assert run_together(Remote(), [lambda number=number: number for number in range(100)]) == list(range(100))
    ended = threading.Event()

    def refuse():
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        run_together(Remote(), [refuse, ended.set])
    assert ended.is_set()


INTERRUPTED = """
import itertools
import threading
from hudi_hive.storage import run_together

class Remote:
    is_local = False

begun, numbers, goes_on = [], itertools.count(1), threading.Event()

def call():
    number = next(numbers)
    begun.append(number)
    if number == 32:
        print("begun", flush=True)
    goes_on.wait()

try:
    run_together(Remote(), [call] * 100)
except KeyboardInterrupt:
    goes_on.set()
    threading._shutdown()
    print(len(begun))
"""


def test_an_interrupt_leaves_out_what_has_not_begun():
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.communicate()[0] == "32\n"
