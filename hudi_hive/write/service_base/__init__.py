"""What all table services share: their context, their claim on a plan, and checks before they start."""
