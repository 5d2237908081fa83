"""SQL statements over synced tables: parser, ALTER, SHOW PARTITIONS, time travel, refusals."""
