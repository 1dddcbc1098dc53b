"""Theory of an elastic layer that springs and finite elements share."""
