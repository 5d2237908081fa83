"""What differs between a Hudi table and its entry in the metastore: partitions, columns, properties."""
