"""Replays of a recorded plant: its forces, their derivatives, its file."""

from dataclasses import replace

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.musculoskeletal import RecordedPlant
from dynamics.musculoskeletal.recorded_plant import RANGE
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.synthetic import FRAMES, LIGAMENTS, MUSCLES, record

STEP = 1e-6


def test_forces_at_the_record_are_those_recorded():
    plant = record()
    found = plant.forces(1, plant.frames.values[1], plant.frames.speeds[1])
    tensions = plant.ligaments.tensions(plant.frames.lengths[1], plant.frames.rates[1]).tension
    assert (tensions > 0.0).any()
    expected = plant.frames.needed[1] - plant.frames.ligament_arms[1] @ tensions
    assert_allclose(found.needed, expected, rtol=1e-14)
    assert_array_equal(found.arms, plant.frames.arms[1])


def undamped(plant):
    """Return the plant without the damping of ligaments, whose derivatives are left out."""
    return replace(plant, ligaments=replace(plant.ligaments, damping=np.zeros(LIGAMENTS)))


@pytest.mark.parametrize("frame", range(FRAMES))
def test_columns_are_derivatives_of_the_forces_away_from_the_record(frame):
    plant = undamped(record())
    tensions = np.linspace(10.0, 300.0, MUSCLES)
    values = plant.frames.values[frame] + [3e-3, -4e-4]
    speeds = plant.frames.speeds[frame]

    def surplus(at):
        found = plant.forces(frame, at, speeds)
        return found.arms @ tensions - found.needed

    found = plant.columns(frame, values, speeds, tensions)
    assert_allclose(found, differences(surplus, values, STEP), rtol=2e-6, atol=1e-3)


def test_ligaments_do_the_work_of_their_tensions():
    """The generalised force of a ligament is minus the derivative of its energy."""
    plant = undamped(record())
    frame, speeds = 2, plant.frames.speeds[2]
    values = plant.frames.values[frame] + [2e-3, 3e-4]

    def length(at):
        steps = at - plant.frames.values[frame]
        arms = plant.frames.ligament_arms[frame][1:]
        curved = np.einsum("skt,s,t->k", plant.frames.ligament_arm_columns[frame][1:], steps, steps)
        return plant.frames.lengths[frame] - steps @ arms - 0.5 * curved

    tensions = plant.ligament_tensions(frame, values, speeds)
    assert_allclose(
        tensions, plant.ligaments.tensions(length(values), np.zeros(LIGAMENTS)).tension, rtol=1e-6
    )
    gradient = differences(length, values, STEP).T
    without = replace(plant, ligaments=plant.ligaments.scaled(stiffness=0.0))
    pull = without.forces(frame, values, speeds).needed - plant.forces(frame, values, speeds).needed
    assert_allclose(pull[1:], -gradient @ tensions, rtol=1e-5, atol=1e-8)


def test_fibres_follow_the_lengths_of_the_muscles():
    plant, frame = record(), 1
    values = plant.frames.values[frame] + [2e-3, 3e-4]
    speeds = plant.frames.speeds[frame] + [-0.02, 0.01]
    forces, by_length, by_rate = plant.frames.fibres[frame]
    arms = plant.frames.arms[frame][1:]
    # A muscle shortens by its arm per unit of a coordinate.
    longer, faster = -(2e-3 * arms[0] + 3e-4 * arms[1]), -(-0.02 * arms[0] + 0.01 * arms[1])
    found = plant.contractions(frame, values, speeds)
    assert_allclose(found.active, forces[0] + by_length[0] * longer + by_rate[0] * faster)
    assert_allclose(found.passive, forces[1] + by_length[1] * longer)
    at_record = plant.contractions(frame, plant.frames.values[frame], plant.frames.speeds[frame])
    assert_array_equal(at_record[:2], forces)
    assert (plant.contractions(frame, values, 1e4 * speeds).active >= 0.0).all()


def test_values_outside_the_range_are_told():
    plant = record()
    values = plant.frames.values.copy()
    assert not plant.outside(values).any()
    values[1, 0] += 1.01 * RANGE[0]
    values[2, 1] -= 1.01 * RANGE[1]
    values[3] += 0.99 * np.array(RANGE)
    assert_array_equal(np.argwhere(plant.outside(values)), [[1, 0], [2, 1]])


def test_a_record_is_read_as_written(tmp_path):
    plant = record()
    plant.save(tmp_path / "plant.npz")
    found = RecordedPlant.load(tmp_path / "plant.npz")
    for name, array in plant.frames._asdict().items():
        assert_array_equal(getattr(found.frames, name), array)
    assert found.settings == plant.settings
    assert found.model == plant.model == "digest"
    assert found.secondary == plant.secondary
    assert found.free == plant.free
    assert_array_equal(found.start, plant.start)
    assert_array_equal(found.motion.values, plant.motion.values)
    assert_array_equal(found.ligaments.stiffness, plant.ligaments.stiffness)
    assert_array_equal(found.muscles.bounds, plant.muscles.bounds)


@pytest.mark.parametrize(
    ("key", "change", "told"),
    [
        ("fibres", lambda a: a[:, :2], "fibres: expected shape"),
        ("mass", lambda a: 0.0 * a, "mass: expected"),
        ("muscle_max_force", lambda a: -a, "max_force: expected"),
        ("muscle_bounds", lambda a: a[..., :1], "bounds"),
        ("motion_time", lambda a: a[::-1], "time: expected increasing instants"),
        ("settings", lambda a: np.array("{}"), "settings"),
        ("start", None, "start.*record again"),
        ("names", lambda a: np.array(3), "record again"),
        ("needed", lambda a: a.astype(object), "another or a damaged file"),
        ("format", lambda a: "something else", "something else"),
    ],
)
def test_records_that_could_not_be_replayed_are_refused(tmp_path, key, change, told):
    path = tmp_path / "plant.npz"
    record().save(path)
    with np.load(path) as stored:
        data = {name: stored[name] for name in stored.files}
    value = data.pop(key)
    np.savez(path, **data, **({key: change(value)} if change else {}))
    with pytest.raises(InputError, match=told):
        RecordedPlant.load(path)
