"""The loads of a knee as a function of JAX."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foundation.base.errors import InputError
from surrogates.core.packing import PackedContact
from surrogates.expressions.data import CompartmentData, ParameterData
from surrogates.expressions.domain import loads_and_criteria, moving_loads
from surrogates.expressions.jax_kernels import kernel_loads
from surrogates.expressions.of_jax import JaxFunctions, jax

#: Poses of a batch; larger ones leave the cache of a processor.
BATCH = 1024
#: Rounding of the loads, over their peaks, above which there is a warning.
_MOST_ROUNDING = 1e-3


def in_batches(function: Callable[..., Any], size: int = BATCH) -> Callable[..., Any]:
    """Return a function of JAX over many rows, a batch at a time, in bounded memory.

    Parameters
    ----------
    function : callable
        Pure function of arrays (n,), such as `jax_knee` or its derivative.
    size : int
        Rows of a batch.

    Returns
    -------
    callable
        The same function of arrays (N, n).
    """
    lax = jax().lax
    return lambda *rows: lax.map(lambda own: function(*own), rows, batch_size=size)


def with_jacobian(function: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function of a pose that gives what `function` does, and its derivative.

    In about two thirds of the time of `jax.jacfwd`, which does not see that a coordinate of the
    pose leaves much of the geometry as it is.

    Parameters
    ----------
    function : callable
        Pure function of a pose, an array or six numbers, to an array (...), such as
        ``lambda pose: knee.jax()(pose)[0]``.

    Returns
    -------
    callable
        pose (6,) [rad, m] to the array (...) and its derivative by the pose (..., 6).
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
    parts: Sequence[CompartmentData],
    dissipation: float | None = None,
    kernels: PackedContact | None = None,
    wrench_only: bool = False,
    parameters: ParameterData | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """Return the loads of a knee as a pure function of JAX arrays.

    Parameters
    ----------
    parts : sequence of CompartmentData
        The C compartments.
    dissipation : float, optional
        Of a moving contact [s/m], which makes the rate an argument.
    kernels : PackedContact, optional
        The compartments for the library: the loads are those of
        `surrogates.expressions.jax_kernels`, in double precision on the host.
    wrench_only : bool
        Whether the function returns the first six loads alone.
    parameters : ParameterData, optional
        The P parameters of designs, which makes the design the last argument; without `kernels`.

    Returns
    -------
    callable
        pose (6,) [rad, m], with dissipation also rate (6,) [rad/s, m/s], with parameters also
        design (P,) [units of the names], to loads (C, 12) or wrench (C, 6) [SI], and domain (C, 12)
        [1], in the floating-point type of the pose; the pose may be six numbers.

    Raises
    ------
    InputError
        If JAX is not installed; from the callable, if an argument has another shape.

    Warns
    -----
    UserWarning
        From the callable, if its type is too coarse for the weights of the regressors.
    """
    jnp = jax().numpy
    coarseness = max(rounding(part) for part in parts)

    def still(pose: Any) -> Any:
        f = JaxFunctions(pose.dtype)
        return jnp.stack(loads_and_criteria(f, parts, pose)[0])

    at_rest = None if kernels is None else kernel_loads(kernels, still)

    def knee(pose: Any, rate: Any = None, design: Any = None) -> tuple[Any, Any]:
        whole = pose if isinstance(pose, tuple) else jnp.asarray(pose)
        kind = jnp.result_type(*whole) if isinstance(whole, tuple) else whole.dtype
        _check_length("pose", whole, 6)
        spacing = float(jnp.finfo(kind).eps)
        if at_rest is None:
            _check_rounding(coarseness * spacing)
        f = JaxFunctions(kind)
        z = None if parameters is None else parameters.scaled(f, design.astype(kind))
        expressed, domain = loads_and_criteria(f, parts, whole, z)
        if at_rest is None:
            loads = jnp.stack(expressed)[:, : 6 if wrench_only else 12]
        else:
            wrench, others = at_rest(jnp.asarray(whole))
            loads = wrench if wrench_only else jnp.concatenate([wrench, others], axis=1)
        if dissipation is not None:
            loads = jnp.stack(moving_loads(f, parts, loads, whole, rate, dissipation, z))
        return loads, jnp.stack(domain)

    sizes = {} if dissipation is None else {"rate": 6}
    if parameters is not None:
        sizes["design"] = len(parameters.middle)

    def with_arguments(pose: Any, *others: Any) -> tuple[Any, Any]:
        given = dict(zip(sizes, map(jnp.asarray, others), strict=True))
        for name, numbers in given.items():
            _check_length(name, numbers, sizes[name])
        return knee(pose, **given)

    return with_arguments


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


def rounding(part: CompartmentData) -> float:
    """Return about by what share of the largest load [1] sums of correlations are rounded.

    In units of the spacing of numbers about 1, from the weights of the points, and, for a learnt
    height, from how much the root of the load changes with the height.
    """
    shares = [0.0]
    for k, data in enumerate(part.parts):
        first = len(data.exponents)
        weights = data.weights[:, first : first + len(data.points)]
        if not weights.size:
            continue
        errors = np.sqrt((weights**2).sum(axis=1))
        if k == 0 and part.learns_heights:
            shares.append(part.degree * 0.5 * errors[0] * data.y_scale[0] / part.fall)
            errors = errors[1:]
        shares.extend(errors)  # of outputs of unit deviation
    return float(max(shares))
