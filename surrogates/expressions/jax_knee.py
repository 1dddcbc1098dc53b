"""The loads of a knee as a function of JAX."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foundation.base.errors import InputError
from surrogates.core.packing import PackedCompartment
from surrogates.expressions.compartment import loads_and_criteria, mean_fall
from surrogates.expressions.of_jax import JaxFunctions, jax

#: Rounding of the loads, over their peaks, above which there is a warning.
_MOST_ROUNDING = 1e-3


def with_jacobian(function: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function of a pose (6,) [rad, m] that gives `function` (...) and d/d(pose) (..., 6).

    In about two thirds of the time of `jax.jacfwd`, which does not see that a coordinate of the
    pose leaves much of the geometry as it is. The pure `function` takes an array or six numbers:
    ``lambda pose: knee.jax()(pose)[0]``.
    """
    module = jax()

    def twice(*coordinates: Any) -> tuple[Any, Any]:
        found = function(coordinates)
        return found, found

    slopes = module.jacfwd(twice, argnums=tuple(range(6)), has_aux=True)

    def both(pose: Any) -> tuple[Any, Any]:
        by_coordinate, found = slopes(*(pose[k] for k in range(6)))
        return found, module.numpy.stack(by_coordinate, axis=-1)

    return both


def jax_knee(parts: Sequence[PackedCompartment]) -> Callable[..., tuple[Any, Any]]:
    """Return the loads of a knee as a pure function of JAX arrays, as of `ContactSurrogate.jax`.

    The pose may be six numbers. The function raises an InputError if the pose has another shape,
    and warns if its type is too coarse for the weights of the regressors.
    """
    jnp = jax().numpy
    coarseness = max(rounding(part) for part in parts)

    def knee(pose: Any) -> tuple[Any, Any]:
        whole = pose if isinstance(pose, tuple) else jnp.asarray(pose)
        shape = (len(whole),) if isinstance(whole, tuple) else whole.shape
        if shape != (6,):
            raise InputError(
                f"pose: expected shape (6,), found {shape}; use jax.vmap for rows of poses"
            )
        kind = jnp.result_type(*whole) if isinstance(whole, tuple) else whole.dtype
        _check_rounding(coarseness * float(jnp.finfo(kind).eps))
        loads, domain = loads_and_criteria(JaxFunctions(kind), parts, whole)
        return jnp.stack(loads), jnp.stack(domain)

    return knee


def _check_rounding(worst: float) -> None:
    """Warn where the rounding of sums of large weights [1] is seen in the loads."""
    if worst > _MOST_ROUNDING:
        warnings.warn(
            f"knee.jax: the rounding of single precision is about {100.0 * worst:.1g} % of the "
            "largest load, as the large weights of Kriging cancel; pass poses in double precision "
            '(jax.config.update("jax_enable_x64", True)), or train polynomials or networks',
            stacklevel=4,
        )


def rounding(packed: PackedCompartment) -> float:
    """Return about by what share of the largest load [1] sums of correlations are rounded.

    In units of the spacing of numbers about 1, from the weights of the points, and, for a learnt
    height, from how much the root of the load changes with the height.
    """
    shares = [0.0]
    for k, part in enumerate(packed.fields["parts"]):
        data, first = part.data, len(part.data.exponents)
        weights = data.weights[:, first : first + len(data.points)]
        if not weights.size:
            continue
        errors = np.sqrt((weights**2).sum(axis=1))
        if k == 0 and not packed.fields["direct"]:
            height = 0.5 * errors[0] * data.y_scale[0] / mean_fall(packed)
            shares.append(packed.fields["degree"] * height)
            errors = errors[1:]
        shares.extend(errors)  # of outputs of unit deviation
    return float(max(shares))
