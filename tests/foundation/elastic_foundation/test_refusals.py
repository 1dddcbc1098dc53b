"""Arguments of laws and models that are refused: the message names the argument and its range."""

import re
from functools import partial

import numpy as np
import pytest
import shapes
from beds import LAW, NU, POLYETHYLENE, E, H, model_of

from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw, ModifiedLaw, SeriesLaw
from foundation.elastic_foundation.model import Dissipation
from foundation.statics.height import pose_at_load

#: A tibia of 128 triangles and 81 vertices.
PLATES = shapes.plate(20e-3, 1, up=False), shapes.plate(40e-3, 8)
MODEL = model_of(*PLATES)
on_plates = partial(model_of, *PLATES)
modified = partial(ModifiedLaw, E, NU, H)
at_load = partial(pose_at_load, MODEL, Pose())
with pytest.warns(UserWarning, match="pose superior"):
    FAR = Pose(superior=1e15)
WITHOUT_ENERGY = ModifiedLaw(*POLYETHYLENE, f=3.0, m=1.2)
NOT_FINITE = np.where(np.arange(30).reshape(5, 6) == 20, np.nan, 0.0)

REFUSED = [
    (partial(LinearLaw, 0.0, NU, H), "youngs_modulus: expected > 0 Pa, found 0.0"),
    (partial(LinearLaw, E, 0.5, H), "poissons_ratio: expected > -1 and < 0.5, found 0.5"),
    (partial(LinearLaw, E, -1.0, H), "poissons_ratio"),
    (partial(LinearLaw, E, NU, 0.0), "thickness: expected > 0 m everywhere"),
    (partial(LinearLaw, E, NU, 8.0), "thickness: expected <= 0.1 m, found 8 m; give metres"),
    (partial(LinearLaw, E, NU, [[1e-3]]), "one per spring, found shape"),
    (partial(LinearLaw, E, NU, [1e-3, np.nan]), "not finite"),
    (partial(LinearLaw(E, NU, [2e-3, 4e-3]).pressure, [1e-4] * 3), "one per spring (3), found 2"),
    (partial(modified, f=1.0, m=1.0), "f: expected > 1"),
    (partial(modified, f=2.0, m=0.0), "m: expected > 0"),
    (partial(modified, f=2.0, m=1.0, reference_indentation=-1.0), "reference_indentation"),
    (partial(SeriesLaw, LAW, SeriesLaw(LAW, LAW)), "second: expected a law of one layer"),
    (partial(on_plates, surface="round"), "surface: expected one of ['curved', 'flat'], found"),
    (partial(on_plates, search_depth=0.0), "search_depth: expected > 0"),
    (partial(on_plates, search_depth=20.0), "search_depth: expected > 0 m and <= 0.1 m, found 20"),
    (partial(on_plates, labels=np.zeros(3)), "compartments: expected shape (128), found (3,)"),
    (partial(on_plates, labels=np.full(128, 2)), "only 0"),
    (partial(on_plates, labels=np.zeros(128)), "found none of lateral"),
    (partial(on_plates, LinearLaw(E, NU, np.full(7, H))), "triangle (128) or vertex (81), found 7"),
    *(
        (partial(on_plates, WITHOUT_ENERGY, surface, conservative=True), "has no stored energy")
        for surface in ("flat", "curved")
    ),
    (partial(MODEL.compartment_loads, Pose(), "middle"), "compartment: expected one of"),
    (partial(MODEL.loads_in_motion, Pose(), NOT_FINITE[3]), "rates: expected finite"),
    (partial(MODEL.loads, NOT_FINITE), "poses: expected finite numbers, found nan at"),
    (partial(MODEL.loads, np.zeros((3, 5))), "poses: expected a Pose, an array (6,) or (N, 6)"),
    (partial(MODEL.loads, np.zeros((3, 6)), threads=0), "threads: expected >= 1"),
    (partial(Dissipation, damping=-1.0), "damping: expected >= 0"),
    (partial(Dissipation, friction=-0.1), "friction: expected >= 0"),
    (partial(Dissipation, transition_speed=0.0), "transition_speed: expected > 0"),
    (partial(at_load, "medial", 0.0), "load: expected > 0 N, found 0.0"),
    (partial(at_load, "medial", 100.0, search=0.0), "search: expected > 0 m"),
    (partial(at_load, "medial", 100.0, step=0.0), "step: expected >= 1e-06 m"),
    (
        partial(pose_at_load, MODEL, FAR, "medial", 100.0),
        "superior: expected >= -1000 m and <= 1000",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
