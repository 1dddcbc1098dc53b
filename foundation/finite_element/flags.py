"""Flags of the contact of a compartment: loads that are invalid, or that have a limit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foundation.base.flags import Flag, FlagKind
from foundation.finite_element.compartment import CompartmentContact, PatchState

#: Overlap over thickness up to which linear elasticity gives the peak pressure, and the error of
#: the peak pressure there [%], measured once (docs/finite_element.md).
LINEAR_STRAIN_LIMIT, _LINEAR_ERROR = 0.14, 5.0
#: Largest sharpness of a peak pressure within about 2 % of the truth (accuracy.finite_elements).
SHARPEST = 0.25

#: Poisson's ratios, and bounds of the error of force and area at an approach over the node spacing
#: in half widths of the patch (make bench ARGS=accuracy.nearly_incompressible); in between linear
#: in the logarithm of 1 - 2ν.
_RATIOS = np.array([0.48, 0.49, 0.499, 0.4999])
_FORCE_ERRORS, _AREA_ERRORS = (0.10, 0.15, 0.27, 0.65), (0.2, 0.3, 0.6, 1.3)
#: Least error of the force that is flagged.
_SAID = 0.02

#: Least width of a patch whose peak pressure is resolved, in node spacings.
_RESOLVED = 2.0 / SHARPEST**0.5
#: Kinds of flags without a limit of the peak pressure as nodes get closer.
_NO_LIMIT = frozenset({FlagKind.RIM, FlagKind.UNRESOLVED_PEAK})


def refusals(name: str, contact: CompartmentContact, state: PatchState) -> tuple[Flag, ...]:
    """Return why the loads of the compartment `name` are invalid in a state."""
    femoral, found = contact.femoral, []
    if contact.layer.at_end[state.active].any():
        found.append(Flag(FlagKind.END_OF_NODES, name))
    if femoral is not None and femoral.layer.at_end[state.leaves_femur].any():
        found.append(Flag(FlagKind.END_OF_FEMORAL_NODES, name))
    return tuple(found)


def all_flags(name: str, contact: CompartmentContact, state: PatchState) -> tuple[Flag, ...]:
    """Return the refusals, and the warnings about peak pressure, rims and strain."""
    femoral, found = contact.femoral, [*refusals(name, contact, state)]
    if contact.layer.at_rim[state.active].any():
        found.append(Flag(FlagKind.RIM, name))
    elif state.sharpness > SHARPEST:
        found.append(Flag(FlagKind.UNRESOLVED_PEAK, name, (_RESOLVED,)))
    if femoral is not None and femoral.layer.at_rim[state.leaves_femur].any():
        found.append(Flag(FlagKind.FEMORAL_RIM, name))
    found.extend(_flow(name, contact, state))
    strain = float(state.depth[1])
    if strain > LINEAR_STRAIN_LIMIT:
        numbers = strain, LINEAR_STRAIN_LIMIT, _LINEAR_ERROR
        found.append(Flag(FlagKind.LARGE_STRAIN, name, numbers))
    return tuple(found)


def _flow(name: str, contact: CompartmentContact, state: PatchState) -> tuple[Flag, ...]:
    """Return what the nodes miss of the flow of a nearly incompressible layer to the edge."""
    layer, material = contact.layer, contact.layer.layer
    ratio = material.poissons_ratio
    if ratio <= _RATIOS[0] or len(state.active) == 0:
        return ()
    half = float(np.sqrt(layer.areas[state.active].sum() / np.pi))
    place = -np.log(1.0 - 2.0 * ratio)
    force, area = (
        layer.spacing / half * float(np.interp(place, -np.log(1.0 - 2.0 * _RATIOS), bounds))
        for bounds in (_FORCE_ERRORS, _AREA_ERRORS)
    )
    if force < _SAID:
        return ()
    errors = 100 * force, 100 * min(area, 1.0)
    numbers = ratio, 1e3 * layer.spacing, 1e3 * half, *errors
    return (Flag(FlagKind.COARSE_NODES, name, numbers),)


def peak_unresolved(flags: Iterable[Flag]) -> bool:
    """Return whether one of the flags of a pose says that a peak pressure is not resolved."""
    return any(flag.kind in _NO_LIMIT for flag in flags)
