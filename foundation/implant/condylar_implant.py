"""Built-in condylar total knee replacement, an exact reference of triangulated surfaces.

Two femoral condyles, each a J-curve of tangent arcs swept by a circle, on two dished polyethylene
plateaus with a flat underside. Right knee, x anterior, y superior, z lateral. Femoral origin on the
flexion axis, the centre of the posterior arcs, midway between the condyles; tibial origin in the
middle of the underside, y = 0. The medial side has z < 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.implant.condyle import Condyle
from foundation.implant.conformity import check_conformity, first_touch
from foundation.implant.dish import Dish
from foundation.implant.patches import joined_patches, patch
from foundation.surfaces.triangle_mesh import TriangleMesh

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

    def femur_distance(self, points: ArrayLike) -> FloatArray:
        """Return the exact signed distance to the nearer condyle, negative inside.

        The condyles continue beyond their edges around the coronal circle and around the ends of
        the J-curve (`Condyle.locate`).

        Parameters
        ----------
        points : (N, 3) float64
            Positions [m], femoral frame.

        Returns
        -------
        (N,) float64
            Signed distance [m].
        """
        at = check_array("points", points, (None, 3))
        sides = [self._side(s)[0].locate(self._local(at, sign))[0] for s, sign in _SIDES.items()]
        return np.minimum(*sides)

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

        Raises
        ------
        InputError
            If `edge_length` is not positive or exceeds the smallest half-width.
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

    def _local(self, points: FloatArray, sign: float) -> FloatArray:
        """Return points as (x, y, across) of one side; the inverse of `_placed`."""
        return points * (1.0, 1.0, sign) - np.array([0.0, 0.0, 0.5 * self.spacing])


def _angles(u: ArrayLike, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
    return check_array("u", u, (None,)), check_array("v", v, (None,))
