"""How far rounding alone parts two evaluations of one surrogate."""

import numpy as np

#: Roundings of a feature and of its product with a weight, for which a tolerance allows.
ROUNDINGS = 8


def rounding(*compartments):
    """Return how far two evaluations may differ, over the size of what is evaluated.

    An output is y_offset + y_scale * sum(weights * features) with features of about 1 at most, so
    that features and sums which are rounded otherwise move it by some eps * sum(|weights|) of its
    scale. That sum is the condition number: about 10 of a polynomial, 4e5 of Kriging with a nugget
    of 1e-6, whose weights cancel. It is taken from the fit in hand, as the kernels of the BLAS
    round every fit otherwise.
    """
    sums = [
        np.abs(regressor.weights).sum(axis=1).max()
        for compartment in compartments
        for regressor in compartment.regressors
        if regressor.outputs
    ]
    return ROUNDINGS * float(np.finfo(float).eps) * max(sums)
