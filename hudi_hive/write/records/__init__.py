"""Records on their way into a table: keys, partition paths, locations."""
