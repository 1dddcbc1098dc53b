"""What is to be said of the contact of a compartment: no answer, or an answer with a limit."""

from __future__ import annotations

from collections.abc import Iterable

from foundation.finite_element.compartment import CompartmentContact, PatchState

#: Overlap over thickness up to which the peak pressure of linear elasticity is within 5 %
#: (python -m benchmarks.large_strain).
STRAIN_LIMIT = 0.14
#: Largest sharpness of a peak pressure within about 2 % of the truth (benchmarks.finite_element).
SHARPEST = 0.25

_AT_RIM = "contact reaches the rim, where the peak pressure has no limit"
_UNRESOLVED = (
    "the peak pressure is not resolved: the patch is narrower there than "
    f"{2.0 / SHARPEST**0.5:.0f} node spacings (an edge, or a small patch)"
)


def refusals(name: str, contact: CompartmentContact, state: PatchState) -> tuple[str, ...]:
    """Return why the contact of the compartment `name` is no answer in a state."""
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
    strain = float(contact.depth(state)[1])
    if strain > STRAIN_LIMIT:
        found.append(
            f"{name}: strain {strain:.2f} exceeds {STRAIN_LIMIT}, where the peak pressure of "
            "linear elasticity may be off by more than 5 %"
        )
    return tuple(found)


def peak_unresolved(flags: Iterable[str]) -> bool:
    """Return whether one of the flags of a pose says that a peak pressure is not resolved."""
    return any(flag.endswith((_AT_RIM, _UNRESOLVED)) for flag in flags)
