"""Single systems of the literature: planar knee, ground contact, chains, unilateral, impact."""
