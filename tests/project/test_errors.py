"""The error hierarchy: one base, one line, survives pickling, and its tree in the docstring is complete."""

from __future__ import annotations

import inspect
import pickle

import pytest

from hudi_hive import errors

CLASSES = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.HudiHiveError)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_every_error_names_path_instant_and_remedy(kind):
    error = kind("no such\nthing", path="file:/t", instant="20240101000000000", remedy="look again")
    assert str(error) == "no such thing [path file:/t] [instant 20240101000000000]; look again"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind and str(copy) == str(error) and copy.remedy == "look again"
    assert kind.__name__ in (errors.__doc__ or ""), "draw it in the module's tree"


def test_no_name_hides_a_builtin():
    import builtins

    assert not [c.__name__ for c in CLASSES if hasattr(builtins, c.__name__)]
