"""Loads of a surrogate as plain arrays, for comparison."""


def arrays(model, poses):
    """Return loads (N, ..., 12), Jacobians (N, ..., 6, 6) [SI] and variables (N, ..., 7) [1]."""
    loads = model.loads(poses, order=1)
    return getattr(loads, "values", loads.array).copy(), loads.jacobian, loads.variables
