"""Normal forces that dissipate energy, from a coefficient of restitution c or a constant factor.

The laws of the Hunt-Crossley family, F = K δⁿ (1 + a(c) δ̇ / δ̇₀) with the rate δ̇₀ > 0 at the
start of the contact, differ in a(c). Their actual restitution e in a free impact satisfies
a (1 + e) = ln((1 + a) / (1 - a e)), a function of a(c) alone (`returned_restitution`;
docs/mechanics.md). Such an impact never pulls; under additional forces the contact could pull, and
the force is cut off there.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError
from foundation.contact_laws.normal import ContactLaw

#: Factor below which the restitution is a power series; the first term left out is its 4th power.
_SMALL_FACTOR = 1e-3


@dataclass(frozen=True)
class LinearHysteresisLaw(ContactLaw):
    """Linear contact that unloads on a softer line: F = K δ in approach, c² K δ in retreat."""

    # The returned work is c² of the work of approach K δₘ²/2, so that e = c exactly, for every mass
    # and speed. (The factor c in place of c², also in use, gives e = √c.)

    restitution: float
    exponent: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("restitution", self.restitution, above=0.0, at_most=1.0)

    def _bonded(self, depth: FloatArray, rate: FloatArray, start: FloatArray | None) -> FloatArray:
        return np.where(rate < 0.0, self.restitution**2, 1.0) * self._elastic(depth)


@dataclass(frozen=True)
class SpringDashpotLaw(ContactLaw):
    """Spring and dashpot in parallel, F = K δ + D δ̇, with a stated D.

    Parameters
    ----------
    damping : float
        D [N s/m], >= 0.
    """

    damping: float
    exponent: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("damping", self.damping, at_least=0.0, unit="N s/m")

    def _bonded(self, depth: FloatArray, rate: FloatArray, start: FloatArray | None) -> FloatArray:
        return self.stiffness * depth + self.damping * rate


@dataclass(frozen=True)
class KelvinVoigtLaw(ContactLaw):
    """Spring and dashpot in parallel, F = K δ + D δ̇, with D from the restitution and the mass.

    A free impact, m δ̈ + D δ̇ + K δ = 0, ends where the force vanishes, before the indentation
    does, since surfaces without adhesion do not pull. With D = 2 ζ √(K m), ζ = sin φ, ω₀ = √(K/m)
    and ω = ω₀ cos φ, the velocity is δ̇₀ exp(-ζ ω₀ t) cos(ω t + φ) / cos φ. The force is
    proportional to exp(-ζ ω₀ t) sin(ω t + 2 φ) and ends at ω t = π - 2 φ, hence

        e = exp(-(π - 2 φ) tan φ),             ζ = sin φ < 1,
        e = exp(-2 ψ coth ψ),                  ζ = cosh ψ > 1,

    and exp(-2) at ζ = 1. The damping ratio ζ is solved for e = c. (The common formula
    ζ = -ln c / √(π² + ln² c) ends at zero indentation and includes tension.) The force jumps from
    zero to D δ̇₀ at the first touch.

    Parameters
    ----------
    restitution : float
        c [1], 0 < c <= 1.
    mass : float
        m of the impact [kg], > 0; 1/m = 1/m₁ + 1/m₂ for two free bodies.
    """

    restitution: float
    mass: float
    exponent: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("restitution", self.restitution, above=0.0, at_most=1.0)
        check_number("mass", self.mass, above=0.0, unit="kg")

    @cached_property
    def damping_ratio(self) -> float:
        """Damping ratio ζ that gives the restitution [1]."""
        loss = -float(np.log(self.restitution))
        if loss < 2.0:
            phase = brentq(
                lambda x: (np.pi - 2.0 * x) * np.tan(x) - loss, 0.0, np.pi / 2.0 - 1e-9, xtol=1e-15
            )
            return float(np.sin(phase))
        phase = brentq(lambda x: 2.0 * x / np.tanh(x) - loss, 1e-9, loss, xtol=1e-15)
        return float(np.cosh(phase))

    @cached_property
    def damping(self) -> float:
        """Damping coefficient D [N s/m]."""
        return float(2.0 * self.damping_ratio * np.sqrt(self.stiffness * self.mass))

    def _bonded(self, depth: FloatArray, rate: FloatArray, start: FloatArray | None) -> FloatArray:
        return self.stiffness * depth + self.damping * rate


@dataclass(frozen=True)
class HysteresisLaw(ContactLaw):
    """Hunt-Crossley family, F = K δⁿ (1 + a(c) δ̇ / δ̇₀), 0 <= c <= 1: needs the impact rate."""

    restitution: float
    exponent: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("restitution", self.restitution, at_least=0.0, at_most=1.0)
        check_number("exponent", self.exponent, above=0.0)

    @property
    @abstractmethod
    def hysteresis_factor(self) -> float:
        """Factor a(c) [1]; the damping is a K δⁿ / δ̇₀ [N s/m]."""

    def _bonded(self, depth: FloatArray, rate: FloatArray, start: FloatArray | None) -> FloatArray:
        name = type(self).__name__
        if start is None:
            raise InputError(
                f"impact_rate: expected the rate at first touch, which {name} needs, found None"
            )
        if start.size and start.min() <= 0.0:
            raise InputError(
                f"impact_rate: expected > 0 m/s, which {name} needs, found {start.min():g} m/s"
            )
        return self._elastic(depth) * (1.0 + self.hysteresis_factor * rate / start)


@dataclass(frozen=True)
class HuntCrossleyLaw(HysteresisLaw):
    """a = 3 (1 - c) / 2 (Hunt & Crossley 1975, J Appl Mech 42:440-445).

    First order of e = 1 - 2a/3 + ..., valid for c near 1: the restitution is too large by 0.002 at
    c = 0.95, 0.033 at 0.8, 0.163 at 0.5 and 0.451 at 0.05.
    """

    @property
    def hysteresis_factor(self) -> float:
        """Factor a(c) of the law [1]."""
        return 1.5 * (1.0 - self.restitution)


@dataclass(frozen=True)
class ConstantHuntCrossleyLaw(ContactLaw):
    """F = K δⁿ (1 + a δ̇) with a constant factor a (Hunt & Crossley 1975, J Appl Mech 42:440-445).

    The factor is a property of the contact at any speed; the law needs no impact rate. The
    restitution falls with the impact speed v, e = 1 - 2 a v / 3 + ... (`restitution`). OpenSim's
    and Simbody's dissipation c is 2 a / 3.

    Parameters
    ----------
    dissipation : float
        a [s/m], >= 0.
    exponent : float
        n of the elastic part [1], > 0; 3/2 for Hertz contact.
    """

    dissipation: float
    exponent: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("dissipation", self.dissipation, at_least=0.0, unit="s/m")
        check_number("exponent", self.exponent, above=0.0)

    def restitution(self, speed: float) -> float:
        """Return the restitution e [1] of a free impact at a speed of approach [m/s], >= 0."""
        return returned_restitution(
            self.dissipation * check_number("speed", speed, at_least=0.0, unit="m/s")
        )

    def _bonded(self, depth: FloatArray, rate: FloatArray, start: FloatArray | None) -> FloatArray:
        return self._elastic(depth) * (1.0 + self.dissipation * rate)


@dataclass(frozen=True)
class LankaraniNikraveshLaw(HysteresisLaw):
    """a = 3 (1 - c²) / 4 (Lankarani & Nikravesh 1994, Nonlinear Dyn 5:193-207).

    First published in 1990 (J Mech Des 112:369-376). Derived from the energy lost at the rate of an
    elastic impact, hence valid for c near 1: the restitution is too large by 0.004 at c = 0.95,
    0.047 at 0.8, 0.225 at 0.5 and 0.614 at 0.05.
    """

    @property
    def hysteresis_factor(self) -> float:
        """Factor a(c) of the law [1]."""
        return 0.75 * (1.0 - self.restitution**2)


@dataclass(frozen=True)
class FloresLaw(HysteresisLaw):
    """a = 8 (1 - c) / (5 c) (Flores et al. 2011, Multibody Syst Dyn 25:357-375), c > 0.

    For soft and hard contacts alike: the restitution is too small by at most 0.046 (near c = 0.24).
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("restitution", self.restitution, above=0.0)

    @property
    def hysteresis_factor(self) -> float:
        """Factor a(c) of the law [1]."""
        return 1.6 * (1.0 - self.restitution) / self.restitution


def returned_restitution(factor: float) -> float:
    """Return the restitution e of a free impact with F = K δⁿ (1 + a u), u = δ̇/δ̇₀.

    The root of a (1 + e) = ln((1 + a)/(1 - a e)) for any K, n, mass and speed (docs/mechanics.md).

    Parameters
    ----------
    factor : float
        a [1], >= 0: `hysteresis_factor` of a law with a restitution, or the dissipation of
        `ConstantHuntCrossleyLaw` times the impact speed.
    """
    a = check_number("factor", factor, at_least=0.0)
    if a < _SMALL_FACTOR:
        # The root as a power series; the equation itself cancels there.
        return 1.0 - a * (2.0 / 3.0 - a * (4.0 / 9.0 - a * 44.0 / 135.0))
    lost = a - float(np.log1p(a))

    def mismatch(decay: float) -> float:
        """Return the equation in s, a e = 1 - exp(-s), which has no end at a e = 1."""
        return decay + float(np.expm1(-decay)) - lost

    decay = brentq(mismatch, 0.0, lost + 1.0, xtol=1e-16, rtol=1e-14)
    return -float(np.expm1(-decay)) / a
