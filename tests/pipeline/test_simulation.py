"""Simulation of a study: reference path, simulator, waveforms, comparison; ligaments in frames."""

from types import SimpleNamespace

import numpy as np
import pytest
import tomli_w
from numpy.testing import assert_allclose
from studies import SMOKE, TINY, WAVEFORMS, export

from dynamics.csv_table import read_csv_table
from dynamics.ligaments.bundle_tables import LENHART_LIGAMENTS, SHIPPED_LIGAMENTS, load_ligaments
from dynamics.ligaments.bundles import pack
from dynamics.simulator.equilibrium import settle
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.config.reading import load_config
from pipeline.config.stage_schema import SimulationConfig
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import (
    build_simulator,
    cycle_differences,
    gait_cycle,
    gait_ligaments,
)
from pipeline.store.run_documents import COMPARED
from pipeline.studies.study import replaced

TABLE = (
    "space.path.kind='table'",
    "space.path.flexion_deg=[0, 30, 60]",
    "space.path.adduction_deg=[0, 1, 2]",
    "space.path.rotation_deg=[0, -2, -4]",
    "space.path.anterior_mm=[1, 2, 3]",
    "space.path.superior_mm=[30, 31, 32]",
    "space.path.lateral_mm=[0.5, 0, -0.5]",
)


def test_table_of_a_path_is_taken_in_si_units():
    config = load_config(SMOKE, (*TINY, *TABLE))
    path = build_knee(config).reference_path(config)
    pose = path.poses(np.radians([30.0]))[0]
    expected = [*np.radians([30.0, 1.0, -2.0]), 2e-3, 31e-3, 0.0]
    np.testing.assert_allclose(pose, expected, rtol=0.0, atol=1e-12)


def test_settled_path_carries_the_axial_force(tiny_run):
    config = load_config(tiny_run / "config.toml")
    knee = build_knee(config)
    path = knee.reference_path(config)
    np.testing.assert_allclose(np.degrees(path.flexion[[0, -1]]), [-3.0, 63.0], rtol=1e-12, atol=0)
    for pose in path.poses(path.flexion):
        loads = knee.model.loads(Pose.from_array(pose))
        assert loads.force[1] == pytest.approx(config.space.path.axial_force_N, rel=1e-4)


def test_simulator_gets_si_units():
    config = SimulationConfig(
        medial_offset_mm=4.0,
        ap_stiffness_N_per_mm=20.0,
        lateral_stiffness_N_per_mm=10.0,
        rotation_stiffness_Nm_per_deg=0.5,
        adduction_stiffness_Nm_per_deg=2.0,
    )
    simulator = build_simulator(config, Pose(superior=0.03))
    assert simulator.medial_offset == pytest.approx(4e-3, rel=1e-12)
    assert simulator.anterior_stiffness == pytest.approx(20e3, rel=1e-12)
    assert simulator.lateral_stiffness == pytest.approx(10e3, rel=1e-12)
    assert simulator.rotation_stiffness == pytest.approx(0.5 * 180.0 / np.pi, rel=1e-12)
    assert simulator.adduction_stiffness == pytest.approx(2.0 * 180.0 / np.pi, rel=1e-12)


def test_axial_scale_and_period_reach_the_cycle():
    one, half = (
        gait_cycle(SimulationConfig(waveforms=str(WAVEFORMS), period_s=p, axial_scale=s))
        for p, s in ((1.0, 1.0), (2.0, 0.5))
    )
    np.testing.assert_allclose(half.axial_force, 0.5 * one.axial_force, rtol=1e-14, atol=0.0)
    np.testing.assert_array_equal(half.ap_force, one.ap_force)
    assert half.at(1.0)[0] == pytest.approx(one.at(0.5)[0], rel=1e-12)


def test_differences_of_cycles():
    truth = {name: np.linspace(-1.0, 3.0, 5) for name in COMPARED}
    off = truth["anterior_m"] + np.array([0.0, 3e-3, 0.0, -4e-3, 0.0])
    original, surrogate = (
        SimpleNamespace(columns=lambda own=own: own) for own in (truth, truth | {"anterior_m": off})
    )
    rows = cycle_differences(original, surrogate)
    assert list(rows) == list(COMPARED)
    found = rows["anterior_m"]
    assert found.rms == pytest.approx(np.sqrt(5.0) * 1e-3, rel=1e-9)
    assert found.largest == pytest.approx(4e-3, rel=1e-9)
    assert (found.range, found.peak, found.surrogate_peak) == (4.0, 3.0, 3.0)
    assert rows["superior_m"].rms == 0.0


#: Origins of the files [mm] that the surfaces are moved to.
ORIGINS = {"femur": [12.0, -300.0, 40.0], "tibia": [-7.0, 25.0, 3.0]}


@pytest.fixture
def study(tmp_path, shapes):
    """Return a function that writes a study of a side in frames of its files, with ligaments."""
    table = read_csv_table(LENHART_LIGAMENTS)

    def write(side, *, mirror=1.0):
        signs = np.array([-1.0, 1.0, -1.0 if side == "right" else 1.0])  # of body axes in the file
        knee = {"source": "meshes", "side": side}
        for body, mesh in shapes.items():
            own = mesh if side == "right" else mesh.mirrored()
            vertices = 1e3 * own.vertices * [-1, 1, -1] + ORIGINS[body]
            moved = type(mesh)(vertices, own.faces, mesh.name)
            file = export(moved, tmp_path / f"{body}-{side}.ply")
            frame = {"unit": "mm", "axes": ["-x", "y", "-z"], "origin_mm": ORIGINS[body]}
            knee[body] = {"file": str(file), **frame}
        lines = [",".join(table.names)]
        for _, row in table.rows():
            for end, body in (("femoral", "femur"), ("tibial", "tibia")):
                for k, axis in enumerate("xyz"):
                    key = f"{end}_{axis}_mm"
                    value = float(row[key]) + (31.0 if (end, axis) == ("tibial", "y") else 0.0)
                    at = mirror if axis == "z" else 1.0
                    row[key] = f"{signs[k] * at * value + ORIGINS[body][k]!s}"
            lines.append(",".join(row.values()))
        (tmp_path / f"{side}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        tree = {
            "knee": knee,
            "contact": {"thickness_mm": 8.0},
            "simulation": {"waveforms": str(WAVEFORMS), "ligaments": f"{side}.csv"},
        }
        path = tmp_path / f"{side}.toml"
        path.write_text(tomli_w.dumps(tree), encoding="utf-8")
        return load_config(path)

    return write


def test_a_left_knee_with_its_left_table_rests_as_the_right_knee(study):
    rests, bundles = [], []
    for side in ("right", "left"):
        config = study(side)
        knee = build_knee(config)
        simulator = build_simulator(config.simulation, knee.start)
        bundles.append(pack(simulator.ligaments))
        rests.append(
            settle(knee.quick, simulator, flexion=0.3, axial_force=500.0, start=knee.start)
        )
    for one, other in zip(*bundles, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-15)
    assert_allclose(rests[0].array, rests[1].array, rtol=0.0, atol=1e-6)
    assert abs(rests[0].rotation) > 1e-3  # The ligaments pull aslant.


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_table_that_is_not_mirrored_with_the_meshes_is_told(study, side):
    with pytest.raises(InputError, match=r"ligament MCLd1: expected on the medial side"):
        gait_ligaments(study(side, mirror=-1.0).simulation)


def sent(section):
    """Return a section as another process gets it: a new object with the same state."""
    made = type(section).__new__(type(section))
    made.__setstate__(section.__getstate__())
    return made


def test_the_frames_stay_with_a_simulation_of_other_keys(study):
    simulation = study("left").simulation
    for other in (
        replaced(simulation, {"period_s": 1.2}),
        simulation.model_copy(update={"cycles": 2}),
        sent(simulation),
    ):
        assert other.knee == simulation.knee
        assert_allclose(
            pack(gait_ligaments(other)).femoral, pack(gait_ligaments(simulation)).femoral
        )


def test_shipped_ligaments_are_in_the_frames_of_the_bones(study):
    config = study("left")
    simulation = replaced(config.simulation, {"ligaments": SHIPPED_LIGAMENTS})
    for one, other in zip(
        pack(gait_ligaments(simulation)), pack(load_ligaments(LENHART_LIGAMENTS)), strict=True
    ):
        assert_allclose(one, other, rtol=0.0, atol=0.0)
