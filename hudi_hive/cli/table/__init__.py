"""``hudi-hive table …``, ``stats``, ``metadata`` and ``schema``: commands on one table."""
