"""Ligaments of a study follow the files of the meshes: axes, origin, side."""

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
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.contact_original import build_knee
from pipeline.preparation.findings import Findings
from pipeline.simulation import build_simulator, gait_ligaments
from pipeline.studies.runs import replaced

#: A path that is not settled.
TABLE_PATH = (
    "space.path.kind='table'",
    "space.path.flexion_deg=[0, 60]",
    *(f"space.path.{name}=[0, 0]" for name in ("adduction_deg", "rotation_deg", "anterior_mm")),
    "space.path.superior_mm=[30, 31]",
    "space.path.lateral_mm=[0, 0]",
)
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


def test_the_side_of_a_table_of_loads_is_that_of_the_ligaments(tmp_path):
    original = {"kind": "table", "file": "rows.csv", "side": "left"}
    tree = {"original": original, "simulation": {"ligaments": str(LENHART_LIGAMENTS)}}
    config = Config.model_validate(tree)
    with pytest.raises(InputError, match="MCLd1: expected on the medial side"):
        gait_ligaments(config.simulation)


def own_table(tmp_path, change):
    """Write the first bundle of the shipped table with other cells."""
    table = read_csv_table(LENHART_LIGAMENTS)
    _, row = next(table.rows())
    path = tmp_path / "own.csv"
    text = "\n".join([",".join(table.names), ",".join((row | change).values())]) + "\n"
    path.write_text(text, encoding="utf-8")
    return f"simulation.ligaments={path}"


def test_ligaments_that_do_not_fit_surfaces_and_path_are_told(tmp_path, knee):
    key = own_table(tmp_path, {"femoral_y_mm": "180", "reference_strain": "-0.4"})
    config = load_config(SMOKE, (*TINY, *TABLE_PATH, key))
    findings = Findings()
    findings.attempt("[space.path]", knee.reference_path, config)
    texts = [each.text for each in findings.ordered()]
    assert len(texts) == 2
    told = "simulation.ligaments: expected attachments near the bones, found the femoral attachment"
    assert texts[0].startswith(f"{told} of MCLd1 at [-1.7, 180.0, -37.3] mm")
    assert texts[1].startswith("simulation.ligaments: expected a largest strain of -0.3 to 0.3")
