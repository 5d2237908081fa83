"""The columns of a file made those of the query: reconciliation, promotion of types, filters."""
