"""Cuts scan plans into splits, and loads them in the background by partition."""
