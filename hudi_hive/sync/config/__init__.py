"""The options of Hive sync, by Hudi's own names, and partition value extractors."""
