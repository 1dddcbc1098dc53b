"""Arguments of fitted surfaces that are refused: the message names the argument."""

from __future__ import annotations

from functools import partial

import fitted
import numpy as np
import pytest
from beds import implant_meshes

from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.fitted_surfaces.compartment import fit_compartments
from foundation.fitted_surfaces.fits import Ellipsoid, Quadric, fit_quadric
from foundation.fitted_surfaces.model import FittedSurfaceContact
from foundation.fitted_surfaces.stiffness import (
    calibrated_laws,
    calibrated_modulus,
    secant_laws,
)

KNEE = fitted.balls(30e-3, -45e-3)
APART = [Pose(superior=0.2)]


def fit(poses, **options):
    femur, insert, sides = implant_meshes(2e-3)
    return fit_compartments(femur, insert, poses, compartments=sides, **options)


REFUSED = [
    (partial(fit, []), "at least one pose"),
    (partial(fit, [Pose(anterior=0.5)]), "no tibial triangle below the femur"),
    (partial(fit, APART, nearness=0.0), "nearness"),
    (partial(fit_quadric, np.zeros((5, 3)), np.ones(5), [0.0, 1.0, 0.0]), "at least 9 points"),
    (partial(Ellipsoid, [0, 0, 0], np.diag([1.0, 1.0, -1.0])), "positive definite"),
    (partial(Ellipsoid, [0, 0, 0], np.eye(3) + np.eye(3, k=1)), "symmetric"),
    (partial(Quadric, [0, 0, 0], 2.0 * np.eye(3), np.zeros(9)), "orthonormal"),
    (
        partial(FittedSurfaceContact, KNEE.femur, KNEE.tibia, 1e8, compartments=KNEE.compartments),
        "poses to fit surfaces for",
    ),
    (partial(KNEE.with_law, "Hertz"), "law: expected None"),
    (partial(KNEE.with_law, None, 0.0), "modulus"),
    (partial(KNEE.indentation, Pose(), "middle"), "compartment"),
    (partial(secant_laws, KNEE, APART, 100.0), "medial contact, found none"),
    (partial(calibrated_laws, KNEE, KNEE, APART), "contact of both models"),
    (partial(calibrated_modulus, KNEE, KNEE, APART), "contact of both models"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
