"""A real Hive metastore in a child process, for demos and tests."""
