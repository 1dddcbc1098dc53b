"""Reading OpenSim models with articular contact."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dynamics.musculoskeletal.osim_model import OsimModel
from foundation.base.errors import InputError

MODEL = """<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40000"><Model name="m">
<BodySet><objects><Body name="femur"/><Body name="tibia"/></objects></BodySet>
<JointSet><objects>
<CustomJoint name="knee">
  <socket_parent_frame>femur_offset</socket_parent_frame>
  <socket_child_frame>/bodyset/tibia</socket_child_frame>
  <coordinates><Coordinate name="flex"/><Coordinate name="ty"/></coordinates>
  <frames><PhysicalOffsetFrame name="femur_offset">
    <socket_parent>/bodyset/femur</socket_parent>
    <translation>0.01 0.02 0.03</translation><orientation>0 0 1.5707963267948966</orientation>
  </PhysicalOffsetFrame></frames>
  <SpatialTransform>
    <TransformAxis name="rotation1"><coordinates>flex</coordinates><axis>0 0 2</axis>
      <LinearFunction><coefficients>-1 0.5</coefficients></LinearFunction></TransformAxis>
    <TransformAxis name="rotation2"><coordinates/><axis>1 0 0</axis>
      <Constant><value>0.25</value></Constant></TransformAxis>
    <TransformAxis name="rotation3"><coordinates/><axis>0 1 0</axis>
      <Constant><value>0</value></Constant></TransformAxis>
    <TransformAxis name="translation1"><coordinates/><axis>1 0 0</axis>
      <Constant><value>0</value></Constant></TransformAxis>
    <TransformAxis name="translation2"><coordinates>ty</coordinates><axis>0 1 0</axis>
      <MultiplierFunction><function><LinearFunction><coefficients>1 0.1</coefficients>
      </LinearFunction></function><scale>3</scale></MultiplierFunction></TransformAxis>
    <TransformAxis name="translation3"><coordinates/><axis>0 0 1</axis>
      <Constant><value>0</value></Constant></TransformAxis>
  </SpatialTransform>
</CustomJoint></objects></JointSet>
<ContactGeometrySet><objects>
<Smith2018ContactMesh name="bed"><socket_frame>/bodyset/tibia</socket_frame>
  <location>0 0 0.5</location><orientation>0 0 0</orientation><mesh_file>bed.stl</mesh_file>
  <elastic_modulus>5e6</elastic_modulus><poissons_ratio>0.4</poissons_ratio>
  <thickness>0.002</thickness></Smith2018ContactMesh>
<Smith2018ContactMesh name="target"><socket_frame>/bodyset/femur</socket_frame>
  <mesh_file>target.stl</mesh_file><use_variable_thickness>true</use_variable_thickness>
  <mesh_back_file>bone.stl</mesh_back_file><scale_factors>1 2 3</scale_factors>
</Smith2018ContactMesh></objects></ContactGeometrySet>
<ForceSet><objects>
<Smith2018ArticularContactForce name="tf"><appliesForce>true</appliesForce>
  <socket_target_mesh>/contactgeometryset/target</socket_target_mesh>
  <socket_casting_mesh>/contactgeometryset/bed</socket_casting_mesh>
  <elastic_foundation_formulation>nonlinear</elastic_foundation_formulation>
  <use_lumped_contact_model>false</use_lumped_contact_model></Smith2018ArticularContactForce>
<Smith2018ArticularContactForce name="off"><appliesForce>false</appliesForce>
</Smith2018ArticularContactForce>
<PathActuator name="kept"><GeometryPath><PathWrapSet><objects><PathWrap name="w">
  <wrap_object>cylinder</wrap_object></PathWrap></objects></PathWrapSet></GeometryPath>
</PathActuator></objects></ForceSet>
</Model></OpenSimDocument>"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.osim"
    path.write_text(MODEL, encoding="utf-8")
    return OsimModel(path)


def changed(tmp_path, old, new):
    assert old in MODEL
    path = tmp_path / "changed.osim"
    path.write_text(MODEL.replace(old, new), encoding="utf-8")
    return OsimModel(path)


def test_contacts_have_meshes_layers_and_law(model, tmp_path):
    (contact,) = model.contacts
    assert (contact.name, contact.law, contact.lumped) == ("tf", "logarithmic", False)
    assert contact.search_depth == 0.01
    bed, target = contact.bed, contact.target
    assert (bed.body, bed.youngs_modulus, bed.poissons_ratio, bed.thickness) == (
        *("tibia", 5e6, 0.4, 0.002),
    )
    np.testing.assert_array_equal(bed.placement.origin, [0, 0, 0.5])
    assert bed.back_file is None
    assert target.back_file == tmp_path / "Geometry" / "bone.stl"
    assert target.scale == (1.0, 2.0, 3.0)
    (tmp_path / "bed.stl").touch()
    assert model.contacts[0].bed.file == tmp_path / "bed.stl"


@pytest.mark.parametrize("no", ["False", "0"])
def test_booleans_of_contacts_are_those_of_opensim(model, tmp_path, no):
    yes = "<use_variable_thickness>true<", "<use_variable_thickness>1<"
    (contact,) = changed(tmp_path, *yes).contacts
    assert contact.target.back_file is not None
    lumped = "<use_lumped_contact_model>false<", f"<use_lumped_contact_model>{no}<"
    assert not changed(tmp_path, *lumped).contacts[0].lumped
    applied = "<appliesForce>true<", f"<appliesForce>{no}<"
    assert changed(tmp_path, *applied).contacts == ()
    applied = "<appliesForce>true<", "<appliesForce>True<"
    assert len(changed(tmp_path, *applied).contacts) == 1
    applied = "<appliesForce>true<", "<appliesForce>on<"
    with pytest.raises(InputError, match="tf, appliesForce: expected true or false, found 'on'"):
        _ = changed(tmp_path, *applied).contacts


def test_bodies_have_names(model):
    assert model.bodies == ("femur", "tibia")


def test_coordinates_have_defaults(tmp_path):
    text = '<Coordinate name="ty"><default_value>-0.4</default_value></Coordinate>'
    model = changed(tmp_path, '<Coordinate name="ty"/>', text)
    assert model.coordinate_defaults == {"flex": 0.0, "ty": -0.4}


def test_mesh_files_are_those_of_surfaces_and_bones(model):
    assert model.contact_mesh_files == ("bed.stl", "target.stl", "bone.stl")


def test_joints_have_frames_and_linear_motion(model):
    joint = model.joint_between("tibia", "femur")
    assert (joint.name, joint.parent, joint.child) == ("knee", "femur", "tibia")
    np.testing.assert_allclose(joint.parent_frame.origin, [0.01, 0.02, 0.03])
    np.testing.assert_allclose(joint.parent_frame.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    kinematics = joint.kinematics
    assert kinematics.coordinates == ("flex", "ty")
    np.testing.assert_allclose(kinematics.slopes[[0, 4]], [[-1, 0], [0, 3]])
    np.testing.assert_allclose(kinematics.offsets, [0.5, 0.25, 0, 0, 0.3, 0])
    np.testing.assert_allclose(kinematics.axes[0], [0, 0, 1])


def test_viscosities_of_springs_on_a_coordinate_add_up(tmp_path):
    springs = [("knee/ty", 30.0, "true"), ("ty", 5.0, "True"), ("flex", 2.0, "false")]
    text = "".join(
        f"<SpringGeneralizedForce name='s'><appliesForce>{applies}</appliesForce><coordinate>{name}"
        f"</coordinate><viscosity>{value}</viscosity></SpringGeneralizedForce>"
        for name, value, applies in springs
    )
    end = "</objects></ForceSet>"
    (tmp_path / "m.osim").write_text(MODEL.replace(end, text + end))
    assert OsimModel(tmp_path / "m.osim").viscosities == {"ty": 35.0}


def test_the_rest_of_the_model_stays(model):
    root = ET.fromstring(model.without_contact())
    assert [e.tag for e in root.iterfind("Model/ForceSet/objects/*")] == ["PathActuator"]
    assert root.findall("Model/ContactGeometrySet/objects/*") == []
    assert len(root.findall(".//PathWrap")) == 1
    sliding = ET.fromstring(model.without_contact(single_wraps_slide=True))
    names = [e.text for e in sliding.iterfind(".//PathWrap/wrap_object")]
    spheres = [e.get("name") for e in sliding.iter("WrapSphere")]
    assert names == ["cylinder", *spheres]
    assert len(spheres) == 1
    assert len(model.contacts) == 1


def test_wrong_models_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        OsimModel(tmp_path / "none.osim")
    (tmp_path / "cut.osim").write_text(MODEL[:500], encoding="utf-8")
    with pytest.raises(InputError, match="expected XML"):
        OsimModel(tmp_path / "cut.osim")
    with pytest.raises(InputError, match="version 30000"):
        changed(tmp_path, 'Version="40000"', 'Version="30000"')
    with pytest.raises(InputError, match="expected a contact mesh among bed, target"):
        _ = changed(tmp_path, "contactgeometryset/bed<", "contactgeometryset/bad<").contacts
    with pytest.raises(InputError, match="elastic_modulus: expected 1 numbers, found 'soft'"):
        _ = changed(tmp_path, "5e6", "soft").contacts
    with pytest.raises(InputError, match="elastic_foundation_formulation"):
        _ = changed(tmp_path, "nonlinear", "quadratic").contacts
    with pytest.raises(InputError, match="expected a joint between tibia and ground"):
        changed(tmp_path, "a", "a").joint_between("tibia", "ground")
    wrong = MODEL.replace("LinearFunction><coefficients>-1", "SimmSpline><coefficients>-1")
    (tmp_path / "spline.osim").write_text(
        wrong.replace("0.5</coefficients></LinearFunction", "0.5</coefficients></SimmSpline"),
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="rotation1: expected a linear or constant function"):
        OsimModel(tmp_path / "spline.osim").joint_between("tibia", "femur")


def test_the_model_of_opensim_jam(jam_folder):
    model = OsimModel(jam_folder / "models" / "lenhart2015" / "lenhart2015.osim")
    assert [c.name for c in model.contacts] == ["tf_contact", "pf_contact"]
    for contact, joint in zip(model.contacts, ("knee_r", "pf_r"), strict=True):
        assert contact.law == "linear"
        assert contact.lumped
        assert contact.bed.thickness + contact.target.thickness == pytest.approx(0.006)
        found = model.joint_between(contact.bed.body, contact.target.body)
        assert found.name == joint
        assert found.child == contact.bed.body


def test_springs_that_bear_nothing_below_an_overlap_are_refused(tmp_path):
    path = tmp_path / "m.osim"
    for least, refused in (("0", False), ("-1e-3", False), ("1e-4", True)):
        element = f"<min_proximity>{least}</min_proximity><elastic_foundation_formulation>"
        path.write_text(MODEL.replace("<elastic_foundation_formulation>", element))
        for name in ("bed.stl", "target.stl", "bone.stl"):
            (tmp_path / name).touch()
        if refused:
            with pytest.raises(InputError, match=r"tf, min_proximity: expected 0, found 0\.0001 m"):
                _ = OsimModel(path).contacts
        else:
            assert OsimModel(path).contacts


def test_flags_of_muscles_and_held_coordinates_are_read(tmp_path):
    muscles = "".join(
        f'<Millard2012EquilibriumMuscle name="{name}"><ignore_tendon_compliance>{flag}'
        "</ignore_tendon_compliance></Millard2012EquilibriumMuscle>"
        for name, flag in (("gas", "false"), ("sol", "true"))
    )
    coupler = (
        "<ConstraintSet><objects><CoordinateCouplerConstraint><isEnforced>true</isEnforced>"
        "<dependent_coordinate_name>ty</dependent_coordinate_name></CoordinateCouplerConstraint>"
        "</objects></ConstraintSet>"
    )
    text = MODEL.replace('<PathActuator name="kept">', muscles + '<PathActuator name="kept">')
    text = text.replace(
        '<Coordinate name="flex"/>', '<Coordinate name="flex"><locked>true</locked></Coordinate>'
    )
    path = tmp_path / "m.osim"
    path.write_text(text.replace("<BodySet>", coupler + "<BodySet>"))
    model = OsimModel(path)
    assert model.muscles_with_dynamics("ignore_tendon_compliance") == ("gas",)
    assert model.held_coordinates == ("flex", "ty")
