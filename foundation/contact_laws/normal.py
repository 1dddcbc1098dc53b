"""Force of one contact over its indentation and the rate of it, and friction; it never pulls.

The laws of the Hunt-Crossley family, F = K δⁿ (1 + a(c) δ̇ / δ̇₀) with the rate δ̇₀ > 0 at the
start of the contact and a restitution c, differ in a(c). Their actual restitution e in a free
impact satisfies a (1 + e) = ln((1 + a) / (1 - a e)) (`returned_restitution`; docs/mechanics.md).
Under additional forces the contact could pull, and the force is cut off there.

Friction is in the manner of Song, Kraus, Kumar & Dupont (2001, J Appl Mech 68:118-128): T = k s + d
ṡ with |T| <= μ N and the tangential deflection s, which relaxes with the time constant d/k out of
contact. docs/mechanics.md proves that no energy is gained.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError


@dataclass(frozen=True)
class ContactLaw(ABC):
    """Normal force over indentation, its rate and the rate at the start of the contact.

    Parameters
    ----------
    stiffness : float
        K of the elastic part K δⁿ [N/mⁿ], > 0.
    """

    stiffness: float

    @property
    @abstractmethod
    def exponent(self) -> float:
        """Exponent n of the elastic part [1]."""

    def __post_init__(self) -> None:
        check_number("stiffness", self.stiffness, above=0.0, unit="N/m^n")

    def force(
        self,
        indentation: ArrayLike,
        rate: ArrayLike = 0.0,
        impact_rate: ArrayLike | None = None,
    ) -> FloatArray:
        """Return the force that presses the bodies apart; the force is never negative.

        Parameters
        ----------
        indentation : array_like of float64, any shape
            δ [m], > 0 in contact; out of contact the force is zero.
        rate : array_like of float64, any shape
            dδ/dt [m/s], > 0 in approach.
        impact_rate : array_like of float64, any shape, optional
            dδ/dt at the start of the contact [m/s], > 0. The laws of the Hunt-Crossley family
            require the impact rate; the other laws ignore it.

        Returns
        -------
        float64 of the shape to which the arguments broadcast
            Force [N].

        Raises
        ------
        InputError
            If an argument is not finite, the shapes do not broadcast, or the impact rate is
            required and missing or not positive.
        """
        depth, speed, start = _checked(indentation, rate, impact_rate)
        bonded = self._bonded(depth, speed, start)
        return np.where((depth > 0.0) & (bonded > 0.0), bonded, 0.0)[()]

    def bonded_force(
        self,
        indentation: ArrayLike,
        rate: ArrayLike = 0.0,
        impact_rate: ArrayLike | None = None,
    ) -> FloatArray:
        """Return the force [N], any shape, as if the surfaces were bonded: without a limit at zero.

        The force continues beyond zero indentation as an odd function, so that an integrator finds
        the separation as a regular change of sign. Arguments and exceptions are those of `force`.
        """
        return self._bonded(*_checked(indentation, rate, impact_rate))[()]

    def _bonded(self, depth: FloatArray, rate: FloatArray, start: FloatArray | None) -> FloatArray:
        """Return `bonded_force` of checked arguments of one shape; by default the elastic part."""
        return self._elastic(depth)

    def _elastic(self, depth: FloatArray) -> FloatArray:
        return self.stiffness * np.sign(depth) * np.abs(depth) ** self.exponent

    def energy(self, indentation: ArrayLike) -> FloatArray:
        """Return the elastic energy K δⁿ⁺¹ / (n + 1) [J] at indentations δ [m] of any shape.

        The energy is 0 out of contact.
        """
        depth = np.maximum(check_array("indentation", indentation), 0.0)
        power = self.exponent + 1.0
        return (self.stiffness * depth**power / power)[()]


@dataclass(frozen=True)
class HookeLaw(ContactLaw):
    """Linear elastic contact F = K δ, K in N/m; every impact has the restitution e = 1."""

    exponent: ClassVar[float] = 1.0


@dataclass(frozen=True)
class HertzLaw(ContactLaw):
    """Elastic contact of curved bodies: F = K δ^(3/2), K in N/m^(3/2) (Johnson 1985, ch. 4).

    `sphere_stiffness` gives K of spheres, `EllipticContact` K of other shapes. Every impact has the
    restitution e = 1.
    """

    exponent: ClassVar[float] = 1.5


def _checked(
    indentation: ArrayLike, rate: ArrayLike, impact_rate: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return the arguments of a force, checked and broadcast to one shape."""
    depth, speed = check_array("indentation", indentation), check_array("rate", rate)
    start = None if impact_rate is None else check_array("impact_rate", impact_rate)
    arguments = (depth, speed) if start is None else (depth, speed, start)
    try:
        same = np.broadcast_arrays(*arguments)
    except ValueError as error:
        raise InputError(
            f"indentation, rate, impact_rate: expected shapes that broadcast, found "
            f"{', '.join(str(argument.shape) for argument in arguments)}"
        ) from error
    return same[0], same[1], None if start is None else same[2]


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


@dataclass(frozen=True)
class CompliantFriction:
    """Tangential spring and dashpot with Coulomb's limit; the deflection is a state variable.

    Parameters
    ----------
    stiffness : float
        k [N/m], > 0.
    damping : float
        d [N s/m], > 0; d/k is the time constant of the deflection.
    coefficient : float
        μ [1], >= 0, the same at rest and in motion.
    """

    stiffness: float
    damping: float
    coefficient: float

    def __post_init__(self) -> None:
        check_number("stiffness", self.stiffness, above=0.0, unit="N/m")
        check_number("damping", self.damping, above=0.0, unit="N s/m")
        check_number("coefficient", self.coefficient, at_least=0.0)

    def evaluate(
        self, deflection: ArrayLike, velocity: ArrayLike, normal_force: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return the friction force on the moving body and the rate of the deflection.

        Parameters
        ----------
        deflection : (..., D) float64
            s [m], D = 1 in the plane, 2 on a surface, 3 in space (in the tangent plane); zero at
            the first touch.
        velocity : (..., D) float64
            v of the moving body relative to the other [m/s], tangential.
        normal_force : (...) float64
            N [N], >= 0.

        Returns
        -------
        force : (..., D) float64
            -T on the moving body [N].
        deflection_rate : (..., D) float64
            ds/dt [m/s].
        """
        s, v, normal = self._checked(deflection, velocity, normal_force)
        elastic = self.stiffness * s
        trial = elastic + self.damping * v
        size = np.linalg.norm(trial, axis=-1, keepdims=True)
        limit = self.coefficient * normal
        slips = size > limit
        share = np.divide(limit, size, out=np.ones_like(trial[..., :1]), where=slips)
        opposing = share * trial
        return -opposing, np.where(slips, (opposing - elastic) / self.damping, v)

    def energy(self, deflection: ArrayLike) -> FloatArray:
        """Return the elastic energy k s²/2 [J] of deflections (..., D) [m]."""
        s = check_array("deflection", deflection)
        return (0.5 * self.stiffness * (s**2).sum(axis=-1))[()]

    @staticmethod
    def _checked(
        deflection: ArrayLike, velocity: ArrayLike, normal_force: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        s = check_array("deflection", deflection)
        v = check_array("velocity", velocity)
        normal = check_array("normal_force", normal_force, at_least=0.0, unit="N")
        if s.ndim == 0 or s.shape != v.shape or s.shape[:-1] != normal.shape:
            raise InputError(
                f"deflection, velocity, normal_force: expected shapes (..., D), (..., D) and "
                f"(...), found {s.shape}, {v.shape} and {normal.shape}"
            )
        return s, v, normal[..., None]
