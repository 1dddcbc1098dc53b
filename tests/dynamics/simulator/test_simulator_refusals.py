"""Arguments that the simulator rejects, with messages that name the argument."""

from functools import partial

import numpy as np
import pytest

from dynamics import GaitCycle, KneeSimulator, settle, simulate
from dynamics.simulator.variation import VariedContact
from foundation.base.pose import Pose

NAN = np.nan
PERCENT = np.linspace(0.0, 100.0, 41)
ZERO, WAVE = np.zeros(41), np.sin(2.0 * np.pi * PERCENT / 100.0)

simulator = KneeSimulator
cycle = partial(GaitCycle, PERCENT, flexion=ZERO, axial_force=ZERO + 500.0)
UNLOADED = cycle(axial_force=500.0 * (1.0 - np.cos(2.0 * np.pi * PERCENT / 100.0)))
PULSE = np.where((PERCENT > 20) & (PERCENT < 60), 1000.0, 0.0)
SIGNALS = ("flexion", "axial_force", "ap_force", "internal_torque", "anterior", "rotation")


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (simulator, {"superior_mass": 0.0}, r"superior_mass: expected > 0"),
        (simulator, {"superior_mass": np.inf}, r"superior_mass: expected > 0"),
        (simulator, {"rotation_inertia": -1.0}, r"rotation_inertia: expected > 0"),
        (simulator, {"lateral_damping": -1.0}, r"lateral_damping: expected >= 0"),
        (simulator, {"anterior_stiffness": -1.0}, r"anterior_stiffness: expected >= 0"),
        (simulator, {"rotation_gap": -0.1}, r"rotation_gap: expected >= 0"),
        (simulator, {"medial_offset": 5.0}, r"medial_offset: expected >= -0.1 m"),
        (simulator, {"anterior_offset": NAN}, r"anterior_offset: expected >= -0.1 m"),
        (simulator, {"ligaments": ("acl",)}, r"ligaments: expected Ligament values, found 'acl'"),
        *((cycle, {n: ZERO[1:]}, rf"^{n}: expected shape \(41\), found \(40") for n in SIGNALS),
        *((cycle, {name: ZERO * NAN}, rf"^{name}: expected finite") for name in SIGNALS),
        (cycle, {"flexion": 60.0 * WAVE}, r"flexion: expected radians, found 60"),
        (cycle, {"rotation": 6.0 * WAVE}, r"rotation: expected radians, found 6"),
        (cycle, {"anterior": 5.0 * WAVE}, r"anterior: expected metres, found 5"),
        (cycle, {"anterior": ZERO, "ap_force": ZERO}, r"either anterior or ap_force, found both"),
        (cycle, {"rotation": ZERO, "internal_torque": ZERO}, r"either rotation or internal_torque"),
        (cycle, {"axial_force": PULSE}, r"axial_force: expected rows smooth enough"),
    ],
)
def test_bad_parameters_are_named(call, change, message):
    with pytest.raises(ValueError, match=message):
        call(**change)


def run(dishes, **change):
    return simulate(dishes, KneeSimulator(), **({"cycle": cycle()} | change))


def rest(dishes, **change):
    arguments = {"flexion": 0.0, "axial_force": 500.0, "start": Pose()} | change
    return settle(dishes, KneeSimulator(), **arguments)


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (run, {"cycles": 0}, r"cycles: expected >= 1"),
        (run, {"samples": 1}, r"samples: expected >= 2"),
        (run, {"samples": 10.5}, r"samples: expected a whole number"),
        (run, {"rtol": 0.0}, r"rtol: expected"),
        (
            run,
            {"initial": Pose(flexion=0.1)},
            r"initial: expected the flexion that the cycle pr",
        ),
        (run, {"cycle": UNLOADED}, r"axial_force: expected > 0 N"),
        (rest, {"axial_force": 0.0}, r"axial_force: expected > 0 N"),
        (rest, {"axial_force": NAN}, r"axial_force: expected > 0 N"),
        (rest, {"held": ("flexion",)}, r"held: expected one of .*found 'flexion'"),
        (VariedContact, {"offset": [0.0, 1.0]}, r"offset: expected shape \(6\)"),
        (VariedContact, {"offset": np.full(6, NAN)}, "offset: .*finite"),
        (VariedContact, {"stiffness": 0.0}, "stiffness: expected > 0"),
        (VariedContact, {"stiffness": NAN}, "stiffness: expected"),
    ],
)
def test_bad_arguments_are_named(knee, call, change, message):
    with pytest.raises(ValueError, match=message):
        call(knee(), **change)
