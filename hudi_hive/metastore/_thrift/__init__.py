"""Generated Thrift stubs of the Hive metastore (see ``tools/generate_thrift.sh``); do not edit."""
