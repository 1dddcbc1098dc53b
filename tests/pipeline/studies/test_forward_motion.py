"""Forward simulations from file to page, also of a knee with menisci."""

import json

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose
from studies import ROOT

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal.forward_simulation import SecondaryMotion
from foundation.base.errors import InputError, PoseError
from pipeline.cli.main import main
from pipeline.studies.dispatch import carry_out, load_study
from pipeline.studies.forward_motions import (
    prepare_forward,
)
from pipeline.studies.jam_settings import jam_file

CONFIGS = ROOT / "configs"
FILES = {
    *("config.toml", "forward.json", "forward.html", "model.osim"),
    *("states.sto", "kinematics.mot", "forces.sto", "contact.sto"),
}


@pytest.fixture(scope="module")
def osim(jam_folder, opensim):
    return opensim


@pytest.fixture(scope="module")
def pulled(osim, tmp_path_factory):
    """Return the folder of the first instants of the laxity test, pulled at once."""
    folder = tmp_path_factory.mktemp("forward") / "out"
    sets = (
        "forward.coordinates={}",
        "forward.loads.anterior.at_s=[0.0]",
        "forward.loads.anterior.force_N=[[100.0, 0.0, 0.0]]",
        "forward.start_s=0.0",
        "forward.stop_s=0.04",
    )
    words = [word for text in sets for word in ("--set", text)]
    config = str(CONFIGS / "anterior_laxity.toml")
    assert main(["run", config, *words, "--out", str(folder), "--quiet"]) == 0
    return folder


@pytest.mark.slow
def test_instants_before_one_without_balance_are_written(osim, tmp_path, capsys, monkeypatch):
    step = SecondaryMotion.step

    def fails(self, frame, *rest):
        if frame == 3:
            raise PoseError("no balance")
        return step(self, frame, *rest)

    monkeypatch.setattr(SecondaryMotion, "step", fails)
    sets = ("forward.coordinates={}", "forward.start_s=0.0", "forward.stop_s=0.04")
    words = [word for text in sets for word in ("--set", text)]
    out = tmp_path / "out"
    config = str(CONFIGS / "passive_flexion.toml")
    assert main(["run", config, *words, "--out", str(out), "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "error: 0.03 s: no balance; choose a smaller forward.step_s" in told
    assert f"{out} has the 3 instants up to 0.02 s" in told
    assert {path.name for path in out.iterdir()} - {".lock"} == FILES
    summary = json.loads((out / "forward.json").read_text())
    assert summary["failure"].startswith("0.03 s: no balance; choose a smaller forward.step_s")
    assert summary["instants"] == len(read_motion_table(out / "states.sto").time) == 3
    assert "0.03 s: no balance" in (out / "forward.html").read_text()


def test_settings_of_the_tool_need_no_configuration(jam_folder, tmp_path):
    settings = tmp_path / "forsim_settings.xml"
    settings.write_text(
        "<D><ForsimTool><model_file>knee.osim</model_file><results_file_basename>anterior laxity"
        "</results_file_basename><unconstrained_coordinates>/jointset/knee_r/knee_tx_r"
        "</unconstrained_coordinates></ForsimTool></D>"
    )
    model = jam_folder / "models/lenhart2015/lenhart2015.osim"
    with pytest.raises(InputError, match=r"knee\.osim does not exist; state --model FILE\.osim"):
        jam_file(settings)
    with pytest.raises(InputError, match=r"cartilage\.stl does not exist; state --geometry FOLDER"):
        jam_file(settings, model=model)
    with pytest.raises(InputError, match=r"cartilage\.stl does not exist; state --geometry FOLDER"):
        jam_file(settings, model=model, geometry=tmp_path)
    for bone in ("femur", "tibia"):
        (tmp_path / f"lenhart2015-R-{bone}-cartilage.stl").touch()
    found = jam_file(settings, ("forward.step_s=0.02",), model=model, geometry=tmp_path).forward
    assert (found.name, found.surface, found.single_wraps_slide) == (
        "anterior_laxity",
        "flat",
        True,
    )
    assert found.step_s == 0.02
    name = "lenhart2015-R-femur-cartilage.stl"
    assert found.mesh_files[name] == tmp_path / name


def test_a_forward_simulation_writes_its_folder(pulled):
    assert {path.name for path in pulled.iterdir()} - {".lock"} == FILES
    summary = json.loads((pulled / "forward.json").read_text())
    assert summary["instants"] == 5
    assert summary["secondary"]["knee_tx_r"]["end"] > summary["secondary"]["knee_tx_r"]["start"]
    page = (pulled / "forward.html").read_text()
    assert "knee_tx_r" in page
    assert "tf_contact" in page


def test_settings_of_the_tool_are_changed_by_keys(osim, tmp_path):
    (tmp_path / "settings.xml").write_text(
        "<D><ForsimTool><model_file>x.osim</model_file><constant_muscle_control>0.05"
        "</constant_muscle_control><ignore_activation_dynamics>true</ignore_activation_dynamics>"
        "<unconstrained_coordinates>/jointset/knee_r/knee_tx_r</unconstrained_coordinates>"
        "</ForsimTool></D>"
    )
    sets = (
        f'forward.settings="{tmp_path}/settings.xml"',
        "forward.step_s=0.02",
        "forward.activation=0.1",
        'forward.kind="equilibrium"',
        "forward.coordinates.knee_add_r.deg=[2.0]",
    )
    setup = prepare_forward(load_study(CONFIGS / "passive_flexion.toml", sets).forward)
    assert setup.settings.step == 0.02
    assert setup.settings.activation == 0.1
    assert len(setup.settings.secondary) == 11
    assert_allclose(setup.plant.motion.speeds, 0.0)
    assert setup.warnings == (
        "forces move knee_add_r: of their courses, the first instant alone is used",
    )
    start = setup.plant.motion.values[0, setup.plant.motion.index(("knee_add_r",))[0]]
    assert np.degrees(start) == pytest.approx(2.0)
    flexion = setup.plant.motion.values[:, setup.plant.motion.index(("knee_flex_r",))[0]]
    assert_allclose(np.degrees(flexion[[0, 25, -1]]), [0.0, 0.0, 90.0], atol=1e-9)


#: Height of the slab [m], force on the tibia [N], thickness of a layer [m], Poisson's ratio.
SLAB, FORCE, LAYER, RATIO = 2e-4, 100.0, 2e-3, 0.4
STIFF = (1.0 - RATIO) / ((1.0 + RATIO) * (1.0 - 2.0 * RATIO))


def _joint(name, parent, child, height):
    axes = "".join(
        f'<TransformAxis name="{kind}{k + 1}"><coordinates>'
        f"{name if (kind, k) == ('translation', 1) else ''}</coordinates><axis>{axis}</axis>"
        + (
            "<LinearFunction><coefficients>1 0</coefficients></LinearFunction>"
            if (kind, k) == ("translation", 1)
            else "<Constant><value>0</value></Constant>"
        )
        + "</TransformAxis>"
        for kind in ("rotation", "translation")
        for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1"))
    )
    return (
        f'<CustomJoint name="joint_{name}"><socket_parent_frame>{parent}</socket_parent_frame>'
        f"<socket_child_frame>/bodyset/{child}</socket_child_frame><coordinates>"
        f'<Coordinate name="{name}"><default_value>{height}</default_value></Coordinate>'
        f"</coordinates><SpatialTransform>{axes}</SpatialTransform></CustomJoint>"
    )


def _mesh(name, body, modulus):
    return (
        f'<Smith2018ContactMesh name="{name}"><socket_frame>/bodyset/{body}</socket_frame>'
        f"<mesh_file>{name}.stl</mesh_file><elastic_modulus>{modulus}</elastic_modulus>"
        f"<poissons_ratio>{RATIO}</poissons_ratio><thickness>{LAYER}</thickness>"
        "</Smith2018ContactMesh>"
    )


def _contact(name, bed, target):
    return (
        f'<Smith2018ArticularContactForce name="{name}"><socket_casting_mesh>{bed}'
        f"</socket_casting_mesh><socket_target_mesh>{target}</socket_target_mesh>"
        "<use_lumped_contact_model>false</use_lumped_contact_model>"
        "</Smith2018ArticularContactForce>"
    )


def slab_model(folder, modulus):
    """Write plateaus under a femur, with a slab of a modulus [Pa] on the medial plateau."""
    corners = np.array([[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    left = corners * (0.018, 0.0, 0.012) - (0.0, 0.0, 0.02)
    right = corners * (0.02, 0.0, 0.014) + (0.0, 0.0, 0.02)
    small = corners * (0.008, 0.0, 0.007) - (0.0, 0.0, 0.02)
    for name, vertices, triangles in (
        ("tibia", np.vstack([left, right]), np.vstack([faces, faces + 4])),
        ("femur", corners * (0.03, 0.0, 0.04), faces[:, ::-1]),
        ("above", small + np.array([0.0, SLAB, 0.0]), faces),
        ("below", small, faces[:, ::-1]),
    ):
        trimesh.Trimesh(vertices, triangles, process=False).export(folder / f"{name}.stl")
    names = ("femur_r", "tibia_r", "slab_r")
    bodies = "".join(
        f'<Body name="{name}"><mass>0.1</mass><mass_center>0 0 0</mass_center>'
        "<inertia>1e-3 1e-3 1e-3 0 0 0</inertia></Body>"
        for name in names
    )
    weld = (
        '<WeldJoint name="hip_r"><socket_parent_frame>/ground</socket_parent_frame>'
        "<socket_child_frame>/bodyset/femur_r</socket_child_frame></WeldJoint>"
    )
    joints = weld + _joint("tibia_ty", "/bodyset/femur_r", "tibia_r", 5e-5)
    meshes = _mesh("tibia", "tibia_r", 5e6) + _mesh("femur", "femur_r", 5e6)
    contacts = _contact("tf", "tibia", "femur")
    joints += _joint("slab_ty", "/bodyset/tibia_r", "slab_r", -1e-4)
    meshes += _mesh("above", "slab_r", modulus) + _mesh("below", "slab_r", modulus)
    contacts += _contact("mf", "above", "femur") + _contact("mt", "below", "tibia")
    path = folder / "slab.osim"
    path.write_text(
        '<OpenSimDocument Version="40000"><Model name="slab"><gravity>0 0 0</gravity>'
        f'<BodySet name="bodyset"><objects>{bodies}</objects></BodySet>'
        f'<JointSet name="jointset"><objects>{joints}</objects></JointSet>'
        f'<ContactGeometrySet name="contactgeometryset"><objects>{meshes}</objects>'
        f'</ContactGeometrySet><ForceSet name="forceset"><objects>{contacts}</objects></ForceSet>'
        "</Model></OpenSimDocument>"
    )
    return path


def pressed(folder, modulus):
    """Return the summary of the tibia pressed upwards against the femur."""
    folder.mkdir()
    (folder / "slab.toml").write_text(
        f"[forward]\nname = 'slab'\nmodel = '{slab_model(folder, modulus)}'\n"
        "secondary = ['tibia_ty', 'slab_ty']\nkind = 'equilibrium'\nsurface = 'flat'\n"
        "start_s = 0.0\nstop_s = 0.02\n"
        f"[forward.loads.up]\nbody = 'tibia_r'\nforce_N = [[0.0, {FORCE}, 0.0]]\n"
    )
    carry_out(load_study(folder / "slab.toml"), folder / "out")
    return json.loads((folder / "out" / "forward.json").read_text())


def by_hand(modulus):
    """Return the overlap of femur and tibia [m], and the load through the slab [N]."""
    direct = STIFF * 5e6 / (2.0 * LAYER) * (0.036 * 0.024 + 0.04 * 0.028)
    slab = STIFF / LAYER / (1.0 / modulus + 1.0 / 5e6) * 0.016 * 0.014
    overlap = (FORCE - 0.5 * slab * SLAB) / (direct + 0.5 * slab)
    return overlap, 0.5 * slab * (SLAB + overlap)


def test_a_slab_carries_its_part_in_series(opensim, tmp_path):
    overlap, through = by_hand(2e6)
    summary = pressed(tmp_path / "a", 2e6)
    assert summary["secondary"]["tibia_ty"]["end"] == pytest.approx(1e3 * overlap, rel=1e-6)
    for contact in ("mf", "mt"):
        assert summary["contact"][contact]["total"]["end_N"] == pytest.approx(through, rel=1e-6)
