"""Refusals of what only a knee with a medial and a lateral compartment, or a simulated one, has."""

from __future__ import annotations

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.knee_schema import KneeConfig
from pipeline.config.simulation_schema import SimulationConfig


def require_knee(knee: KneeConfig, what: str) -> None:
    """Raise an `InputError` if `what` is asked of a pair with other compartments than a knee."""
    if knee.compartments != COMPARTMENTS:
        raise InputError(
            f"knee.compartments: {what} needs {' and '.join(COMPARTMENTS)}, found "
            f"{', '.join(knee.compartments)}; contact pairs of other compartments have surrogates, "
            "reports and exports only"
        )


def require_simulator(simulation: SimulationConfig, what: str) -> None:
    """Raise an `InputError` if `what` is asked of a configuration without a simulated cycle."""
    if simulation.kind == "none":
        raise InputError(
            f'simulation.kind: expected "gait" for {what}, found "none"; set simulation.kind = '
            '"gait", which needs the knee.compartments '
            f"{' and '.join(COMPARTMENTS)}, and run again"
        )
