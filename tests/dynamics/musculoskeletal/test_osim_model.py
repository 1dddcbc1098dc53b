"""OpenSim models and their XML."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.osim_xml import (
    OsimObject,
    Property,
    read_function,
    read_object,
)
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.osim_texts import LEG, MODEL

READERS = {
    "boolean": (OsimObject.boolean, True),
    "number": (OsimObject.number, 2.0),
    "integer": (OsimObject.integer, 3),
    "numbers": (OsimObject.numbers, (1.0, 2.0)),
    "any": (OsimObject.numbers, ()),
    "optional": (OsimObject.optional, -1.0),
    "radians": (OsimObject.radians, 90.0),
    "path": (OsimObject.path, None),
    "names": (OsimObject.names, ()),
    "last_name": (OsimObject.last_name, ""),
}


def found_in(text):
    return OsimObject(ET.fromstring(text), Path("/in/knee.osim"), "knee.osim, pull")


def read(kind, text):
    """Return what a reader finds in the property `it`, or its default without the property."""
    reader, default = READERS[kind]
    return reader(found_in("<F/>" if text is None else f"<F><it>{text}</it></F>"), "it", default)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        *(("boolean", text, True) for text in ("true", "True", "TRUE", "1", " true\n", "", None)),
        *(("boolean", text, False) for text in ("false", "False", "0")),
        *(("number", " 1e-3 ", 1e-3), ("number", None, 2.0), ("number", "", 2.0)),
        *(("integer", "7.0", 7), ("integer", None, 3)),
        *(("numbers", "3 -4", [3.0, -4.0]), ("numbers", None, [1.0, 2.0])),
        *(("any", "1 2 3", [1.0, 2.0, 3.0]), ("any", None, [])),
        *(("optional", "-1", None), ("optional", "0.5", 0.5), ("optional", None, None)),
        *(("radians", "180", np.pi), ("radians", None, 0.5 * np.pi)),
        *(("path", "Unassigned", None), ("path", None, None)),
        ("path", "..\\loads.xml", Path("/loads.xml")),
        ("names", "/jointset/a/px\n py", ("px", "py")),
        ("last_name", "/jointset/knee/ty ", "ty"),
    ],
)
def test_properties_have_the_values_of_opensim_or_the_default(kind, text, wanted):
    np.testing.assert_equal(read(kind, text), wanted)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        *(("boolean", text, "true or false") for text in ("yes", "2", "1.0", "true false")),
        *(("number", text, "a number") for text in ("soft", "1 2", "nan", "inf")),
        *(("numbers", text, "2 numbers") for text in ("1", "1 2 3", "1 x", "1 inf")),
        *(("any", text, "numbers") for text in ("1 x", "nan")),
        ("optional", "fast", "a number"),
    ],
)
def test_other_texts_are_refused_with_file_object_and_property(kind, text, told):
    with pytest.raises(InputError) as caught:
        read(kind, text)
    assert str(caught.value) == f"knee.osim, pull, it: expected {told}, found {text!r}"


def test_an_object_gives_the_fields_of_its_properties():
    properties = (Property("a", "first", OsimObject.number, 1.0),)
    assert found_in("<F><a>4</a><b/></F>").read(properties) == {"first": 4.0}


def test_members_of_a_set_have_the_defaults_of_its_owner():
    found = found_in(
        "<M><defaults><B><x>1</x></B></defaults><S><objects><B name='p'><x>2</x></B><B name='q'/>"
        "<C/></objects></S></M>"
    )
    assert [(b.name, b.number("x", 0.0)) for b in found.objects("S", "B")] == [
        ("p", 2.0),
        ("q", 1.0),
    ]
    assert [b.where for b in found.objects("S")] == [f"knee.osim, {n}" for n in ("p", "q", "C")]


@pytest.mark.parametrize(
    ("text", "line", "at"),
    [
        ("<Constant><value>3</value></Constant>", (0.0, 3.0), 3.0),
        ("<LinearFunction><coefficients>2 1</coefficients></LinearFunction>", (2.0, 1.0), 2.0),
        ("<PolynomialFunction><coefficients>4 2 1</coefficients></PolynomialFunction>", None, 3.0),
        ("<SimmSpline><x>0 1</x><y>0 4</y></SimmSpline>", None, 2.0),
        ("<PiecewiseLinearFunction><x>0 1</x><y>0 4</y></PiecewiseLinearFunction>", None, 2.0),
        ("<MultiplierFunction><scale>3</scale><function><LinearFunction><coefficients>2 1"
         "</coefficients></LinearFunction></function></MultiplierFunction>", (6.0, 3.0), 6.0),
        ("<Sine><amplitude>4</amplitude></Sine>", None, 0.0),
    ],
)  # fmt: skip
def test_functions_have_values_and_lines(text, line, at):
    function = read_function(found_in(text))
    assert function.line == line
    assert function.at(0.5) == at


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, r"no such file; check the path of the settings"),
        ("<a>", "expected XML"),
        ("<D><Other/></D>", "expected settings of a Tool, found Other"),
    ],
)
def test_files_that_cannot_be_read_are_named(edited, tmp_path, text, told):
    path = tmp_path / "none.xml" if text is None else edited(text)
    with pytest.raises(InputError, match=told):
        read_object(path, "settings", "Tool")


FORMULATION = "<elastic_foundation_formulation>"


def test_contacts_have_meshes_layers_and_law(model, tmp_path):
    found = model()
    (contact,) = found.contacts
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
    assert found.contacts[0].bed.file == tmp_path / "bed.stl"
    assert found.contact_mesh_files == ("bed.stl", "target.stl", "bone.stl")


def test_joints_have_frames_and_linear_motion(model):
    (joint,) = model().joints
    assert (joint.name, joint.parent, joint.child) == ("knee", "femur", "tibia")
    np.testing.assert_allclose(joint.parent_frame.origin, [0.01, 0.02, 0.03])
    frames = joint.chain.between(joint.parent_frame, joint.child_frame)
    assert frames.coordinates == ("flex", "ty")
    # The displacement along y, and turns about z and x.
    wanted = [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0]]
    np.testing.assert_allclose(frames.screws, wanted, atol=1e-15)
    np.testing.assert_allclose(frames.slopes, [[0, 3], [-1, 0], [0, 0]])
    np.testing.assert_allclose(frames.offsets, [0.3, 0.5, 0.25])


def test_viscosities_of_springs_on_a_coordinate_add_up(model):
    springs = [("knee/ty", 30.0, "true"), ("ty", 5.0, "True"), ("flex", 2.0, "false")]
    text = "".join(
        f"<SpringGeneralizedForce name='s'><appliesForce>{applies}</appliesForce><coordinate>{name}"
        f"</coordinate><viscosity>{value}</viscosity></SpringGeneralizedForce>"
        for name, value, applies in springs
    )
    end = "</objects></ForceSet>"
    assert model(end, text + end).viscosities == {"ty": 35.0}


def test_actuators_of_coordinates_are_reserves(model):
    text = "".join(
        f"<CoordinateActuator name='{name}'><appliesForce>{applies}</appliesForce><coordinate>"
        f"{name}</coordinate><optimal_force>{force}</optimal_force></CoordinateActuator>"
        for name, force, applies in (("flex", 300, "true"), ("ty", 5, "false"))
    )
    end = "</objects></ForceSet>"
    assert model(end, text + end).reserves == {"flex": 300.0}


def test_the_rest_of_the_model_stays(model):
    found = model()
    root = ET.fromstring(found.without_contact())
    assert [e.tag for e in root.iterfind("Model/ForceSet/objects/*")] == ["PathActuator"]
    assert root.findall("Model/ContactGeometrySet/objects/*") == []
    assert len(root.findall(".//PathWrap")) == 1
    sliding = ET.fromstring(found.without_contact(single_wraps_slide=True))
    names = [e.text for e in sliding.iterfind(".//PathWrap/wrap_object")]
    spheres = [e.get("name") for e in sliding.iter("WrapSphere")]
    assert names == ["cylinder", *spheres]
    assert len(spheres) == 1
    assert len(found.contacts) == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("</Model>", "", "expected XML"),
        ('Version="40000"', 'Version="30000"', "version 30000"),
        ("contactgeometryset/bed<", "contactgeometryset/bad<",
         "tf, socket_casting_mesh: expected a contact mesh among bed, target, found '/contactg"),
        ("1 2 3", "1 0 3", "target, scale_factors: expected three factors other"),
        ("5e6", "soft", r"model\.osim, bed, elastic_modulus: expected a number, found 'soft'"),
        ("0 0 0.5", "0 0", r"bed, location: expected 3 numbers, found '0 0'"),
        ("nonlinear", "quadratic", "tf, elastic_foundation_formulation: expected one of"),
        ("<appliesForce>true<", "<appliesForce>on<",
         "tf, appliesForce: expected true or false, found 'on'"),
        (FORMULATION, f"<max_proximity>0</max_proximity>{FORMULATION}",
         r"tf, max_proximity: expected > 0 m"),
        (FORMULATION, f"<min_proximity>1e-4</min_proximity>{FORMULATION}",
         r"tf, min_proximity: expected 0, found 0\.0001 m"),
    ],
)  # fmt: skip
def test_wrong_contacts_and_models_are_refused(model, old, new, told):
    with pytest.raises(InputError, match=told):
        _ = model(old, new).contacts


def test_defaults_of_the_model_stand_for_what_an_object_leaves_out(model):
    defaults = """<defaults><Smith2018ArticularContactForce name="default">
    <max_proximity>0.03</max_proximity><use_lumped_contact_model>true</use_lumped_contact_model>
    </Smith2018ArticularContactForce><Smith2018ContactMesh><poissons_ratio>0.3</poissons_ratio>
    </Smith2018ContactMesh></defaults><BodySet>"""
    (contact,) = model("<BodySet>", defaults).contacts
    assert contact.search_depth == 0.03
    assert not contact.lumped
    assert (contact.bed.poissons_ratio, contact.target.poissons_ratio) == (0.4, 0.3)


@pytest.mark.parametrize(
    ("old", "new", "free", "told"),
    [
        ("", "", ("flex", "ty", "bend"), ""),
        ("", "", ("flex", "roll"), "model.osim: motion and forces ignore the constraints coupler"),
        ("<ConstraintSet><objects>", '<ConstraintSet><objects><WeldConstraint name="weld"/>',
         ("flex",), "model.osim: motion and forces ignore the constraints weld"),
    ],
)  # fmt: skip
def test_what_a_model_states_and_is_not_done_is_told(model, old, new, free, told):
    notes = model(old, new, LEG).notes(free)
    assert [text.startswith(told) for text in notes] == [True] * bool(told)


@pytest.mark.parametrize(
    "path",
    [
        "jam_comak_walking/models/lenhart2015/lenhart2015.osim",
        "jam_grand_challenge_DM/DM.osim",
        "jam_smith2019_menisci/smith2019.osim",
    ],
)
def test_shipped_models_need_no_note(knee_data, path):
    shipped = OsimModel(knee_data / path)
    assert shipped.notes(tuple(shipped.coordinate_paths)) == ()
    assert shipped.contacts


SOCKET = "<socket_frame>/bodyset/tibia</socket_frame>"
#: A frame of the tibia with a frame below it, and a second frame of the tibia that follows both.
TIBIA = """<Body name="tibia"><components>
<PhysicalOffsetFrame name="tray"><components><PhysicalOffsetFrame name="insert">
<socket_parent>..</socket_parent><translation>1 0 0</translation></PhysicalOffsetFrame></components>
<socket_parent>..</socket_parent><translation>0 0.2 0</translation>
<orientation>0 0 1.5707963267948966</orientation></PhysicalOffsetFrame>
<PhysicalOffsetFrame name="worn"><socket_parent>{parent}</socket_parent>
<translation>0 0 3</translation></PhysicalOffsetFrame>
</components></Body>"""
#: Frames of the model itself, of a set, and of the joint.
OTHERS = """<ComponentSet name="componentset"><objects><PhysicalOffsetFrame name="far">
<socket_parent>/bodyset/tibia/tray/insert</socket_parent><translation>0 0 5</translation>
</PhysicalOffsetFrame></objects></ComponentSet><components><PhysicalOffsetFrame name="own">
<socket_parent>/componentset/far</socket_parent></PhysicalOffsetFrame></components></Model>"""


def text_with(socket, parent="../tray/insert"):
    text = MODEL.replace('<Body name="tibia"/>', TIBIA.format(parent=parent))
    return text.replace("</Model>", OTHERS).replace(
        SOCKET, f"<socket_frame>{socket}</socket_frame>"
    )


@pytest.mark.parametrize(
    ("socket", "origin"),
    [
        ("/bodyset/tibia/tray", [0, 0.2, 0]),
        ("/bodyset/tibia/tray/insert", [0, 1.2, 0]),
        ("../../bodyset/tibia/tray/insert", [0, 1.2, 0]),
        ("insert", [0, 1.2, 0]),
        ("/bodyset/tibia/worn", [0, 1.2, 3]),
        ("/componentset/far", [0, 1.2, 5]),
        ("/own", [0, 1.2, 5]),
    ],
)
def test_a_mesh_is_in_any_frame_that_leads_to_a_body(model, socket, origin):
    bed = model(text=text_with(socket)).contacts[0].bed
    assert bed.body == "tibia"
    placed = bed.placement.rotation @ [0.0, 0.0, -0.5] + bed.placement.origin
    assert_allclose(placed, origin, atol=1e-15)  # The location of the mesh is 0 0 0.5.
    assert_allclose(bed.placement.rotation[:, 0], [0, 1, 0], atol=1e-15)


def test_a_joint_may_be_in_frames_of_bodies(model):
    child = "<socket_child_frame>/bodyset/tibia</socket_child_frame>"
    text = text_with("/bodyset/tibia").replace(child, child.replace("tibia<", "tibia/tray/insert<"))
    (joint,) = model(text=text).joints
    assert_allclose(joint.child_frame.origin, [0, 1.2, 0], atol=1e-15)
    assert_allclose(joint.parent_frame.origin, [0.01, 0.02, 0.03])


def test_the_model_of_opensim_jam(jam_folder):
    found = OsimModel(jam_folder / "models" / "lenhart2015" / "lenhart2015.osim")
    assert [c.name for c in found.contacts] == ["tf_contact", "pf_contact"]
    for contact, name in zip(found.contacts, ("knee_r", "pf_r"), strict=True):
        assert contact.law == "linear"
        assert contact.lumped
        assert contact.bed.thickness + contact.target.thickness == pytest.approx(0.006)
        (joint,) = (each for each in found.joints if each.name == name)
        assert joint.child == contact.bed.body
        chain = found.chain_between(contact.bed.body, contact.target.body)
        assert chain.coordinates == joint.coordinates
