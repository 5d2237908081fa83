"""The Hive table that a Hudi table becomes: columns, types, storage descriptor, Spark's table properties."""
