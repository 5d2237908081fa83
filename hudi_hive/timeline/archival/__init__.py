"""Moves old instants from the active to the archived timeline."""
