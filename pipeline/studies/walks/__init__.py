"""From measured walking to the loads of the knee, and its simulated stride."""
