"""The loads of a knee as a function of JAX that calls the library on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foundation.base.errors import InputError
from surrogates.core.packing import PackedContact
from surrogates.expressions import host_loads
from surrogates.expressions.of_jax import jax


def kernel_loads(
    contact: PackedContact, expressed: Callable[[Any], Any]
) -> Callable[[Any], tuple[Any, Any]]:
    """Return the loads of C compartments as a function of JAX whose numbers the kernels compute.

    A call, or a call under `vmap` for all poses of a batch, calls the host once, for values and
    first derivatives together. The host computes in double precision.

    Parameters
    ----------
    contact : PackedContact
        The compartments for the library.
    expressed : callable
        The loads (C, 12) as a function of JAX alone. `expressed` has the derivatives of the loads
        that follow the wrench, which the kernels do not compute.

    Returns
    -------
    callable
        pose (6,) [rad, m] to the wrench (C, 6) and the other loads (C, 6) [SI], in the
        floating-point type of the pose, with first and second derivatives. Third derivatives of the
        wrench raise an InputError.
    """
    module = jax()
    count = len(contact.parts)
    evaluate = _on_host(
        lambda own: host_loads.loads_and_jacobians(contact, own), count, (12,), (6, 6)
    )
    bend = _on_host(lambda own: (host_loads.hessians(contact, own),), count, (6, 6, 6))

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
    function: Callable[[Any], tuple[Any, ...]], count: int, *shapes: tuple[int, ...]
) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function of JAX of a pose (6,) that calls the host, once for a batch of poses.

    `function` takes poses (..., 6) [rad, m]; its results are (..., count, *shape), one for each of
    the shapes.
    """
    module = jax()

    def called(pose: Any) -> tuple[Any, ...]:
        kind = pose.dtype
        wanted = tuple(module.ShapeDtypeStruct((count, *shape), kind) for shape in shapes)

        def cast(poses: Any) -> tuple[Any, ...]:
            return tuple(own.astype(kind, copy=False) for own in function(poses))

        found: tuple[Any, ...] = module.pure_callback(cast, wanted, pose, vmap_method="expand_dims")
        return found

    return called
