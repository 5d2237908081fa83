#!/usr/bin/env bash
# Generates hudi_hive/metastore/_thrift from hive_metastore.thrift. Needs thrift-compiler (Debian: apt-get install thrift-compiler).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
command -v thrift >/dev/null || { echo "thrift is missing: apt-get install thrift-compiler" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
thrift --gen py:slots,enum -out "$work" "$root/hudi_hive/metastore/hive_metastore.thrift"
target=$root/hudi_hive/metastore/_thrift
mkdir -p "$target"
cp "$work"/hive_metastore/{ttypes,constants,ThriftHiveMetastore}.py "$target/"
# The generated code logs to the root logger, which prints in every program that did not set logging up.
sed -i 's/logging\.exception(/logging.getLogger(__name__).exception(/' "$target/ThriftHiveMetastore.py"
cat > "$target/__init__.py" <<'PY'
"""Generated Thrift stubs of the Hive metastore (see ``tools/generate_thrift.sh``); do not edit."""
PY
"$python" "$root/tools/thrift_type_stubs.py" "$target"
