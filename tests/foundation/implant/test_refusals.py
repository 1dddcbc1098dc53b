"""Implants and arguments that are refused: the message names the argument and its range."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from foundation.base.pose import Pose
from foundation.implant.condylar_implant import CondylarImplant
from foundation.implant.condyle import Condyle
from foundation.implant.dish import Dish

IMPLANT = CondylarImplant()
IN_PLACE = [[0.0, -1e-3, 0.02]], [[0.0, 1.0, 0.0]]

REFUSED = [
    (partial(Condyle, distal_radius=-1e-3), "condyle distal_radius: expected > 0 m"),
    (partial(Condyle, posterior_radius=0.0), "condyle posterior_radius: expected > 0 m"),
    (partial(Condyle, anterior_radius=np.nan), "condyle anterior_radius"),
    (partial(Condyle, distal_radius=34.0), "condyle distal_radius: expected > 0 m and <= 0.2 m"),
    (partial(Condyle, half_width=20e-3), "condyle half_width: expected > 0 m and < 0.02 m"),
    (partial(Condyle, coronal_radius=23e-3), "at most the smallest sagittal radius, 0.022 m"),
    (partial(Condyle, posterior_to_distal=0.3), "condyle angles: expected posterior_end <"),
    (partial(Condyle, posterior_end=-3.0), "condyle angles: expected at most pi"),
    (partial(Dish, sagittal_radius=-45e-3), "dish sagittal_radius: expected > 0 m"),
    (partial(Dish, half_width=23e-3), "dish half_width: expected > 0 m and < 0.023 m"),
    (partial(Dish, half_length=0.0), "dish half_length: expected > 0 m"),
    (partial(Dish, half_length=44e-3), "dish half_length + |bottom_anterior|"),
    (partial(Dish, bottom_anterior=-22e-3), "dish |bottom_anterior|: expected < 0.022 m"),
    (
        partial(CondylarImplant, medial_dish=Dish(sagittal_radius=38e-3)),
        "medial sagittal conformity: expected below 1, found 1 ",
    ),
    (
        partial(CondylarImplant, lateral_dish=Dish(coronal_radius=19e-3)),
        "lateral coronal conformity: expected below 1, found 1.05",
    ),
    (partial(CondylarImplant, spacing=27e-3), "half-width, 0.028 m, found 0.027 m; the two sides"),
    (partial(CondylarImplant, minimum_thickness=0.0), "implant minimum_thickness: expected > 0 m"),
    (partial(IMPLANT.femur_surface, "central", [0.0], [0.0]), "compartment: expected one of"),
    (partial(IMPLANT.insert_height, [0.0], [0.0]), "insert height: expected positions on the"),
    (partial(IMPLANT.insert_height, [0.0, 0.03], [0.023] * 2), "found x = 0.03 m"),
    (partial(IMPLANT.thickness, *IN_PLACE), "thickness: expected points above the underside"),
    (partial(IMPLANT.tessellate, 0.0), "edge_length: expected > 0 m"),
    (partial(IMPLANT.tessellate, 1.0), "edge_length: expected > 0 m and <= 0.013 m"),
    (partial(IMPLANT.home_pose, 2.5), "flexion: expected"),
    (
        partial(IMPLANT.femur_depth, np.zeros((2, 3)), np.zeros((1, 3)), Pose()),
        "directions: expected shape",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
