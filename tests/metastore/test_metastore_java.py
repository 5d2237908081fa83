"""Which Java is taken, and what is said when none will do."""

from __future__ import annotations

import pytest

from hudi_hive.errors import JavaNotFoundError
from hudi_hive.metastore import find_java


def make_java(home, *, release=None, prints=None):
    """A Java runtime of a ``release`` file or of what ``java -version`` prints."""
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "java"
    script.write_text(f"#!/bin/sh\nprintf '%s\\n' '{prints or ''}' >&2\n")
    script.chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    return home


@pytest.mark.parametrize(
    ("release", "prints", "version"),
    [
        ("17.0.15", None, 17),
        ("21", None, 21),
        ("25-ea", None, 25),
        (None, 'openjdk version "17.0.2" 2022-01-18', 17),
        (None, 'java version "1.8.0_392"', 8),
    ],
)
def test_the_version_of_java_is_read_or_asked_for(tmp_path, release, prints, version):
    home = make_java(tmp_path / "jdk", release=release, prints=prints)
    found = find_java(8, environment={"JAVA_HOME": str(home), "PATH": ""})
    assert (found.version, found.executable, found.home) == (version, home / "bin" / "java", home)


def test_path_is_used_without_java_home(tmp_path):
    home = make_java(tmp_path / "jdk", release="17.0.1")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    found = find_java(environment={"PATH": str(tmp_path / "links"), "JAVA_HOME": " "})
    assert (found.version_text, found.home) == ("17.0.1", home)


def test_java_home_wins_over_path_even_when_it_is_too_old(tmp_path):
    old, new = make_java(tmp_path / "old", release="1.8.0_392"), make_java(tmp_path / "new", release="17.0.1")
    with pytest.raises(JavaNotFoundError, match=r"JAVA_HOME=.*old has version 1\.8\.0_392, 17 or newer"):
        find_java(environment={"JAVA_HOME": str(old), "PATH": str(new / "bin")})


@pytest.mark.parametrize(
    ("release", "prints", "what"), [("11.0.2", None, "11.0.2"), (None, "no version at all", "cannot tell")]
)
def test_java_that_cannot_be_used_is_an_error(tmp_path, release, prints, what):
    home = make_java(tmp_path / "jdk", release=release, prints=prints)
    with pytest.raises(JavaNotFoundError, match=what) as caught:
        find_java(environment={"PATH": str(home / "bin")})
    assert "\n" not in str(caught.value) and "install a Java 17" in str(caught.value)


def test_none_at_all(tmp_path):
    with pytest.raises(JavaNotFoundError, match="no Java found"):
        find_java(environment={"PATH": str(tmp_path)})
    with pytest.raises(JavaNotFoundError, match="holds no bin/java"):
        find_java(environment={"JAVA_HOME": str(tmp_path), "PATH": ""})


def test_one_that_does_not_run(tmp_path):
    home = make_java(tmp_path / "jdk")
    (home / "bin" / "java").write_text("#!/no/such/interpreter\n")
    with pytest.raises(JavaNotFoundError, match="does not run"):
        find_java(environment={"JAVA_HOME": str(home)})
