"""Built-in condylar total knee replacement, an exact reference of triangulated surfaces.

Two femoral condyles, each a J-curve of tangent arcs swept by a circle, on two dished polyethylene
plateaus with a flat underside. Right knee, x anterior, y superior, z lateral. Femoral origin on the
flexion axis, the centre of the posterior arcs, midway between the condyles; tibial origin in the
middle of the underside, y = 0. The medial side has z < 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from foundation.base.checks import FloatArray, IntArray, check_array, check_in, check_number
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose, rotation_matrix
from foundation.implant.condyle import Condyle, Dish
from foundation.surfaces.triangle_mesh import TriangleMesh


def check_conformity(side: str, condyle: Condyle, dish: Dish) -> None:
    """Raise an InputError if a conformity (radius of condyle over dish) is 1 or more."""
    pairs = (
        ("sagittal", float(condyle.radii.max()), dish.sagittal_radius),
        ("coronal", condyle.coronal_radius, dish.coronal_radius),
    )
    for plane, femoral, tibial in pairs:
        if femoral >= tibial:
            raise InputError(
                f"{{name}}: expected below 1, found {femoral / tibial:g} "
                f"(femoral radius {femoral:g} m, dish radius {tibial:g} m); the condyle would rest "
                "on the rim: increase the dish radius or reduce the femoral radius",
                f"implant {side} {plane} conformity",
            )


def first_touch(
    pairs: Sequence[tuple[Condyle, Dish]], bottom: float, flexion: float
) -> tuple[float, float]:
    """Return x and y [m] of the femoral origin at first contact with flexion [rad] alone."""
    # x has the lowest points above the bottoms of the dishes, mean of the sides; y is the height at
    # which the first side touches.
    turn = rotation_matrix(flexion, 0.0, 0.0)[:2, :2]
    offsets = []
    for condyle, dish in pairs:
        # The lowest point is below the centre of the arc with a downward normal.
        centre = turn @ condyle.centres[int(condyle.arc_of(np.array(-flexion)))]
        offsets.append(dish.bottom_anterior - centre[0])
    anterior = float(np.mean(offsets))
    return anterior, max(_touch_height(*pair, bottom, turn, anterior) for pair in pairs)


def _touch_height(
    condyle: Condyle, dish: Dish, bottom: float, turn: FloatArray, anterior: float
) -> float:
    """Return the height of the femoral origin at which a condyle first touches its dish."""
    # In the middle plane, the point of the J-curve farthest from the dish's centre is on its
    # circle.
    ends = condyle.surface(condyle.limits[[0, -1]], np.zeros(2))[0][:, :2] @ turn.T
    centres = condyle.centres @ turn.T
    dish_centre = np.array([dish.bottom_anterior, bottom + dish.sagittal_radius])

    def excess(height: float) -> float:
        origin = np.array([anterior, height])
        away = centres + origin - dish_centre
        length = np.linalg.norm(away, axis=1)
        # The farthest point of an arc is beyond its centre, if on the arc.
        direction = away @ turn
        angle = np.arctan2(direction[:, 0], -direction[:, 1])
        on_arc = (angle >= condyle.limits[:-1] - 1e-9) & (angle <= condyle.limits[1:] + 1e-9)
        reached = np.linalg.norm(ends + origin - dish_centre, axis=1)
        farthest = np.append(reached, (length + condyle.radii)[on_arc]).max()
        return float(farthest - dish.sagittal_radius)

    lowest = bottom - dish.sagittal_radius
    return float(brentq(excess, lowest, dish_centre[1], xtol=1e-16, rtol=1e-15))


def patch(
    shape: Condyle | Dish,
    surface: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
    edge_length: float,
    *,
    flip: bool,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Triangulate a patch over both angles: points [m] and normals (V, 3), triangles (F, 3)."""
    along = grid_values(shape.limits, shape.radii * np.diff(shape.limits), edge_length)
    half = shape.half_angle
    width = np.array([2.0 * half * shape.coronal_radius])
    across = grid_values(np.array([-half, half]), width, edge_length)
    u, v = np.meshgrid(along, across, indexing="ij")
    points, normals = surface(u.reshape(-1), v.reshape(-1))
    return points, normals, grid_faces(len(along), len(across), flip=flip)


def joined_patches(
    name: str, patches: Sequence[tuple[FloatArray, FloatArray, IntArray]]
) -> TriangleMesh:
    """Return one mesh of patches: points (V, 3) [m], normals (V, 3) [1], faces (F, 3) each."""
    starts = np.cumsum([0] + [len(points) for points, _, _ in patches[:-1]])
    points = np.concatenate([p for p, _, _ in patches])
    normals = np.concatenate([n for _, n, _ in patches])
    faces = np.concatenate([f + s for (_, _, f), s in zip(patches, starts, strict=True)])
    return TriangleMesh(points, faces, name, normals)


def grid_values(limits: FloatArray, lengths: FloatArray, edge_length: float) -> FloatArray:
    """Return values (N,) [rad] from limits (K + 1,) [rad], `edge_length` [m] apart at most."""
    parts = [limits[:1]]
    for first, last, length in zip(limits[:-1], limits[1:], lengths, strict=True):
        # Minus a rounding error, so that a length of n edges gives n steps.
        steps = max(1, int(np.ceil(length / edge_length - 1e-9)))
        parts.append(np.linspace(first, last, steps + 1)[1:])
    return np.concatenate(parts)


def grid_faces(rows: int, columns: int, *, flip: bool) -> IntArray:
    """Return triangles (F, 3) of a grid of vertices, row by row, with alternating diagonals."""
    # Normals are along (first direction) x (second direction), opposite with `flip`.
    cell = np.arange((rows - 1) * (columns - 1))
    i, j = cell // (columns - 1), cell % (columns - 1)
    a, b = i * columns + j, (i + 1) * columns + j
    c, d = b + 1, a + 1
    even = ((i + j) % 2 == 0)[:, None]
    first = np.where(even, np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    second = np.where(even, np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1))
    faces = np.stack([first, second], axis=1).reshape(-1, 3)
    return faces[:, ::-1].copy() if flip else faces


#: Sign of z on the medial and on the lateral side.
_SIDES = {"medial": -1.0, "lateral": 1.0}


@dataclass(frozen=True)
class CondylarImplant:
    """Condylar total knee replacement of a right knee.

    Parameters
    ----------
    medial, lateral : Condyle
        Femoral condyles.
    medial_dish, lateral_dish : Dish
        Plateaus of the insert, with larger radii than the condyles.
    spacing : float
        Distance between the middle planes of the condyles, and of the plateaus [m].
    minimum_thickness : float
        Polyethylene under the lowest point of each plateau [m].

    Raises
    ------
    InputError
        If a condyle does not fit its dish (conformity, the ratio of the radii, must be below 1),
        or the two sides overlap.
    """

    medial: Condyle = field(default_factory=Condyle)
    lateral: Condyle = field(default_factory=Condyle)
    medial_dish: Dish = field(default_factory=Dish)
    lateral_dish: Dish = field(default_factory=Dish)
    spacing: float = 46e-3
    minimum_thickness: float = 8e-3

    def __post_init__(self) -> None:
        check_number("implant spacing", self.spacing, above=0.0, at_most=0.2, unit="m")
        check_number(
            "implant minimum_thickness", self.minimum_thickness, above=0.0, at_most=0.05, unit="m"
        )
        for side in COMPARTMENTS:
            condyle, dish = self._side(side)
            check_conformity(side, condyle, dish)
            widest = max(condyle.half_width, dish.half_width)
            if widest > 0.5 * self.spacing:
                raise InputError(
                    f"implant spacing: expected at least twice the {side} half-width, "
                    f"{2 * widest:g} m, found {self.spacing:g} m; the two sides overlap"
                )

    @classmethod
    def single_radius(cls, radius: float = 25e-3, **changes: object) -> CondylarImplant:
        """Return an implant with one sagittal radius: condyles without curvature jumps.

        Parameters
        ----------
        radius : float
            Sagittal radius of all arcs of both condyles [m].
        **changes : object
            Other fields of the implant, except `medial` and `lateral`.
        """
        condyle = Condyle(posterior_radius=radius, distal_radius=radius, anterior_radius=radius)
        return cls(medial=condyle, lateral=condyle, **changes)  # type: ignore[arg-type]

    def femur_surface(
        self, condyle: str, u: ArrayLike, v: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return points and outward normals of a femoral condyle, femoral frame.

        Parameters
        ----------
        condyle : {"medial", "lateral"}
            Condyle.
        u : (N,) float64
            Sagittal angle of the normal [rad], 0 distal, positive anterior.
        v : (N,) float64
            Coronal angle [rad], positive away from the middle of the knee.

        Returns
        -------
        points, normals : (N, 3) float64
            Positions [m] and unit normals [1], femoral frame.
        """
        sign, shape = self._sign(condyle), self._side(condyle)[0]
        points, normals = shape.surface(*_angles(u, v))
        return self._placed(points, sign), normals * (1.0, 1.0, sign)

    def insert_surface(
        self, compartment: str, u: ArrayLike, v: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return points (N, 3) [m] and upward normals (N, 3) [1] of a plateau; see `femur_surface`.

        In the tibial frame.
        """
        sign, dish = self._sign(compartment), self._side(compartment)[1]
        points, normals = dish.surface(*_angles(u, v), self.minimum_thickness)
        return self._placed(points, sign), normals * (1.0, 1.0, sign)

    def thickness(self, points: ArrayLike, normals: ArrayLike) -> FloatArray:
        """Return the polyethylene thickness under points of the insert, along minus the normals.

        Parameters
        ----------
        points, normals : (N, 3) float64
            Positions on the insert [m] and upward unit normals [1], tibial frame.

        Returns
        -------
        (N,) float64
            Distance to the plane of the underside [m].

        Raises
        ------
        InputError
            If a point is below the underside or a normal does not point up.
        """
        at, up = (
            check_array("points", points, (None, 3)),
            check_array("normals", normals, (None, 3)),
        )
        if (at[:, 1] <= 0.0).any() or (up[:, 1] <= 0.0).any():
            raise InputError(
                "thickness: expected points above the underside (y > 0) and upward normals, found "
                f"y down to {at[:, 1].min():g} m, normal y down to {up[:, 1].min():g}"
            )
        return at[:, 1] / up[:, 1]

    def tessellate(self, edge_length: float) -> tuple[TriangleMesh, TriangleMesh, NDArray[np.int8]]:
        """Triangulate the condyles and the plateaus.

        Parameters
        ----------
        edge_length : float
            Longest leg of the (nearly right-angled, nearly isosceles) triangles [m].

        Returns
        -------
        femur, insert : TriangleMesh
            Meshes in the femoral and the tibial frame [m]; medial triangles first. Vertices are on
            the exact surfaces and have their normals; the sides of a symmetric implant are mirror
            images to the last bit.
        labels : (F,) int8
            Compartment of each triangle of the insert, 0 medial, 1 lateral.
        """
        smallest = min(min(c.half_width, d.half_width) for c, d in map(self._side, COMPARTMENTS))
        check_number("edge_length", edge_length, above=0.0, at_most=smallest, unit="m")
        femur, insert = [], []
        for side, sign in _SIDES.items():
            condyle, dish = self._side(side)
            below, above = partial(self.femur_surface, side), partial(self.insert_surface, side)
            # Along x times outwards across is down on the lateral side, up on the medial one.
            femur.append(patch(condyle, below, edge_length, flip=sign < 0.0))
            insert.append(patch(dish, above, edge_length, flip=sign > 0.0))
        labels = np.repeat(np.arange(2, dtype=np.int8), [len(faces) for *_, faces in insert])
        return joined_patches("femur", femur), joined_patches("insert", insert), labels

    def home_pose(self, flexion: float = 0.0) -> Pose:
        """Return the pose of first contact at a flexion angle, without other rotations.

        The lowest points of the condyles are above the bottoms of the dishes (on average, if the
        sides differ). A symmetric implant touches at both bottoms.

        Parameters
        ----------
        flexion : float
            Flexion [rad], within the ends of the condyles.

        Raises
        ------
        InputError
            If the flexion is beyond the ends of the condyles.
        """
        for condyle in (self.medial, self.lateral):
            check_number(
                "flexion",
                flexion,
                at_least=-condyle.anterior_end,
                at_most=-condyle.posterior_end,
                unit="rad",
            )
        pairs = [self._side(side) for side in COMPARTMENTS]
        anterior, superior = first_touch(pairs, self.minimum_thickness, flexion)
        return Pose(flexion=flexion, anterior=anterior, superior=superior)

    def _side(self, side: str) -> tuple[Condyle, Dish]:
        if side == "medial":
            return self.medial, self.medial_dish
        return self.lateral, self.lateral_dish

    def _sign(self, side: str) -> float:
        return _SIDES[check_in("compartment", side, COMPARTMENTS)]

    def _placed(self, points: FloatArray, sign: float) -> FloatArray:
        """Return points (x, y, across) of one side in the frame of the knee."""
        return (points + np.array([0.0, 0.0, 0.5 * self.spacing])) * (1.0, 1.0, sign)


def _angles(u: ArrayLike, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
    return check_array("u", u, (None,)), check_array("v", v, (None,))
