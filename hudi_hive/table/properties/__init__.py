"""``hoodie.properties``: reads, checks and writes the configuration of a table."""
