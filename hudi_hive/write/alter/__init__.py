"""Schema changes by ``ALTER TABLE`` as commits of their own (RFC-33)."""
