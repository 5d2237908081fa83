"""ORC files below the level of rows: footers, statistics, and Hive's ACID files with their five event columns."""
