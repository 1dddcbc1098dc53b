"""What a model or the settings of a tool ask for that is not done: told, never dropped."""

import pytest

from dynamics.musculoskeletal.model_checks import model_notes
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.tool_checks import forward_file_notes, marker_file_notes
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.test_osim_model import MODEL

#: The ankle is far from the contact; its second coordinate is coupled.
ANKLE = """<CustomJoint name="ankle"><coordinates><Coordinate name="bend"/>
<Coordinate name="roll"/><Coordinate name="fixed"><locked>true</locked></Coordinate></coordinates>
</CustomJoint></objects></JointSet><ConstraintSet><objects>
<CoordinateCouplerConstraint name="coupler"><isEnforced>true</isEnforced>
<dependent_coordinate_name>roll</dependent_coordinate_name></CoordinateCouplerConstraint>
<CoordinateCouplerConstraint name="off"><isEnforced>false</isEnforced>
<dependent_coordinate_name>bend</dependent_coordinate_name></CoordinateCouplerConstraint>
</objects></ConstraintSet>"""
LEG = MODEL.replace("</CustomJoint></objects></JointSet>", f"</CustomJoint>{ANKLE}")


@pytest.fixture
def model(tmp_path):
    def read(old="", new="", text=LEG):
        assert old in text
        (tmp_path / "leg.osim").write_text(text.replace(old, new))
        return OsimModel(tmp_path / "leg.osim")

    return read


@pytest.fixture
def tool(tmp_path):
    def write(text):
        (tmp_path / "tool.xml").write_text(text)
        return tmp_path / "tool.xml"

    return write


def test_coordinates_that_the_model_holds_need_no_mention(model):
    assert model().held_coordinates == ("fixed", "roll")


def test_constraints_of_free_coordinates_are_told(model):
    assert model_notes(model(), ("flex", "ty", "bend")) == ()
    (note,) = model_notes(model(), ("flex", "roll"))
    assert note.startswith("leg.osim: no effect of the constraints coupler;")
    weld = '<ConstraintSet><objects><WeldConstraint name="weld"/>'
    (note,) = model_notes(model("<ConstraintSet><objects>", weld), ("flex",))
    assert "constraints weld;" in note


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<elastic_modulus>", "<stiffness>3</stiffness><elastic_modulus>", "bed: no effect of st"),
        ("<use_lumped_contact_model>", "<damping>1</damping><use_lumped_contact_model>",
         "tf: no effect of damping, which no Smith2018ArticularContactForce"),
    ],
)  # fmt: skip
def test_properties_of_contacts_that_nobody_knows_are_told(model, old, new, told):
    (note,) = model_notes(model(old, new), ())
    assert told in note


def test_springs_without_a_depth_are_refused(model):
    text = "<max_proximity>0</max_proximity><elastic_foundation_formulation>"
    changed = model("<elastic_foundation_formulation>", text)
    with pytest.raises(InputError, match=r"tf, max_proximity: expected > 0 m"):
        _ = changed.contacts


def test_least_overlaps_below_zero_change_nothing(model):
    text = "<min_proximity>-0.001</min_proximity><elastic_foundation_formulation>"
    (contact,) = model("<elastic_foundation_formulation>", text).contacts
    assert contact.search_depth == 0.01


def test_defaults_of_the_model_stand_for_what_an_object_leaves_out(model):
    defaults = """<defaults><Smith2018ArticularContactForce name="default">
    <max_proximity>0.03</max_proximity><use_lumped_contact_model>true</use_lumped_contact_model>
    </Smith2018ArticularContactForce><Smith2018ContactMesh><poissons_ratio>0.3</poissons_ratio>
    </Smith2018ContactMesh></defaults><BodySet>"""
    (contact,) = model("<BodySet>", defaults).contacts
    assert contact.search_depth == 0.03
    assert not contact.lumped
    assert (contact.bed.poissons_ratio, contact.target.poissons_ratio) == (0.4, 0.3)


def test_settings_of_the_forward_tool_that_nobody_knows_are_told(tool):
    good = (
        "<D><ForsimTool><verbose>1</verbose><integrator_accuracy>1e-6</integrator_accuracy>"
        "<AnalysisSet><objects/></AnalysisSet></ForsimTool></D>"
    )
    assert forward_file_notes(tool(good)) == ()
    bad = good.replace("<objects/>", "<objects><Kinematics/></objects>")
    bad = bad.replace("<verbose>1</verbose>", "<constant_muscle_frc>4</constant_muscle_frc>")
    assert forward_file_notes(tool(bad)) == (
        "tool.xml: unknown setting constant_muscle_frc; did you mean constant_muscle_control?",
        "tool.xml: no effect of AnalysisSet",
    )


def test_tasks_and_weights_of_inverse_kinematics_that_are_dropped_are_told(tool):
    text = """<D><COMAKInverseKinematicsTool><ik_constraint_weight>100</ik_constraint_weight>
    <IKTaskSet><objects><IKCoordinateTask name="flex"><apply>true</apply><weight>5</weight>
    </IKCoordinateTask><IKCoordinateTask name="off"><apply>false</apply></IKCoordinateTask>
    </objects></IKTaskSet></COMAKInverseKinematicsTool></D>"""
    tasks, weight = marker_file_notes(tool(text))
    assert tasks == "tool.xml: no effect of the tasks of coordinates flex"
    assert weight.startswith("tool.xml, ik_constraint_weight: expected Inf, found 100;")
    assert marker_file_notes(tool(text), constrained=False) == (tasks,)
    inside = text.replace(">100<", "> Inf <").replace(">5<", ">0<")
    assert marker_file_notes(tool(inside)) == ()


@pytest.mark.data
def test_shipped_settings_and_models_need_no_note(knee_data):
    jam = knee_data / "jam_comak_walking"
    inputs = jam / "examples/walking/inputs"
    assert marker_file_notes(inputs / "comak_inverse_kinematics_settings.xml") == ()
    for path in (
        *(
            jam / "models/lenhart2015/lenhart2015.osim",
            knee_data / "jam_grand_challenge_DM/DM.osim",
        ),
        knee_data / "jam_smith2019_menisci/smith2019.osim",
    ):
        shipped = OsimModel(path)
        assert model_notes(shipped, tuple(shipped.coordinate_paths)) == ()
        assert shipped.contacts
