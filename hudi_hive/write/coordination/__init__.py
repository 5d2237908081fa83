"""What keeps writers from harming each other: locks, heartbeats, conflict checks, steps after a commit."""
