"""The loads of a knee as a function of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from surrogates.expressions.data import CompartmentData
from surrogates.expressions.domain import loads_and_criteria
from surrogates.expressions.of_jax import JaxFunctions, jax

#: Poses of a batch; larger ones leave the cache of a processor.
BATCH = 1024


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
    parts: Sequence[CompartmentData], dissipation: float | None = None
) -> Callable[..., tuple[Any, Any]]:
    """Return the loads of a knee as a pure function of JAX arrays.

    Parameters
    ----------
    parts : sequence of CompartmentData
        The C compartments.
    dissipation : float, optional
        Of a moving contact [s/m], which makes the rate an argument.

    Returns
    -------
    callable
        pose (6,) [rad, m], with dissipation also rate (6,) [rad/s, m/s], to loads (C, 12) [SI] and
        domain (C, 12) [1], in the floating-point type of the pose; the pose may be six numbers.

    Raises
    ------
    InputError
        If JAX is not installed.
    """
    np = jax().numpy

    def knee(pose: Any, rate: Any = None) -> tuple[Any, Any]:
        pose = pose if isinstance(pose, tuple) else np.asarray(pose)
        f = JaxFunctions(np.result_type(*pose) if isinstance(pose, tuple) else pose.dtype)
        moving = None if rate is None else np.asarray(rate)
        loads, domain = loads_and_criteria(f, parts, pose, moving, dissipation)
        return np.stack(loads), np.stack(domain)

    if dissipation is None:
        return lambda pose: knee(pose)
    return knee
