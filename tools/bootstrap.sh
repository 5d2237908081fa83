#!/usr/bin/env bash
# Check Python and Java, then make the virtual environment with the pinned dependencies and this package.
# Usage: tools/bootstrap.sh VENV_DIRECTORY
set -euo pipefail
venv=${1:?usage: tools/bootstrap.sh VENV_DIRECTORY}
fail() { echo "error: $*" >&2; exit 1; }

python=""
for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
  if command -v "$candidate" >/dev/null 2>&1 &&
     "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is needed and was not found; install it or set PYTHON=/path/to/python3"

java=java
[ -z "${JAVA_HOME:-}" ] || java="$JAVA_HOME/bin/java"
command -v "$java" >/dev/null 2>&1 || fail "Java 17 is needed and was not found; install it or set JAVA_HOME"
version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9][0-9]*\).*/\1/p' | head -n 1)
[ "${version:-0}" -ge 17 ] || fail "Java 17 or newer is needed, '$java' is version ${version:-unknown}; set JAVA_HOME"

"$python" -m venv "$venv" || fail "cannot make a virtual environment with $python; install its venv module"
echo "installing the pinned dependencies into $venv (once) ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.lock
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .

# Tests ask twenty statements of Spark 3.5, too, which lies in a folder of its own and shares the other packages.
spark35="pyspark==3.5.9 py4j==0.10.9.7"
if [ ! -d "$venv/pyspark-3.5/pyspark-3.5.9.dist-info" ]; then
  rm -rf "$venv/pyspark-3.5"
  # shellcheck disable=SC2086 # several requirements
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$venv/pyspark-3.5" $spark35
fi

# Logins by Kerberos need a package that is built here, with Debian's headers. Without it all else works, and the tests
# that need it are left out with the reason.
kerberos="gssapi==1.12.0 decorator==5.3.1"
if ! "$venv/bin/python" -c 'import gssapi' 2>/dev/null; then
  if ! command -v krb5-config >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    install=(apt-get install --yes --quiet --no-install-recommends libkrb5-dev krb5-user krb5-kdc krb5-admin-server)
    export DEBIAN_FRONTEND=noninteractive
    "${install[@]}" </dev/null >/dev/null 2>&1 || { apt-get update && "${install[@]}"; } </dev/null >/dev/null 2>&1 || true
  fi
  # shellcheck disable=SC2086 # several requirements
  if ! command -v krb5-config >/dev/null 2>&1 ||
     ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $kerberos; then
    echo "note: no logins by Kerberos: apt-get install libkrb5-dev, then pip install $kerberos" >&2
  fi
fi

# The pages of `hudi-hive ui` are looked at in a real browser. Without it those tests are left out with the reason.
if ! command -v chromium >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  install=(apt-get install --yes --quiet --no-install-recommends chromium)
  export DEBIAN_FRONTEND=noninteractive
  { "${install[@]}" || { apt-get update && "${install[@]}"; }; } </dev/null >/dev/null 2>&1 ||
    echo "note: no browser for the tests of pages: apt-get install chromium" >&2
fi
