"""The timeline of one table: loads its instants, makes new instant times, and writes instants' files."""
