"""Drake's hydroelastic contact as an engine of the comparison.

Drake takes the pressure of a compliant body as linear between the vertices of its tetrahedra,
zero on the boundary and the modulus at the largest distance from it. A layer with one sheet of
vertices inside, at the depth t, therefore has p = K d down to t for the modulus K t. The pressure
acts on the rigid femur along its normals.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    HydroelasticContactRepresentation,
    Mesh,
    ProximityProperties,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    ContactResults,
    CoulombFriction,
)
from pydrake.multibody.tree import SpatialInertia, UnitInertia
from pydrake.systems.framework import DiagramBuilder

from benchmarks.peers import Contact, write_obj
from foundation.base.checks import FloatArray, IntArray
from foundation.base.pose import Pose
from tests.oracles.shells import layers

_DEPTH = 1e-3  # m, beyond any indentation of the comparison
_HINT = 1e-3  # m, resolution of shapes that are no meshes; without influence here


class Hydroelastic:
    """One free body over a fixed one in a continuous plant with hydroelastic contact."""

    def __init__(self, contact: Contact) -> None:
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
        plant.set_contact_model(ContactModel.kHydroelastic)
        plant.set_contact_surface_representation(HydroelasticContactRepresentation.kPolygon)
        inertia = SpatialInertia(1.0, np.zeros(3), UnitInertia(1.0, 1.0, 1.0))
        body = plant.AddRigidBody("femur", inertia)
        rigid, soft = ProximityProperties(), ProximityProperties()
        AddRigidHydroelasticProperties(_HINT, rigid)
        AddCompliantHydroelasticProperties(_HINT, contact.stiffness * _DEPTH, soft)
        for properties in (rigid, soft):
            AddContactMaterial(
                dissipation=0.0, friction=CoulombFriction(0.0, 0.0), properties=properties
            )
        with tempfile.TemporaryDirectory() as folder:
            femur, insert = Path(folder) / "femur.obj", Path(folder) / "insert.vtk"
            write_obj(femur, contact.femur.vertices, contact.femur.faces)
            write_vtk(insert, *layers(contact.insert, _DEPTH))
            for at, file, properties in (
                (body, femur, rigid),
                (plant.world_body(), insert, soft),
            ):
                plant.RegisterCollisionGeometry(
                    at, RigidTransform(), Mesh(str(file)), file.stem, properties
                )
            plant.Finalize()
            self._diagram = builder.Build()
            self._root = self._diagram.CreateDefaultContext()
        self._plant, self._body = plant, body
        self._context = plant.GetMyMutableContextFromRoot(self._root)
        self._port = plant.get_contact_results_output_port()
        collisions = plant.GetCollisionGeometriesForBody(body)
        self._femur = collisions[0]

    def evaluate(self, pose: Pose) -> ContactResults:
        """Set the pose and evaluate the plant's contact results."""
        placed = RigidTransform(RotationMatrix(pose.rotation_matrix), pose.translation)
        self._plant.SetFreeBodyPose(self._context, self._body, placed)
        return self._port.Eval(self._context)

    def force(self, pose: Pose) -> FloatArray:
        """Return the force on the femur, tibial frame, (3,) [N]."""
        results = self.evaluate(pose)
        total = np.zeros(3)
        for k in range(results.num_hydroelastic_contacts()):
            found = results.hydroelastic_contact_info(k)
            # The force is that on the body of geometry M.
            own = found.contact_surface().id_M() == self._femur
            total += (1.0 if own else -1.0) * found.F_Ac_W().translational()
        return total


def write_vtk(path: Path, points: FloatArray, cells: IntArray) -> None:
    """Write tetrahedra as legacy VTK text."""
    with path.open("w", encoding="ascii") as file:
        file.write("# vtk DataFile Version 3.0\nlayers\nASCII\nDATASET UNSTRUCTURED_GRID\n")
        file.write(f"POINTS {len(points)} double\n")
        np.savetxt(file, points, fmt="%.17g")
        file.write(f"CELLS {len(cells)} {5 * len(cells)}\n")
        np.savetxt(file, np.insert(cells, 0, 4, axis=1), fmt="%d")
        file.write(f"CELL_TYPES {len(cells)}\n")
        np.savetxt(file, np.full(len(cells), 10), fmt="%d")
