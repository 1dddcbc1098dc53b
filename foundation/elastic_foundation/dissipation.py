"""Damping and friction of a bed of springs."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.base.checks import check_number


@dataclass(frozen=True)
class Dissipation:
    """Damping (Hunt & Crossley 1975, J Appl Mech 42:440-445) and friction between femur and bed."""

    #: Factor c of p = p_elastic (1 + c d') with the rate of indentation d', p >= 0 [s/m].
    damping: float = 0.0
    #: Coefficient of Coulomb friction [1].
    friction: float = 0.0
    #: Speed vt of the regularisation |v| / sqrt(|v|² + vt²) of friction [m/s].
    transition_speed: float = 1e-3

    def __post_init__(self) -> None:
        check_number("damping", self.damping, at_least=0.0, unit="s/m")
        check_number("friction", self.friction, at_least=0.0)
        check_number("transition_speed", self.transition_speed, above=0.0, unit="m/s")

    @property
    def resisting(self) -> bool:
        """Whether there is damping or friction."""
        return self.damping > 0.0 or self.friction > 0.0
