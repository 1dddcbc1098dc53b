"""Frames of bodies, below other frames, and of any component, by all paths that OpenSim reads."""

import pytest
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.osim_texts import MODEL

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


@pytest.mark.parametrize(
    "parent", ["/bodyset/tibia/tray/insert", "../tray/insert", "insert", "/componentset/far"]
)
def test_a_frame_follows_any_other_frame(model, parent):
    bed = model(text=text_with("/bodyset/tibia/worn", parent)).contacts[0].bed
    height = 8.0 if parent == "/componentset/far" else 3.0
    assert_allclose(bed.placement.origin, [0, 1.2, height + 0.5], atol=1e-15)


def test_a_joint_may_be_in_frames_of_bodies(model):
    child = "<socket_child_frame>/bodyset/tibia</socket_child_frame>"
    text = text_with("/bodyset/tibia").replace(child, child.replace("tibia<", "tibia/tray/insert<"))
    (joint,) = model(text=text).joints
    assert_allclose(joint.child_frame.origin, [0, 1.2, 0], atol=1e-15)
    assert_allclose(joint.parent_frame.origin, [0.01, 0.02, 0.03])


@pytest.mark.parametrize(
    ("socket", "parent", "told"),
    [
        ("/bodyset/tibia/plate", "..", r"bed, socket_frame: expected the path of .*, found '/body"),
        ("/bodyset/tibia/worn", "../../fibula", r"worn, socket_parent: .*, found '../../fibula'"),
        ("/bodyset/tibia/worn", "../worn", r"worn, socket_parent: .* body, found a loop through"),
        ("plate", "..", "bed, socket_frame: .*, found 'plate'$"),
    ],
)
def test_a_frame_that_leads_to_no_body_is_told(model, socket, parent, told):
    with pytest.raises(InputError, match=told):
        _ = model(text=text_with(socket, parent)).contacts


def test_a_name_of_several_frames_is_told(model):
    text = text_with("insert").replace('"far"', '"insert"')
    with pytest.raises(InputError, match="of /bodyset/tibia/tray/insert, /componentset/insert"):
        _ = model(text=text).contacts
