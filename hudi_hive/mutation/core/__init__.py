"""What transactions over Hive ACID tables and over Hudi tables share."""
