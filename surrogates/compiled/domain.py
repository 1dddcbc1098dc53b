"""Distance of a pose from the trained part of a compartment's space."""

from __future__ import annotations

from foundation.base.compiling import part
from surrogates.compiled.evaluation import evaluate_value
from surrogates.compiled.layout import OUTPUTS

#: Numbers of `work` that `extrapolation` needs before the regressor's.
DOMAIN_SCRATCH = 16


@part
def extrapolation(x, loads, gap, limits, regressor, work):
    """Return the extrapolation of a compartment's loads: at most 1 in the trained part.

    `x` (6,) are the scaled variables of the box, filled by the evaluation of the loads, and `loads`
    (12,) the predicted loads, in the order of `foundation.base.loads.LOAD_COLUMNS`. `gap` is the
    height over the predicted first contact [m], 0 in contact and where unknown. `limits` (4,) are
    the largest size of F_x / F_y and of F_z / F_y, the largest peak pressure [Pa], and the gap
    above which a condyle is certainly lifted [m].

    `regressor` is a function of x: shares of the first two limits, and the logarithm of the
    expected over the largest accepted error; their weight falls with the gap. Without outputs the
    predicted loads alone decide. `work` (W,) is scratch, W at least `DOMAIN_SCRATCH` and the
    regressor's.
    """
    found, axial = 0.0, loads[1]
    if axial > 0.0:
        found = max(abs(loads[0]) / (limits[0] * axial), abs(loads[2]) / (limits[1] * axial))
        found = max(found, loads[7] / limits[2])
    count = regressor.layout[OUTPUTS]
    if count == 0:
        return found
    inputs, out, scratch = work[0:6], work[8 : 8 + count], work[DOMAIN_SCRATCH:]
    for k in range(6):
        inputs[k] = min(max(x[k], -1.0), 1.0)
    evaluate_value(inputs, regressor, out, scratch)
    learnt = 1.0 + out[count - 1]
    for k in range(count - 1):
        learnt = max(learnt, abs(out[k]))
    return max(found, learnt * (1.0 - min(gap / limits[3], 1.0)))
