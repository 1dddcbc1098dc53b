"""Frame of a tibia from its bearing surface: plateau, line through both plateaus, anterior side.

The mediolateral axis joins the centres of both plateaus (Cobb et al. 2008, J Bone Joint Surg Br
90:1032-1038). The superior axis is perpendicular to the plateau, the direction in which the surface
extends least: the slope of a plateau against its shaft is not visible in a bearing surface.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.anatomy.evidence import AnatomicalFrame, Evidence
from foundation.anatomy.joint_end import refined
from foundation.base.checks import FloatArray
from foundation.surfaces.compartments import LATERAL, MEDIAL, find_compartments
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.surface_shape import principal_axes
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Of the root mean square sizes: largest height over length (measured: 0.18 and 0.25), least width
#: over length (measured: 1.8 and 2.0), and least width [m] (measured: 20 and 21 mm).
_FLAT, _WIDE, _WIDTH = 0.8, 1.2, 15e-3
#: Half-width of the middle strip with the posterior notch, over the width of the tibia.
_STRIP = 0.08
#: Least depth of a notch over the length (measured on an insert: 0.17).
NOTCH = 0.08
#: Fraction of the area of the largest piece above which both plateaus are one piece.
_ONE_PIECE = 0.8
#: Inner part of the width, and largest depth of this part below the plateaus, over the width.
_INNER, _VALLEY = 0.33, 0.01


class Shape(NamedTuple):
    """What distinguishes the sides of a tibial frame, as numbers [1].

    The medial plateau is the longer one in natural tibias; it is nearly flat, the lateral one
    convex (Freeman & Pinskerova 2005, J Biomech 38:197-208).
    """

    #: Depth of the notch behind the middle strip less that before, over length; 0: no surface.
    notch: float
    #: Logarithm of the length of the left plateau over that of the right one.
    longer: float
    #: Sagittal curvature of the left plateau times its length, minus that of the right one.
    hollower: float

    @property
    def medial_left(self) -> float:
        """How clearly the left plateau is the medial one [1]; negative for the right plateau.

        Measured: 0.73 on cartilage, 0.05 on an insert, and 0.29 to 1.08 on a hundred knees of a
        shape model.
        """
        return self.longer + self.hollower


def tibial_frame(
    mesh: TriangleMesh, anterior: FloatArray | None = None, slope: float = 0.0
) -> AnatomicalFrame:
    """Return the frame of a tibia: origin in the middle of the plateau.

    `mesh` is an open bearing surface [m], normals out of the bone, in any position. `anterior` (3,)
    points roughly anterior; by default, it is found from the posterior notch. `slope` is the angle
    [rad] by which the plateau falls towards posterior, which the surface does not show. Evidence:
    "superior" and "anterior", which is unknown without notch. Raises `MeshError` if the shape is
    not that of a plateau with two compartments, or the normals point down.
    """
    mesh = refined(mesh)
    axes, sizes = principal_axes(mesh)
    if sizes[0] > _FLAT * sizes[1] or sizes[2] < max(_WIDE * sizes[1], _WIDTH):
        low, middle, high = 1e3 * np.ptp(mesh.vertices @ axes.T, axis=0)
        raise MeshError(
            f"{mesh.name}: no two plateaus beside each other: the surface is {high:.0f} mm wide, "
            f"{middle:.0f} mm long and {low:.0f} mm high (expected flat, wider than long, 50 mm or "
            "more): check the unit, and give both plateaus, in one file or in several"
        )
    mean = mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    up = axes[0] * np.sign(axes[0] @ mean)
    rotation = np.stack([np.cross(up, axes[2]), up, axes[2]])
    _check_ridge(mesh, rotation)
    centres = _plateau_centres(mesh, rotation)
    right = centres[1] - centres[0]
    right = right - up * (up @ right)
    right /= np.linalg.norm(right)
    rotation = np.stack([np.cross(up, right), up, right])
    notch = shape_of(mesh, rotation).notch
    backward = notch < 0.0 if anterior is None else float(rotation[0] @ anterior) < 0.0
    if backward:
        rotation = np.diag([-1.0, 1.0, -1.0]) @ rotation
    evidence = Evidence("sure", "as stated") if anterior is not None else _notch_evidence(notch)
    rotation = sloped(rotation, slope)
    reason = f"the plateau falls {np.degrees(slope):.1f} deg towards posterior, which is assumed"
    superior = Evidence("likely", reason)
    return AnatomicalFrame(
        centres.mean(axis=0), rotation, {"superior": superior, "anterior": evidence}
    )


def sloped(rotation: FloatArray, slope: float) -> FloatArray:
    """Return a frame (3, 3) of a level plateau, turned until the plateau has a slope [rad]."""
    x, y, z = rotation
    cosine, sine = np.cos(slope), np.sin(slope)
    return np.stack([cosine * x - sine * y, cosine * y + sine * x, z])


def shape_of(mesh: TriangleMesh, rotation: FloatArray) -> Shape:
    """Return the shape of a tibia in a frame (3, 3) [1] with rows anterior, superior and right."""
    centroids = mesh.centroids @ rotation.T
    middle = 0.5 * (centroids[:, 2].min() + centroids[:, 2].max())
    across = centroids[:, 2] - middle
    strip = np.abs(across) < _STRIP * np.ptp(across)
    length = np.ptp(centroids[:, 0])
    _, areas = label_pieces(mesh)
    notch = 0.0
    if strip.any() and areas[0] > _ONE_PIECE * areas.sum():
        before = centroids[:, 0].max() - centroids[strip, 0].max()
        behind = centroids[strip, 0].min() - centroids[:, 0].min()
        notch = float((behind - before) / length)
    labels = _labels(mesh, rotation)
    plateaus = [
        (centroids[labels == side], mesh.areas[labels == side]) for side in (MEDIAL, LATERAL)
    ]
    lengths = [float(np.ptp(points[:, 0])) for points, _ in plateaus]
    bends = [_sagittal_curvature(*plateau) for plateau in plateaus]
    hollower = bends[0] * lengths[0] - bends[1] * lengths[1]
    return Shape(notch, float(np.log(lengths[0] / lengths[1])), hollower)


def _sagittal_curvature(points: FloatArray, areas: FloatArray) -> float:
    """Return half the second derivative of the height along the first axis [1/m], by a fit.

    The fit is a quadratic over points (N, 3) [m] with areas (N,) as weights; 0 for few points.
    """
    x, y, z = (points - np.average(points, axis=0, weights=areas)).T
    matrix = np.column_stack([x**2, np.ones(len(x)), x, z, x * z, z**2])
    if len(x) < matrix.shape[1]:
        return 0.0
    weights = np.sqrt(areas)
    return float(np.linalg.lstsq(matrix * weights[:, None], y * weights, rcond=None)[0][0])


def _labels(mesh: TriangleMesh, rotation: FloatArray) -> NDArray[np.int8]:
    """Return the left (0) or right (1) plateau of each triangle, (F,); without ridge, the half."""
    rotated = TriangleMesh(mesh.vertices @ rotation.T, mesh.faces, mesh.name)
    try:
        return find_compartments(rotated)
    except MeshError:
        across = rotated.vertices[:, 2]
        return find_compartments(rotated, 0.5 * float(across.min() + across.max()))


def _plateau_centres(mesh: TriangleMesh, rotation: FloatArray) -> FloatArray:
    """Return the centres of the left and the right plateau in the coordinates of the mesh [m]."""
    labels = _labels(mesh, rotation)
    return np.stack(
        [
            np.average(mesh.centroids[labels == side], axis=0, weights=mesh.areas[labels == side])
            for side in (MEDIAL, LATERAL)
        ]
    )


def _check_ridge(mesh: TriangleMesh, rotation: FloatArray) -> None:
    """Check that the middle of a tibia is not lower than its plateaus."""
    centroids = mesh.centroids @ rotation.T
    across = np.abs(centroids[:, 2] - 0.5 * (centroids[:, 2].min() + centroids[:, 2].max()))
    inner = across < 0.5 * _INNER * np.ptp(centroids[:, 2])
    if not inner.any():
        return
    heights = [np.average(centroids[zone, 1], weights=mesh.areas[zone]) for zone in (inner, ~inner)]
    if heights[1] - heights[0] > _VALLEY * np.ptp(centroids[:, 2]):
        raise MeshError(
            f"{mesh.name}: the middle of the tibia lies {1e3 * (heights[1] - heights[0]):.1f} mm "
            "below its plateaus, expected an eminence; the normals are inverted: flip the normals "
            "in a mesh editor"
        )


def _notch_evidence(notch: float) -> Evidence:
    if abs(notch) < NOTCH:
        return Evidence("unknown", "no posterior notch between the plateaus")
    return Evidence("sure", f"posterior notch, {abs(notch):.2f} of the length")
