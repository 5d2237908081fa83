"""Instants of the timeline: their times, actions, states and the names of their files."""
