"""The loads of a knee as a function of JAX."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foundation.base.checks import FloatArray
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


def jax_knee(
    parts: Sequence[PackedCompartment], ranges: tuple[FloatArray, FloatArray] | None = None
) -> Callable[..., tuple[Any, Any]]:
    """Return the loads of a knee as a pure function of JAX arrays.

    As of `surrogates.formulations.contact_surrogate.ContactSurrogate.jax`; with least and largest
    values `ranges` (P,) [any unit] of the parameters of designs, the design is the last argument.
    The pose may be six numbers. The function raises an InputError if an argument has another shape,
    and warns if its type is too coarse for the weights of the regressors.
    """
    jnp = jax().numpy
    coarseness = max(rounding(part) for part in parts)
    low, high = np.empty((2, 0)) if ranges is None else ranges

    def knee(pose: Any, design: Any) -> tuple[Any, Any]:
        whole = pose if isinstance(pose, tuple) else jnp.asarray(pose)
        own = jnp.asarray(design)
        _check_length("pose", whole, 6)
        _check_length("design", own, len(low))
        kind = jnp.result_type(*whole) if isinstance(whole, tuple) else whole.dtype
        _check_rounding(coarseness * float(jnp.finfo(kind).eps))
        f = JaxFunctions(kind)
        z = (own.astype(kind) - f.constant(0.5 * (low + high))) / f.constant(0.5 * (high - low))
        loads, domain = loads_and_criteria(f, parts, whole, z)
        return jnp.stack(loads), jnp.stack(domain)

    return knee if ranges is not None else lambda pose: knee(pose, low)


def _check_length(name: str, numbers: Any, length: int) -> None:
    """Raise an InputError unless there are as many numbers as a length."""
    shape = (len(numbers),) if isinstance(numbers, tuple) else numbers.shape
    if shape != (length,):
        raise InputError(
            f"{name}: expected shape ({length},), found {shape}; use jax.vmap for rows of poses"
        )


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
