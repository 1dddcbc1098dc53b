"""Flags of contacts over the frames of a simulation, from made loads."""

import numpy as np
import pytest

from dynamics.musculoskeletal import SimulatedFrames
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import ContactLoads
from pipeline.studies.muscle_walks.contact_forces import contact_flags, not_trusted


def frames(*forces, flags=()):
    """Return frames of one contact with these forces [N]."""
    loads = []
    for force in forces:
        row = np.zeros(12)
        row[1] = force
        loads.append((ContactLoads.from_compartments({"joint": row}, flags=flags),))
    time = 0.1 * np.arange(float(len(forces)))
    none = np.zeros((len(forces), 0))
    courses = dict.fromkeys(("values", "speeds", "activations", "muscle_forces"), none)
    return SimulatedFrames(
        time=time, secondary=(), muscles=(), contacts=("knee_contact",), loads=tuple(loads),
        **courses,
    )  # fmt: skip


def test_a_contact_that_never_touches_is_flagged_before_others():
    beyond = Flag(FlagKind.OUTSIDE_LOAD, "joint", (910.0, 10.0))
    told = contact_flags(frames(0.0, 0.0, 0.0, flags=(beyond,)))
    assert told[0].startswith("knee_contact: the surfaces touch in none of 3 frames")
    assert "walk.meshes" in told[0]
    assert told[1:] == [
        "knee_contact: joint: outside the trained domain, axial load of … N, … N beyond "
        "(3 frames, first at 0 s)"
    ]


@pytest.mark.parametrize("forces", [(0.0, 0.5, 0.0), (3.0, 0.0, 0.0)])
def test_a_joint_that_lifts_off_for_a_while_has_no_flag(forces):
    assert contact_flags(frames(*forces)) == []


def test_frames_with_a_flag_are_counted_in_a_sentence():
    told = not_trusted(frames(3.0, 3.0, flags=(Flag(FlagKind.OUTSIDE_ERRORS, "joint", (2.0,)),)))
    assert told.startswith("2 of 2 frames are outside the trained domain")
    assert not_trusted(frames(3.0, 3.0)) is None
