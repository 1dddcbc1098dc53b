"""Each damaged mesh has one sentence, sound meshes have none."""

import re

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from some_slow import first_of

from foundation.base.errors import InputError
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.mesh_checks import report_findings
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.originals.knee_surface_checks import check_surfaces
from tests.oracles.shells import shell

IMPLANT_AXES = ("-x", "y", "-z")
SOUND = ("built-in", "single radius", "cartilage", "coarse cartilage", "component", "solid femur")
_KNOWN = {}


def pair_of(name, knee_data):
    """Return the surfaces of a sound knee by body."""
    if name not in _KNOWN:
        _KNOWN[name] = _read_pair(name, knee_data)
    return _KNOWN[name]


def _read_pair(name, knee_data):
    if name in ("built-in", "single radius"):
        implant = CondylarImplant() if name == "built-in" else CondylarImplant.single_radius()
        femur, tibia, _ = implant.tessellate(2e-3)
        return {"femur": changed(femur), "tibia": changed(tibia)}
    if "cartilage" in name:
        folder = knee_data() / "jam_lenhart2015_knee"
        kind = "-coarse.stl" if name.startswith("coarse") else ".obj"
        return {b: load_mesh(folder / f"ACLC01-R-{b}-cart{kind}") for b in ("femur", "tibia")}
    folder = knee_data() / "grand_challenge_DM_implant"
    femur = "decimated" if name == "solid femur" else "contact"
    files = {"femur": f"Femoral Component {femur}.stl", "tibia": "Tibial Insert contact.stl"}
    return {body: load_mesh(folder / file, axes=IMPLANT_AXES) for body, file in files.items()}


@pytest.fixture
def pair(request):
    """Return a function that returns the surfaces of a knee, or skips where the data is absent."""
    return lambda name: pair_of(name, lambda: request.getfixturevalue("knee_data"))


def changed(mesh, vertices=None, faces=None):
    """Return a mesh with other vertices or faces, without vertex normals, as load_mesh does."""
    vertices = mesh.vertices if vertices is None else vertices
    used, faces = np.unique(mesh.faces if faces is None else faces, return_inverse=True)
    return TriangleMesh(vertices[used], faces.reshape(-1, 3), mesh.name)


def turned(mesh, x, y, z):
    """Return a mesh with new axes, given as in a file: 1 is x, -3 is minus z."""
    axes = np.array([np.sign(a) * np.eye(3)[abs(a) - 1] for a in (x, y, z)])
    assert np.linalg.det(axes) > 0.0
    return changed(mesh, mesh.vertices @ axes.T)


def inside_out(mesh):
    return changed(mesh, faces=mesh.faces[:, ::-1])


def shifted(mesh, *millimetres):
    return changed(mesh, mesh.vertices + 1e-3 * np.array(millimetres))


def half(mesh, side):
    """Return the condyle or plateau of one side."""
    middle = 0.5 * (mesh.vertices[:, 2].min() + mesh.vertices[:, 2].max())
    return changed(mesh, faces=mesh.faces[side * (mesh.centroids[:, 2] - middle) > 0.0])


def crumbled(mesh):
    keep = np.random.default_rng(0).random(len(mesh.faces)) < 0.25
    return changed(mesh, faces=mesh.faces[keep])


def closed(mesh):
    return changed(mesh, *shell(mesh, 8e-3))


def few(mesh):
    return changed(mesh, faces=mesh.faces[np.argsort(mesh.centroids[:, 2])[:150]])


def body_of(kind, mesh):
    """Return a sphere, box or cylinder in the place of a mesh."""
    solid = {
        "sphere": trimesh.creation.icosphere(subdivisions=3, radius=0.03),
        "box": trimesh.creation.box((0.05, 0.03, 0.07)).subdivide().subdivide().subdivide(),
    }[kind]
    return changed(mesh, np.asarray(solid.vertices), np.asarray(solid.faces))


def femur(change, *args):
    return lambda pair: pair | {"femur": change(pair["femur"], *args)}


def tibia(change, *args):
    return lambda pair: pair | {"tibia": change(pair["tibia"], *args)}


def scaled(mesh, factor):
    return changed(mesh, factor * mesh.vertices)


#: Name of each damage, what it does, and code, section and words of the only finding.
DAMAGES = {
    "femur inside out": (femur(inside_out), "inverted", "femur", "condyles are hollow"),
    "tibia inside out": (tibia(inside_out), "inverted", "tibia", "points into the tibia"),
    "femur upside down": (femur(turned, 1, -2, -3), "orientation", "femur", "signs of two axes"),
    "tibia upside down": (tibia(turned, 1, -2, -3), "orientation", "tibia", "signs of two axes"),
    "tibia a quarter round": (tibia(turned, 3, 2, -1), "quarter-turn", "tibia", "wider than long"),
    "femur a quarter round": (femur(turned, 3, 2, -1), "quarter-turn", "femur", "condyles roll"),
    "femur far behind": (femur(shifted, -60, 0, 0), "femur-origin", "femur", "init second.toml"),
    "tibia in front": (tibia(shifted, 60, 0, 0), "tibia-origin", "tibia", "init second.toml"),
    "closed tibia": (tibia(closed), "closed", "tibia", 'surface = "bearing" in [knee.tibia]'),
    "crumbs of a femur": (femur(crumbled), "crumbs", "femur", "merge close vertices"),
    "few triangles of a tibia": (tibia(few), "few", "tibia", "150 triangles, too few"),
    "medial plateau": (tibia(half, -1.0), "single-plateau", "tibia", 'file, such as ["medial'),
    "lateral condyle": (femur(half, 1.0), "single-condyle", "femur", "knee.femur.file"),
    "sphere as femur": (
        lambda pair: pair | {"femur": body_of("sphere", pair["femur"])},
        *("other-body", "femur", "a sphere, not the bearing surface"),
    ),
    "box as tibia": (
        lambda pair: pair | {"tibia": body_of("box", pair["tibia"])},
        *("other-body", "tibia", "a body of flat faces, not the bearing surface"),
    ),
    "femur twice": (
        lambda pair: pair | {"tibia": turned(pair["femur"], 1, -2, -3)},
        *("same", "", "have the same surface"),
    ),
    "exchanged": (
        lambda pair: {"femur": pair["tibia"], "tibia": pair["femur"]},
        *("exchanged", "", "exchange knee.femur.file and knee.tibia.file"),
    ),
    "large femur": (femur(scaled, 1.8), "width", "", "belong to one knee"),
}


@pytest.mark.parametrize("name", first_of(SOUND, 4))
def test_sound_surfaces_have_no_finding(pair, name):
    meshes = pair(name)
    assert check_surfaces(meshes) == []
    for body, mesh in meshes.items():
        assert check_surfaces({body: mesh}) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_has_its_own_sentence(pair, damage):
    change, code, body, words = DAMAGES[damage]
    findings = check_surfaces(change(pair("built-in")))
    assert [finding.code for finding in findings if finding.is_error] == [code], findings
    finding = next(finding for finding in findings if finding.is_error)
    assert finding.about == (f"[knee.{body}]" if body else "[knee]")
    assert words in finding.text
    with pytest.raises(InputError, match=re.escape(words)):
        report_findings([finding])


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "body", "code", "words"),
    [
        ("coarse cartilage", "femur", "opposed", "signs of the first and third of knee.femur.axes"),
        ("component", "femur", "opposed", "signs of the first and third of knee.femur.axes"),
        ("component", "tibia", "notch", "signs of the first and third of knee.tibia.axes"),
        ("coarse cartilage", "tibia", "tibia-opposed", "may be opposed"),
    ],
)
def test_body_turned_about_is_opposed_or_doubtful(pair, name, body, code, words):
    meshes = pair(name)
    (finding,) = check_surfaces(meshes | {body: turned(meshes[body], -1, 2, -3)})
    assert (finding.code, finding.is_error) == (code, code != "tibia-opposed")
    assert words in finding.text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (femur(scaled, 0.72), "width"),
        (femur(shifted, 0, 35, 0), "femur-origin"),
        (femur(shifted, 0, 0, 15), "femur-origin"),
        (tibia(shifted, -25, 0, 0), "tibia-origin"),
    ],
)
def test_doubtful_placement_is_a_warning(pair, change, code):
    (finding,) = check_surfaces(change(pair("built-in")))
    assert (finding.code, finding.is_error) == (code, False)
    assert "expected" in finding.text


@pytest.mark.parametrize("degrees", [20.0, -25.0])
@pytest.mark.parametrize("body", ["femur", "tibia"])
def test_body_turned_by_some_degrees_is_doubtful(pair, body, degrees):
    mesh = pair("built-in")[body]
    about = Rotation.from_euler("y", degrees, degrees=True).as_matrix()
    meshes = pair("built-in") | {body: changed(mesh, mesh.vertices @ about.T)}
    found = [f for f in check_surfaces(meshes) if f.code == f"{body}-turned"]
    assert [f.is_error for f in found] == [False]
    assert f"is {abs(degrees):.0f} deg off the lateral axis" in found[0].text
