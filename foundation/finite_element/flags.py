"""Flags of the contact of a compartment: loads that are invalid, or that have a limit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foundation.finite_element.compartment import CompartmentContact, PatchState

#: Overlap over thickness up to which the peak pressure of linear elasticity is within 5 %
#: (python -m benchmarks.large_strain).
LINEAR_STRAIN_LIMIT = 0.14
#: Largest sharpness of a peak pressure within about 2 % of the truth (benchmarks.finite_element).
SHARPEST = 0.25

#: Poisson's ratios, and bounds of the error of force and area at an approach over the node spacing
#: in half widths of the patch (python -m benchmarks.incompressible_elements); in between linear in
#: the logarithm of 1 - 2ν.
_RATIOS = np.array([0.48, 0.49, 0.499, 0.4999])
_FORCE_ERRORS, _AREA_ERRORS = (0.10, 0.15, 0.27, 0.65), (0.2, 0.3, 0.6, 1.3)
#: Least error of the force that is flagged.
_SAID = 0.02

_AT_RIM = "contact reaches the rim, where the peak pressure has no limit"
_UNRESOLVED = (
    "the peak pressure is not resolved: the patch is narrower there than "
    f"{2.0 / SHARPEST**0.5:.0f} node spacings (an edge, or a small patch)"
)


def refusals(name: str, contact: CompartmentContact, state: PatchState) -> tuple[str, ...]:
    """Return why the loads of the compartment `name` are invalid in a state."""
    femoral, found = contact.femoral, []
    if contact.layer.at_end[state.active].any():
        found.append(f"{name}: contact reaches the end of the compartment's nodes")
    if femoral is not None and femoral.layer.at_end[state.leaves_femur].any():
        found.append(f"{name}: contact reaches the end of the femoral nodes")
    return tuple(found)


def all_flags(name: str, contact: CompartmentContact, state: PatchState) -> tuple[str, ...]:
    """Return the refusals, and the warnings about peak pressure, rims and strain."""
    femoral, found = contact.femoral, [*refusals(name, contact, state)]
    if contact.layer.at_rim[state.active].any():
        found.append(f"{name}: {_AT_RIM}")
    elif state.sharpness > SHARPEST:
        found.append(f"{name}: {_UNRESOLVED}")
    if femoral is not None and femoral.layer.at_rim[state.leaves_femur].any():
        found.append(f"{name}: contact reaches the rim of the femoral layer")
    found.extend(f"{name}: {text}" for text in _flow(contact, state))
    strain = float(state.depth[1])
    if strain > LINEAR_STRAIN_LIMIT:
        found.append(
            f"{name}: strain {strain:.2f} exceeds {LINEAR_STRAIN_LIMIT}, where the peak pressure "
            "of linear elasticity may be off by more than 5 %"
        )
    return tuple(found)


def _flow(contact: CompartmentContact, state: PatchState) -> tuple[str, ...]:
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
    return (
        f"Poisson's ratio {ratio:g} needs closer nodes: {1e3 * layer.spacing:g} mm apart on a "
        f"patch of half width {1e3 * half:.1f} mm, the force may be off by up to about "
        f"{100 * force:.0f} % and the area too small by {100 * min(area, 1.0):.0f} %; decrease the "
        "spacing of the nodes",
    )


def peak_unresolved(flags: Iterable[str]) -> bool:
    """Return whether one of the flags of a pose says that a peak pressure is not resolved."""
    return any(flag.endswith((_AT_RIM, _UNRESOLVED)) for flag in flags)
