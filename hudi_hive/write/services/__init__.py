"""Table services: a table and a plan in, a completed action on its timeline out.

Rollback, clean, compaction, clustering, savepoint and restore; each is scheduled (its plan is written) and executed
apart, and an execution that died is taken up again from its plan.
"""
