"""Base files (Parquet, ORC, HFile) behind one interface: schema, statistics, rows by column, and their writer."""
