"""Arguments of contact laws that are refused: the message names the argument and its range."""

import math
import re
from functools import partial

import numpy as np
import pytest

from foundation.contact_laws.hertz import (
    EllipticContact,
    approximate_factors,
    effective_modulus,
    exact_factors,
    relative_radii,
    sphere_stiffness,
)
from foundation.contact_laws.normal import (
    CompliantFriction,
    ConstantHuntCrossleyLaw,
    FloresLaw,
    HertzLaw,
    HookeLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
    returned_restitution,
)

K = 3e5
#: Constructors that take stiffness and restitution.
RESTITUTION = (
    LinearHysteresisLaw,
    HuntCrossleyLaw,
    LankaraniNikraveshLaw,
    FloresLaw,
    lambda stiffness, restitution: KelvinVoigtLaw(stiffness, restitution, 1.0),
)
LAWS = (HookeLaw, HertzLaw, *(partial(_f, restitution=0.4) for _f in RESTITUTION))
HYSTERESIS = (HuntCrossleyLaw, LankaraniNikraveshLaw, FloresLaw)
FRICTION = CompliantFriction(stiffness=2e4, damping=30.0, coefficient=0.4)
CONTACT = EllipticContact(0.04, 0.02, 1e6)
CARTILAGE = (5e6, 0.46)
FLAT = (25.0, 0.0)

REFUSED = [
    (HertzLaw, (0.0,), "stiffness: expected > 0 N/m^n, found 0"),
    *(
        (law, (stiffness,), "stiffness: expected")
        for law in LAWS
        for stiffness in (0.0, -1.0, np.nan, np.inf, "stiff")
    ),
    *(
        (law(K).force, arguments, message)
        for law in LAWS
        for arguments, message in (
            ((np.nan, 0.0, 0.3), "indentation: expected finite"),
            ((1e-3, [0.0, np.inf], 0.3), "rate: expected finite"),
            ((1e-3, 0.0, np.nan), "impact_rate: expected finite"),
            (("deep", 0.0, 0.3), "indentation: expected numbers, found 'deep'"),
            (([1e-3, 2e-3], [0.0, 0.1, 0.2], 0.3), "expected shapes that broadcast, found"),
        )
    ),
    *(
        (
            law(K, 0.5).force,
            (1e-3, 0.1, start),
            f"impact_rate: expected {wanted}, which {law.__name__} needs, found {found}",
        )
        for law in HYSTERESIS
        for start, wanted, found in (
            (None, "the rate at first touch", "None"),
            (0.0, "> 0 m/s", "0 m/s"),
            ([0.2, -0.1], "> 0 m/s", "-0.1 m/s"),
        )
    ),
    *(
        (law, (K, restitution), "restitution: expected")
        for law in RESTITUTION
        for restitution in (-0.1, 1.1, np.nan, "much")
    ),
    (FloresLaw, (K, 0.0), "restitution: expected > 0"),
    (KelvinVoigtLaw, (K, 0.0, 1.0), "restitution: expected > 0"),
    (KelvinVoigtLaw, (K, 0.5, -1.0), "mass: expected > 0 kg, found -1"),
    (FloresLaw, (K, 0.5, 0.0), "exponent: expected > 0, found 0"),
    (ConstantHuntCrossleyLaw, (K, -0.1), "dissipation: expected >= 0"),
    (ConstantHuntCrossleyLaw, (K, 1.0, 0.0), "exponen"),
    (ConstantHuntCrossleyLaw(K, 1.0).restitution, (-1.0,), "speed: expected >= 0"),
    (returned_restitution, (-1.0,), "factor: expected >= 0"),
    (CompliantFriction, (0.0, 1.0, 0.5), "stiffness: expected > 0 N/m"),
    (CompliantFriction, (1.0, 0.0, 0.5), "damping: expected > 0 N s/m"),
    (CompliantFriction, (1.0, 1.0, -0.5), "coefficient: expected >= 0"),
    (FRICTION.evaluate, ([0.0, np.nan], [0.0, 0.0], 1.0), "deflection: expected finite"),
    (FRICTION.evaluate, ([0.0, 0.0], [0.0], 1.0), "shapes (..., D), (..., D) and (...), found"),
    (
        FRICTION.evaluate,
        ([0.0, 0.0], [0.0, 0.0], -1.0),
        "normal_force: expected >= 0 N, found -1.0",
    ),
    *(
        (factors, (ratio,), "ratio: expected >= 1")
        for factors in (exact_factors, approximate_factors)
        for ratio in (0.9, np.nan, -2.0, 1e7)
    ),
    (EllipticContact, (0.02, 0.04, 1e6), "greater_radius: expected >= 0.04 m, found 0.02"),
    (EllipticContact, (0.04, 0.0, 1e6), "smaller_radius: expected > 0 m"),
    (EllipticContact, (0.04, 0.02, -1e6), "modulus: expected > 0 Pa"),
    (EllipticContact, (4.0, 0.02, 1e6, False), "ratio: expected >= 1 and <= 10, found 14"),
    (relative_radii, (FLAT, FLAT), "expected a gap that widens in every direction, found relative"),
    (relative_radii, ((25.0, 20.0), (-22.0, -22.0)), "relative curvatures -2 and 3 1/m"),
    (relative_radii, ((25.0, 20.0), (np.inf, 0.0)), "curvatures_2: expected finite"),
    *(
        (method, ([1.0, -1.0],), "force: expected >= 0 N, found -1.0")
        for method in (CONTACT.approach, CONTACT.semi_axes, CONTACT.peak_pressure)
    ),
    (CONTACT.force, (np.nan,), "approach: expected finite"),
    *(
        (sphere_stiffness, (*radii, *CARTILAGE, *CARTILAGE), message)
        for radii, message in (
            ((0.04, -0.04), "radius_1, radius_2: expected 1/R1 + 1/R2 > 0 1/m, found 0 1/m for"),
            ((0.04, -0.03), "expected 1/R1 + 1/R2 > 0 1/m, found -8.33"),
            ((-0.04, None), "found -25 1/m for -0.04 m and None"),
            ((0.0, 0.04), "radius_1: expected a radius other than 0 m"),
        )
    ),
    (effective_modulus, (0.0, 0.3, 1e6, 0.3), "modulus_1: expected > 0 Pa"),
    (effective_modulus, (1e6, 0.3, np.nan, 0.3), "modulus_2: expected > 0 Pa, found nan"),
    (effective_modulus, (1e6, 0.6, 1e6, 0.3), "poisson_1: expected > -1 and <= 0.5, found 0.6"),
    (effective_modulus, (1e6, 0.3, 1e6, -1.0), "poisson_2: expected > -1"),
    (
        effective_modulus,
        (math.inf, 0.3, math.inf, 0.3),
        "expected a finite modulus, found two rigid",
    ),
]


@pytest.mark.parametrize(("call", "arguments", "message"), REFUSED)
def test_bad_arguments_are_named(call, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(*arguments)
