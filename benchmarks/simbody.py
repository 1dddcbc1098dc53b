"""OpenSim's ElasticFoundationForce (Simbody) as an engine of the comparison.

Simbody carries a spring at the centroid of every triangle, stretches it to the *nearest* point of
the other mesh, and finds which triangles lie inside by flooding from the intersecting ones, so
both meshes must be closed. OpenSim gives every mesh springs; of two meshes each counts half. The
insert therefore has twice its stiffness and the femur none; the time of the femur's springs
cannot be saved. Python is not shown the class that holds the parameters, so the model is read
from a file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import opensim
from scipy.spatial.transform import Rotation

from benchmarks.peers import Contact, write_obj
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from tests.oracles.shells import shell

_PARAMETERS = """
        <ElasticFoundationForce::ContactParameters>
          <geometry>{mesh}</geometry><stiffness>{stiffness:.17g}</stiffness>
          <dissipation>0</dissipation><static_friction>0</static_friction>
          <dynamic_friction>0</dynamic_friction><viscous_friction>0</viscous_friction>
        </ElasticFoundationForce::ContactParameters>"""
_MESH = """
      <ContactMesh name="{mesh}">
        <socket_frame>{frame}</socket_frame><filename>{file}</filename>
      </ContactMesh>"""
_MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="40600">
  <Model name="contact">
    <gravity>0 0 0</gravity>
    <BodySet name="bodyset"><objects>
      <Body name="femur"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>
    </objects></BodySet>
    <JointSet name="jointset"><objects>
      <FreeJoint name="knee">
        <socket_parent_frame>/ground</socket_parent_frame>
        <socket_child_frame>/bodyset/femur</socket_child_frame>
      </FreeJoint>
    </objects></JointSet>
    <ForceSet name="forceset"><objects>
      <ElasticFoundationForce name="bed">
        <ElasticFoundationForce::ContactParametersSet name="contact_parameters"><objects>
{parameters}
        </objects></ElasticFoundationForce::ContactParametersSet>
      </ElasticFoundationForce>
    </objects></ForceSet>
    <ContactGeometrySet name="contactgeometryset"><objects>
{meshes}
    </objects></ContactGeometrySet>
  </Model>
</OpenSimDocument>
"""


class Simbody:
    """One free body over a fixed one with nothing but the contact force between them.

    Open surfaces are closed to shells of a thickness [m] far beyond any indentation. The forces
    hardly depend on it, the time does: Simbody's test of which triangles are inside may count far
    ones in, each of which then costs a search for its nearest point.
    """

    def __init__(self, contact: Contact, thickness: float) -> None:
        opensim.Logger.setLevelString("Error")
        with tempfile.TemporaryDirectory() as folder:
            self._model = _model(Path(folder), contact, thickness)
            self._state = self._model.initSystem()
        forces = self._model.getForceSet()
        self._bed = opensim.ElasticFoundationForce.safeDownCast(forces.get("bed"))

    def evaluate(self, pose: Pose) -> object:
        """Set the pose and realize up to the forces."""
        angles = Rotation.from_matrix(pose.rotation_matrix).as_euler("XYZ")
        coordinates = opensim.Vector(6, 0.0)
        for k, value in enumerate((*angles, *pose.translation)):
            coordinates.set(k, float(value))
        self._state.setQ(coordinates)
        self._model.realizeDynamics(self._state)
        return self._state

    def force(self, pose: Pose) -> FloatArray:
        """Return the force on the femur, tibial frame, (3,) [N]."""
        record = self._bed.getRecordValues(self.evaluate(pose))
        # Force and torque on the insert's body first, then those on the femur.
        return np.array([record.get(k) for k in (6, 7, 8)])


def _model(folder: Path, contact: Contact, thickness: float) -> opensim.Model:
    meshes = (("insert", contact.insert, "/ground"), ("femur", contact.femur, "/bodyset/femur"))
    shown = ""
    for name, mesh, frame in meshes:
        file = folder / f"{name}.obj"
        write_obj(file, *shell(mesh, thickness))
        shown += _MESH.format(mesh=f"{name}_mesh", frame=frame, file=file)
    parameters = _PARAMETERS.format(mesh="insert_mesh", stiffness=2.0 * contact.stiffness)
    parameters += _PARAMETERS.format(mesh="femur_mesh", stiffness=0.0)
    path = folder / "contact.osim"
    path.write_text(_MODEL.format(parameters=parameters, meshes=shown), encoding="utf-8")
    return opensim.Model(str(path))
