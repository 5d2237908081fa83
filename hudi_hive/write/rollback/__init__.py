"""Takes commits back: rollback, restore and savepoints."""
