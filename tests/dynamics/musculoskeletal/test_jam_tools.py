"""Files of settings of OpenSim-JAM's tools: values, unknown settings, settings not carried out."""

import pytest

from dynamics.musculoskeletal import (
    ForwardSettings,
    MarkerSettings,
    read_forward_settings,
    read_marker_settings,
)
from foundation.base.errors import InputError

FORWARD = """<OpenSimDocument Version="40000"><ForsimTool>
<model_file>../knee.osim</model_file><start_time>-1</start_time><stop_time>2.5</stop_time>
<report_time_step>0.02</report_time_step><constant_muscle_control>0.05</constant_muscle_control>
<ignore_activation_dynamics>true</ignore_activation_dynamics>
<unconstrained_coordinates>/jointset/knee/add /jointset/knee/ty</unconstrained_coordinates>
<prescribed_coordinates_file>prescribed.sto</prescribed_coordinates_file>
<actuator_input_file></actuator_input_file></ForsimTool></OpenSimDocument>"""

CONTROL = "<constant_muscle_control>0.05</constant_muscle_control>"
IGNORED = "<ignore_activation_dynamics>true</ignore_activation_dynamics>"


def test_settings_of_the_forward_tool_are_read(edited, tmp_path):
    settings, files, notes = read_forward_settings(edited(FORWARD))
    assert settings == ForwardSettings(("add", "ty"), None, 2.5, 0.02, 0.05)
    assert files.model == (tmp_path.parent / "knee.osim").resolve()
    assert files.prescribed == (tmp_path / "prescribed.sto").resolve()
    assert files.muscles is None
    assert files.external_loads is None
    assert [text.split(";")[0] for text in notes] == [
        "tool.xml, use_tendon_compliance: expected false, found none, which stands for true"
    ]


@pytest.mark.parametrize(
    ("stated", "activation"), [("", 0.02), (CONTROL.replace("0.05", "-1"), None), (CONTROL, 0.05)]
)
def test_activations_are_those_of_the_tool(edited, stated, activation):
    assert read_forward_settings(edited(FORWARD, CONTROL, stated))[0].activation == activation


@pytest.mark.parametrize(
    ("flags", "fibre_forces", "warned"),
    [
        ({"use_activation_dynamics": "false", "use_tendon_compliance": "False"}, True, []),
        ({"ignore_activation_dynamics": "1", "ignore_tendon_compliance": "True"}, True, []),
        ({"use_muscle_physiology": "false"}, False, []),
        ({"ignore_muscle_dynamics": "true"}, False, []),
        (
            {"ignore_muscle_dynamics": "false", "ignore_tendon_compliance": "false"},
            True,
            [
                "use_activation_dynamics: expected false, found none, which stands for true",
                "ignore_tendon_compliance: expected true, found false",
            ],
        ),
    ],
)
def test_flags_of_both_versions_of_the_tool_are_read(edited, flags, fibre_forces, warned):
    text = "".join(f"<{name}>{value}</{name}>" for name, value in flags.items())
    settings, _, notes = read_forward_settings(edited(FORWARD, IGNORED, text))
    assert settings.fibre_forces is fibre_forces
    assert [note.removeprefix("tool.xml, ").split(";")[0] for note in notes] == warned


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("ForsimTool", "COMAKTool", "expected settings of a ForsimTool, found COMAKTool"),
        (">0.02<", ">fast<", "report_time_step: expected a number, found 'fast'"),
        (">0.05<", ">1.5<", "activation"),
        ("/jointset/knee/add /jointset/knee/ty", "", "coordinates that forces move"),
        ("../knee.osim", "", "model_file"),
        (">true<", ">yes<", "ignore_activation_dynamics: expected true or false, found 'yes'"),
    ],
)
def test_wrong_settings_of_the_forward_tool_are_refused(edited, before, after, told):
    with pytest.raises(InputError, match=told):
        read_forward_settings(edited(FORWARD, before, after))


QUIET = f"{IGNORED}<ignore_tendon_compliance>true</ignore_tendon_compliance>"


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("<verbose>1</verbose><AnalysisSet><objects/></AnalysisSet>", ()),
        ("<AnalysisSet><objects><Kinematics/></objects></AnalysisSet>",
         ("tool.xml: ignored settings: AnalysisSet",)),
        ("<constant_muscle_frc>4</constant_muscle_frc>",
         ("tool.xml: unknown setting constant_muscle_frc; did you mean constant_muscle_control?",)),
    ],
)  # fmt: skip
def test_settings_of_the_forward_tool_that_are_not_done_are_told(edited, stated, told):
    assert read_forward_settings(edited(FORWARD, IGNORED, QUIET + stated))[2] == told


MARKERS = """<D><COMAKInverseKinematicsTool>
<secondary_coupled_coordinate>/jointset/knee/flex</secondary_coupled_coordinate>
<secondary_coordinates>ty</secondary_coordinates><ik_constraint_weight>Inf</ik_constraint_weight>
<IKTaskSet><objects><IKMarkerTask name="a"><apply>False</apply></IKMarkerTask>
<IKMarkerTask name="b"><apply>0</apply></IKMarkerTask>
<IKMarkerTask name="c"><apply>TRUE</apply></IKMarkerTask>
<IKMarkerTask name="d"><weight>3</weight></IKMarkerTask>
<IKCoordinateTask name="flex"><apply>true</apply><weight>0</weight></IKCoordinateTask>
<IKCoordinateTask name="off"><apply>false</apply><weight>7</weight></IKCoordinateTask>
</objects></IKTaskSet></COMAKInverseKinematicsTool></D>"""


def test_markers_that_apply_have_weights(edited):
    settings, sweep, files, notes = read_marker_settings(edited(MARKERS))
    assert settings == MarkerSettings((("c", 1.0), ("d", 3.0)))
    assert (sweep.coupled, sweep.secondary) == ("flex", ("ty",))
    assert files == (None, None)
    assert notes == ()


@pytest.mark.parametrize("constrained", [True, False])
def test_tasks_and_weights_of_inverse_kinematics_that_are_not_done_are_told(edited, constrained):
    path = edited(MARKERS.replace(">Inf<", ">100<"), "<weight>0<", "<weight>5<")
    tasks, *weight = read_marker_settings(path, constrained=constrained)[3]
    assert tasks == "tool.xml: ignored tasks of coordinates: flex"
    told = "tool.xml, ik_constraint_weight: expected Inf, found 100;"
    assert [text.startswith(told) for text in weight] == [True] * constrained


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (">TRUE<", ">always<", r"tool\.xml, c, apply: expected true or false, found 'always'"),
        (">3<", ">-3<", "weight of marker d"),
        ("<weight>0<", "<weight>low<", r"tool\.xml, flex, weight: expected a number"),
    ],
)
def test_wrong_settings_of_markers_are_refused(edited, old, new, told):
    with pytest.raises(InputError, match=told):
        read_marker_settings(edited(MARKERS, old, new))


def test_a_marker_needs_a_weight():
    with pytest.raises(InputError, match="a marker with a weight above 0, found none"):
        MarkerSettings(())
