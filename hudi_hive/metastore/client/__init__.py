"""The metastore client: databases, tables, and partitions in batches."""
