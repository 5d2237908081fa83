#!/bin/bash
# The image's own start makes the schema each time, and ends where the database has one: as from the second start on.
if HADOOP_CLIENT_OPTS="${HADOOP_CLIENT_OPTS:-} ${SERVICE_OPTS:-}" /opt/hive/bin/schematool -dbType "$DB_DRIVER" -info; then
  export IS_RESUME=true
fi
exec /entrypoint.sh
