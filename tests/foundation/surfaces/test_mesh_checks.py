"""Checks of articular surfaces, each with a mesh that has just that fault."""

import numpy as np
import pytest
import shapes
import trimesh

from foundation.base.findings import Finding
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import MeshError, MeshWarning, TriangleMesh
from foundation.surfaces.mesh_checks import check_mesh, check_orientation, report_findings


@pytest.fixture(scope="module")
def implant():
    return CondylarImplant().tessellate(3e-3)


PLATE = shapes.plate(40e-3, 10)
COUNT = len(PLATE.vertices)


def changed(mesh, *, vertices=None, faces=None):
    return TriangleMesh(
        mesh.vertices if vertices is None else vertices,
        mesh.faces if faces is None else faces,
        "knee.stl",
    )


def only_finding(mesh, body=None):
    findings = check_mesh(mesh, body)
    assert len(findings) == 1, findings
    return findings[0]


def ball(radius=0.03, outward=True):
    sphere = trimesh.creation.icosphere(subdivisions=3, radius=radius)
    faces = np.asarray(sphere.faces)
    return TriangleMesh(sphere.vertices, faces if outward else faces[:, ::-1], "knee.stl")


@pytest.mark.parametrize(
    ("factor", "unit"), [(1e3, "mm"), (1e2, "cm"), (1e6, "um"), (1e-3, "m"), (1e-6, "m")]
)
def test_scale_names_the_unit_to_give(implant, factor, unit):
    finding = only_finding(changed(implant[1], vertices=factor * implant[1].vertices), "tibia")
    assert finding.is_error
    assert finding.code == "scale"
    assert finding.text.startswith("knee.stl: bounding box has a diagonal of")
    assert finding.text.endswith(f"set unit='{unit}'")


@pytest.mark.parametrize(("body", "index"), [("femur", 0), ("tibia", 1)])
def test_inverted_winding_is_found(implant, body, index):
    mesh = changed(implant[index], faces=implant[index].faces[:, ::-1])
    finding = only_finding(mesh, body)
    assert finding.is_error
    assert finding.code == "inverted"
    assert "winding is inverted" in finding.text
    with pytest.raises(MeshError, match=f"knee.stl: the normals of this {body} point inwards"):
        check_orientation(mesh, body)


@pytest.mark.parametrize(("body", "index"), [("femur", 0), ("tibia", 1)])
def test_body_upside_down_is_not_taken_for_inverted_winding(implant, body, index):
    mesh = changed(implant[index], vertices=implant[index].vertices * [1.0, -1.0, -1.0])
    finding = only_finding(mesh, body)
    assert finding.code == "orientation"
    assert "y axis points the wrong way" in finding.text
    # Turned over and inside out: the mean normal is as expected, the shape is not.
    assert only_finding(changed(mesh, faces=mesh.faces[:, ::-1]), body).code == "inverted"


def test_closed_body_is_judged_by_its_volume():
    check_orientation(ball(), "femur")
    check_orientation(ball(), "tibia")
    with pytest.raises(MeshError, match=r"closed body point inwards"):
        check_orientation(ball(outward=False), "femur")


def extended(vertices, faces=()):
    """The plate with more vertices and faces."""
    faces = np.vstack([PLATE.faces, *faces])
    return changed(PLATE, vertices=np.vstack([PLATE.vertices, vertices]), faces=faces)


# The turned triangle disagrees with each of its three neighbours.
TURNED = PLATE.faces.copy()
TURNED[45] = TURNED[45, ::-1]
CRUMB = 0.03 + np.array([[0, 0, 0], [0, 0, 1e-4], [1e-4, 0, 0]])
BESIDE = [PLATE.vertices + np.array([x, 0.0, 0.0]) for x in (0.05, 0.1)]


@pytest.mark.parametrize(
    ("mesh", "code", "message"),
    [
        (changed(PLATE, faces=TURNED), "winding", "winding at 3 edges"),
        (
            extended([[0.0, 0.01, 0.0]], [[*PLATE.faces[95, :2], COUNT]]),
            "non-manifold",
            "1 non-manifold edge (more than two triangles meet), the first at (18.0, 0.0, 2.0) mm",
        ),
        (extended([[7.0, 7.0, 7.0]]), "unreferenced", "1 unreferenced vertex without"),
        (extended(CRUMB, [COUNT + np.arange(3)]), "fragments", "1 loose fragment,"),
        (
            extended(np.vstack(BESIDE), [PLATE.faces + k * COUNT for k in (1, 2)]),
            "pieces",
            "3 separate pieces",
        ),
        # Of a closed body: not its rim.
        (changed(ball(), faces=ball().faces[1:]), "hole", "hole"),
    ],
)
def test_fault_is_the_only_finding(mesh, code, message):
    finding = only_finding(mesh)
    assert (finding.code, finding.is_error) == (code, code == "winding")
    assert message in finding.text


def test_hole_inside_the_rim():
    x, _, z = PLATE.centroids.T
    keep = np.hypot(x - 0.006, z + 0.01) > 4e-3
    assert 0 < (~keep).sum() < 20
    findings = check_mesh(changed(PLATE, faces=PLATE.faces[keep]))
    hole = [f for f in findings if f.code == "hole"]
    assert len(hole) == 1
    assert hole[0].is_error
    assert "13 mm across at about (6.0, 0.0, -10.0) mm" in hole[0].text
    where = [float(v) for v in hole[0].text.split("(")[1].split(")")[0].split(",")]
    np.testing.assert_allclose(where, [6.0, 0.0, -10.0], rtol=0.0, atol=2.0)


def test_report_raises_all_errors_at_once_and_warns_for_the_rest():
    findings = [
        Finding("error", "", "first error"),
        Finding("warning", "[knee]", "only a warning"),
        Finding("error", "[knee]", "second error"),
    ]
    with (
        pytest.warns(MeshWarning, match="^only a warning$"),
        pytest.raises(MeshError, match=r"^first error\n\[knee\] second error$"),
    ):
        report_findings(findings)


def test_duplicate_triangles():
    faces = np.concatenate([PLATE.faces, PLATE.faces[[7]][:, [1, 2, 0]]])
    findings = check_mesh(changed(PLATE, faces=faces))
    assert [f.code for f in findings] == ["duplicate", "non-manifold"]
    assert "1 duplicate triangle, the first is number 200" in findings[0].text


def test_wrong_axes_are_found(implant):
    z_up = changed(implant[1], vertices=implant[1].vertices[:, [2, 0, 1]])
    with pytest.raises(MeshError, match=r"this tibia faces \+z, expected \+y .*the file's axes"):
        check_orientation(z_up, "tibia")


def test_scale_of_no_knee_in_any_unit(implant):
    finding = only_finding(changed(implant[1], vertices=1e9 * implant[1].vertices))
    assert "whether the mesh is a knee" in finding.text
