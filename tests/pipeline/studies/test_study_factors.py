"""Each named input changes what it names, by how much it says, and nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.waveform_tables import LEVEL_WALKING, load_gait_cycle
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.pose import COORDINATES, Pose
from pipeline.studies.factors import (
    FACTORS,
    Inputs,
    check_applicable,
    check_factor,
    describe_factors,
    varied,
)
from surrogates.sampling.space import ReferencePath

DEGREE = np.pi / 180.0
NOMINAL = Inputs(load_gait_cycle(LEVEL_WALKING, 1.0), KneeSimulator(neutral=Pose(anterior=2e-3)))
PERCENT = NOMINAL.cycle.percent
SIGNALS = {"flexion": DEGREE, "axial_force": 1.0, "ap_force": 1.0, "internal_torque": 1.0}


def contents(inputs):
    """Return all that an input holds, flat."""
    cycle = {name: getattr(inputs.cycle, name) for name in (*SIGNALS, "percent", "period")}
    simulator = {
        name: value.array if isinstance(value, Pose) else value
        for name, value in vars(inputs.simulator).items()
        if not name.startswith("_")
    }
    own = {name: getattr(inputs, name) for name in ("offset", "stiffness", "wear_factor")}
    return cycle | simulator | own


def changed(name, value, nominal=NOMINAL):
    """Return what a factor changes: name -> (before, after)."""
    before, after = contents(nominal), contents(varied(nominal, {name: value}))
    fields = (key for key in after if key in before)
    return {k: (before[k], after[k]) for k in fields if not np.array_equal(before[k], after[k])}


def only(name, value, field):
    """Return a field before and after, which alone has changed."""
    found = changed(name, value)
    assert set(found) == {field}, name
    return found[field]


def test_no_factor_changes_nothing():
    inputs = varied(NOMINAL, {})
    assert inputs.cycle is NOMINAL.cycle
    assert inputs.simulator is NOMINAL.simulator


@pytest.mark.parametrize(
    ("short", "signal"),
    [
        ("flexion", "flexion"),
        ("axial", "axial_force"),
        ("ap", "ap_force"),
        ("torque", "internal_torque"),
    ],
)
def test_scale_and_offset(short, signal):
    before, after = only(f"{short}_scale", 1.1, signal)
    assert_allclose(after, 1.1 * before, rtol=1e-14)
    (offset,) = (name for name in FACTORS if name.startswith(f"{short}_offset_"))
    before, after = only(offset, 2.0, signal)
    assert_allclose(after, before + 2.0 * SIGNALS[signal], rtol=1e-14)


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize(("wave", "function"), [("cos", np.cos), ("sin", np.sin)])
@pytest.mark.parametrize("number", [1, 3, 9])
def test_harmonics(signal, wave, function, number):
    unit = {"flexion": "deg", "internal_torque": "Nm"}.get(signal, "N")
    before, after = only(f"{signal}_{wave}{number}_{unit}", 0.3, signal)
    expected = 0.3 * SIGNALS[signal] * function(2 * np.pi * number * PERCENT / 100.0)
    assert_allclose(after - before, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("short", "signal"), [("axial", "axial_force"), ("ap", "ap_force"), ("torque", None)]
)
def test_positive_shift_is_a_delay(short, signal):
    before, after = only(f"{short}_shift_percent", 10.0, signal or "internal_torque")
    # A whole number of rows: the delayed signal is the table's own, rolled.
    step = PERCENT[1] - PERCENT[0]
    assert_allclose(np.diff(PERCENT), step, rtol=1e-9)
    rows = round(10.0 / step)
    assert_allclose(rows * step, 10.0, rtol=1e-9)
    assert_allclose(after[:-1], np.roll(before[:-1], rows), rtol=0, atol=1e-9 * np.ptp(before))


def test_changes_of_a_waveform_do_not_depend_on_their_order():
    values = {"ap_offset_N": 5.0, "ap_scale": 1.2, "ap_shift_percent": 3.0, "ap_force_cos2_N": 4.0}
    one = varied(NOMINAL, values).cycle.ap_force
    other = varied(NOMINAL, dict(reversed(values.items()))).cycle.ap_force
    assert_allclose(one, other, rtol=0, atol=1e-12)
    shifted = varied(NOMINAL, {"ap_shift_percent": 3.0}).cycle.ap_force
    added = 5.0 + 4.0 * np.cos(4.0 * np.pi * PERCENT / 100.0)
    assert_allclose(one, 1.2 * shifted + added, rtol=0, atol=1e-9)


@pytest.mark.parametrize("coordinate", COORDINATES[1:])
def test_alignment_is_an_offset_of_one_coordinate(coordinate):
    turned = coordinate in ("adduction", "rotation")
    unit, si = ("deg", DEGREE) if turned else ("mm", 1e-3)
    _, offset = only(f"alignment_{coordinate}_{unit}", 0.5, "offset")
    expected = np.zeros(6)
    expected[COORDINATES.index(coordinate)] = 0.5 * si
    assert_allclose(offset, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "field", "si"),
    [
        ("medial_offset_mm", "medial_offset", 1e-3),
        ("anterior_offset_mm", "anterior_offset", 1e-3),
        ("ap_stiffness_N_per_mm", "anterior_stiffness", 1e3),
        ("rotation_stiffness_Nm_per_deg", "rotation_stiffness", 180.0 / np.pi),
        ("lateral_stiffness_N_per_mm", "lateral_stiffness", 1e3),
        ("adduction_stiffness_Nm_per_deg", "adduction_stiffness", 180.0 / np.pi),
        ("ap_gap_mm", "anterior_gap", 1e-3),
        ("rotation_gap_deg", "rotation_gap", DEGREE),
        ("superior_mass_kg", "superior_mass", 1.0),
        ("rotation_inertia_kg_m2", "rotation_inertia", 1.0),
        ("anterior_damping_Ns_per_m", "anterior_damping", 1.0),
        ("adduction_damping_Nms_per_rad", "adduction_damping", 1.0),
        ("modulus_scale", "stiffness", 1.0),
        ("wear_factor_mm3_per_Nm", "wear_factor", 1e-9),
        ("period_s", "period", 1.0),
    ],
)
def test_numbers_are_set_in_si(name, field, si):
    _, after = only(name, 1.7, field)
    assert_allclose(after, 1.7 * si, rtol=1e-14)


def test_neutral_pose():
    _, after = only("neutral_anterior_mm", 4.0, "neutral")
    assert_allclose(after, [0, 0, 0, 4e-3, 0, 0], rtol=1e-14)
    _, after = only("neutral_rotation_deg", 4.0, "neutral")
    assert_allclose(after, [0, 0, 4.0 * DEGREE, 2e-3, 0, 0], rtol=1e-14)


def test_every_factor_changes_something():
    motions = [name for name in FACTORS if "_motion_" in name]
    for name in set(FACTORS) - set(motions):
        # Sines of an even number of turns vanish at no fewer rows than all.
        assert len(changed(name, 0.77)) == 1, name


def test_prescribed_motion_is_varied_where_there_is_one():
    flexion, axial = NOMINAL.cycle.flexion, NOMINAL.cycle.axial_force
    motion = 1e-3 * np.sin(2.0 * np.pi * PERCENT / 100.0)
    cycle = GaitCycle(PERCENT, flexion, axial, anterior=motion)
    driven = Inputs(cycle, NOMINAL.simulator)
    scaled = varied(driven, {"anterior_motion_scale": 1.5}).cycle
    assert_allclose(scaled.anterior, 1.5 * cycle.anterior, rtol=1e-14)
    moved = varied(driven, {"anterior_motion_offset_mm": 2.0}).cycle
    assert_allclose(moved.anterior, cycle.anterior + 2e-3, rtol=1e-14)
    with pytest.raises(ValueError, match=r"study\.factor: ap_scale: ap_force: expected a signal"):
        check_applicable(driven, ["anterior_motion_scale", "ap_scale"])
    check_applicable(NOMINAL, [name for name in FACTORS if "_motion_" not in name])


def test_neutral_pose_along_a_path_is_refused():
    path = ReferencePath.through([0.0, 0.5, 1.0], np.zeros((3, 5)))
    with pytest.raises(ValueError, match=r'neutral_anterior.*restraint_about = "pose"'):
        check_applicable(
            Inputs(NOMINAL.cycle, KneeSimulator(neutral=path)), ["neutral_anterior_mm"]
        )


def test_unusable_inputs_are_refused():
    with pytest.raises(ValueError, match="axial_force: expected >= 0"):
        varied(NOMINAL, {"axial_offset_N": -500.0})
    with pytest.raises(ValueError, match="superior_mass"):
        varied(NOMINAL, {"superior_mass_kg": -1.0})


def test_unknown_name_shows_similar_names():
    with pytest.raises(ValueError, match=r"similar names are .*axial_scale"):
        check_factor("axial_scal")
    with pytest.raises(ValueError, match="study --factors") as caught:
        check_factor("qqq")
    assert "near" not in str(caught.value)


def test_every_factor_is_described():
    lines = describe_factors().splitlines()
    described = {line.split()[0] for line in lines}
    for name in FACTORS:
        head, _, unit = name.rpartition("_")
        short = f"{head[:-1]}K_{unit}" if head[-4:-1] in ("cos", "sin") else name
        assert short in described
    assert all("[" in line and len(line.split("] ")[1]) > 5 for line in lines)
