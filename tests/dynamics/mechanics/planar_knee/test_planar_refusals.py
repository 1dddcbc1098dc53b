"""Arguments that the planar knee rejects, with messages that name the argument."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dynamics.mechanics.planar_knee import (
    ClearanceJoint,
    PlanarLigament,
    PolarProfile,
    Pull,
    machado_clearance_knee,
    machado_knee,
    machado_laws,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)
from foundation.contact_laws import LinearHysteresisLaw

NAN = np.nan
ANGLES = np.linspace(0.0, 1.0, 6)
TURN = 2.0 * np.pi * np.arange(24) / 24
CIRCLE = np.column_stack((np.cos(TURN), np.sin(TURN)))

joint = partial(ClearanceJoint, journal_radius=0.04, clearance=1e-3, socket_centre=[0.0, 0.0])
ligament = partial(
    PlanarLigament, name="X", femoral=[0, 0], tibial=[0, 0], rest_length=0.1, stiffness=1.0
)
knee = partial(replace, machado_knee(law="hertz"))
profile = partial(PolarProfile, angle=ANGLES, radius=np.ones(6))
points = partial(PolarProfile.from_points, closed=True)
run = partial(simulate_planar_knee, machado_knee(), initial=machado_state(), duration=0.1)


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (machado_knee, {"law": "hooke"}, r"law: expected one of .*'hertz'.*, found 'hooke'"),
        (machado_knee, {"kind": "linear"}, r"profile kind: expected one of"),
        (machado_clearance_knee, {"clearance": -1e-3}, r"clearance: expected > 0 m"),
        (joint, {"journal_radius": -0.04}, r"journal_radius: expected > 0 m, found -0.04"),
        (joint, {"clearance": 0.0}, r"clearance: expected > 0 m, found 0.0"),
        (joint, {"socket_centre": [0, 0, 0]}, r"socket_centre: expected shape \(2\)"),
        (ligament, {"rest_length": 0.0}, r"ligament X: rest_length: expected > 0 m, found 0.0"),
        (ligament, {"stiffness": -1.0}, r"ligament X: stiffness: expected >= 0 N/m²"),
        (ligament, {"femoral": [0.0, NAN]}, r"ligament X: femoral: expected finite"),
        (ligament, {"tibial": [0.0] * 3}, r"ligament X: tibial: expected shape \(2\)"),
        (ligament, {"kind": "toe"}, r"ligament X: kind: expected one of \['linear', 'quadratic'\]"),
        (ligament, {"strain_limit": 0.0}, r"ligament X: strain_limit: expected > 0, found 0.0"),
        (ligament, {"force_limit": NAN}, r"ligament X: force_limit: expected"),
        (ligament().linearised, {"strain": 0.0}, r"strain: expected > 0"),
        (machado_ligaments, {"kind": "toe"}, r"ligament kind: expected one of"),
        (machado_knee, {"ligaments": "toe"}, r"ligament kind: expected one of"),
        (machado_knee, {"direction": [0, 0]}, r"pull direction: expected a nonzero vector"),
        (machado_clearance_knee, {"direction": [1.0]}, r"direction: expected shape \(2\)"),
        (machado_laws, {"restitution": 1.5}, r"restitution: expected"),
        (knee, {"mass": -3.75}, r"mass: expected > 0 kg, found -3.75"),
        (knee, {"inertia": 0.0}, r"inertia: expected > 0 kg m²"),
        (knee, {"gravity": NAN}, r"gravity: expected >= 0 m/s², found nan"),
        (knee, {"least_impact_rate": 0.0}, r"least_impact_rate: expected > 0 m/s"),
        (knee, {"law": "hertz"}, r"law: expected a ContactLaw, found 'hertz'"),
        (knee, {"law": LinearHysteresisLaw(5e4, 0.5)}, r"law: .* continuous .* KelvinVoigtLaw"),
        (knee, {"pull": 50.0}, r"pull: expected a Pull or None, found 50.0"),
        (knee, {"ligaments": [ligament()] * 2}, r"ligaments: expected unique names, found X, X"),
        (partial(Pull, 50.0), {"duration": 0.0}, r"pull duration: expected > 0 s, found 0.0"),
        (Pull, {"amplitude": NAN}, r"pull amplitude: expected a finite number, found nan"),
        (partial(Pull, 50.0), {"direction": [0, 0]}, r"pull direction: expected a nonzero vector"),
        (profile, {"kind": "spline"}, r"profile kind: .*'akima'.*found 'spline'"),
        (profile, {"radius": np.ones(5)}, r"profile radius: expected shape \(6\), found \(5,\)"),
        (profile, {"radius": [1, 1, -1, 1, 1, 1]}, r"profile radius: expected > 0 m, found -1"),
        (profile, {"angle": ANGLES[::-1]}, r"profile angle: expected strictly increasing"),
        (profile, {"angle": [0, 1, 0.5, 2, 3, 4]}, r"profile angle: expected strictly increasing"),
        (profile, {"angle": 7.0 * ANGLES}, r"over less than 2 pi"),
        (profile, {"angle": ANGLES[:4], "radius": np.ones(4)}, r"expected >= 5 samples, found 4"),
        (profile, {"radius": [9, 9, 9, 1e-3, 9, 9]}, r"found -.* between the samples"),
        (points, {"points": [1, 0] + 0.1 * CIRCLE}, r"star-shaped about the origin"),
        (points, {"points": CIRCLE[::-1]}, r"counterclockwise"),
        (PolarProfile.line(0.2, 0.3).frames, {"angles": [0.31]}, r"-0.3 to 0.3 rad, found 0.31"),
        (partial(PolarProfile.line, 0.2), {"half_angle": -0.1}, r"line half_angle: expected > 0"),
        (PolarProfile.circle, {"radius": -1.0}, r"circle radius: expected > 0 m, found -1"),
        (run, {"initial": [0.0] * 5}, r"initial: expected shape \(6\), found \(5,\)"),
        (run, {"duration": 0.0}, r"duration: expected > 0 s"),
        (run, {"step": -1.0}, r"step: expected > 0 s"),
        (run, {"tolerance": 1.0}, r"tolerance: expected"),
    ],
)
def test_bad_arguments_are_named(call, change, message):
    with pytest.raises(ValueError, match=message):
        call(**change)
