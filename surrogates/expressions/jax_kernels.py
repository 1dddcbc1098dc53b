"""The loads of a knee as a function of JAX that calls the library on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.core.packing import PackedContact
from surrogates.expressions.of_jax import jax


def host_loads(contact: PackedContact, poses: ArrayLike, order: int) -> list[FloatArray]:
    """Return loads (..., C, 12) of compartments at poses (..., 6) [rad, m], in double precision.

    Derivatives of the wrench (..., C, 6, 6 ...) [SI] follow, as many as the order, 1 or 2; of a
    pose that is not finite all numbers are NaN.
    """
    given = np.asarray(poses)
    rows = np.array(given, dtype=np.float64, order="C").reshape(-1, 6)
    found = contact.loads(rows, order)[1][1:]
    for own in found:
        own[~np.isfinite(rows).all(axis=1)] = np.nan
    return [own.reshape(*given.shape[:-1], *own.shape[1:]) for own in found]


def kernel_loads(
    contact: PackedContact, expressed: Callable[[Any], Any]
) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function of JAX of a pose (6,), whose numbers the kernels compute.

    It gives the wrench (C, 6) and the other loads (C, 6) [SI] in the floating-point type of the
    pose, with first and second derivatives. A call, or a call under `vmap` for all poses of a
    batch, calls the host once, for values and first derivatives together. `expressed`, the loads
    (C, 12) as a function of JAX alone, has the derivatives of the other loads, which the kernels do
    not compute.
    """
    module, count = jax(), len(contact.parts)
    evaluate = _on_host(lambda own: host_loads(contact, own, 1), (count, 12), (count, 6, 6))
    bend = _on_host(lambda own: host_loads(contact, own, 2)[2:], (count, 6, 6, 6))

    def found(pose: Any) -> tuple[Any, Any, Any]:
        loads, slopes = evaluate(pose)
        return loads[:, :6], loads[:, 6:], slopes

    values = module.custom_jvp(lambda pose: found(pose)[:2])
    with_slopes = module.custom_jvp(found)
    bends = module.custom_jvp(lambda pose: bend(pose)[0])

    def changes(slopes: Any, pose: Any, change: Any) -> tuple[Any, Any]:
        others = module.jvp(expressed, (pose,), (change,))[1][:, 6:]
        return slopes @ change, others

    @values.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        wrench, others, slopes = with_slopes(primals[0])
        return (wrench, others), changes(slopes, primals[0], tangents[0])

    @with_slopes.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (pose,), (change,) = primals, tangents
        all_found = with_slopes(pose)
        turned = bends(pose) @ change
        return all_found, (*changes(all_found[-1], pose, change), turned)

    @bends.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise InputError(
            "knee.jax(kernels=True): expected derivatives up to the second, found third "
            "derivatives, which the kernels do not compute; use knee.jax()"
        )

    return values


def _on_host(
    function: Callable[[Any], list[FloatArray]], *shapes: tuple[int, ...]
) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function of JAX of a pose (6,) that calls the host, once for a batch of poses."""
    module = jax()

    def called(pose: Any) -> tuple[Any, ...]:
        kind = pose.dtype
        wanted = tuple(module.ShapeDtypeStruct(shape, kind) for shape in shapes)

        def cast(poses: Any) -> tuple[Any, ...]:
            return tuple(own.astype(kind, copy=False) for own in function(poses))

        found: tuple[Any, ...] = module.pure_callback(cast, wanted, pose, vmap_method="expand_dims")
        return found

    return called
