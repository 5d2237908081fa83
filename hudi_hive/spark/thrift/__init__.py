"""A Spark Thrift server whose sessions are enabled."""
