"""Files of settings of OpenSim-JAM's tools: COMAK and forward simulations."""

import numpy as np
import pytest

from dynamics.musculoskeletal import ComakSettings
from dynamics.musculoskeletal.comak_settings import (
    ComakFile,
    SecondaryCoordinate,
    check_coordinates,
    with_actuators,
)
from dynamics.musculoskeletal.marker_kinematics import MarkerSettings, read_marker_settings
from dynamics.musculoskeletal.plant import MuscleSet
from dynamics.musculoskeletal.prescribed_motion import ForwardSettings, read_forward_settings
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.synthetic import settings

COORDINATES = ("flex", "px", "py", "ty")
TOOL = """<OpenSimDocument Version="40000"><COMAKTool>
<model_file>../m.osim</model_file><coordinates_file>ik.mot</coordinates_file>
<external_loads_file>Unassigned</external_loads_file>
<force_set_file>reserves.xml</force_set_file>
<start_time>1.5</start_time><stop_time>-1</stop_time><time_step>0.02</time_step>
<lowpass_filter_frequency>-1</lowpass_filter_frequency>
<prescribed_coordinates>/jointset/a/px /jointset/a/py</prescribed_coordinates>
<primary_coordinates>/jointset/hip/flex</primary_coordinates>
<COMAKSecondaryCoordinateSet><objects>
<COMAKSecondaryCoordinate name="s"><coordinate>/jointset/knee/ty </coordinate>
<comak_damping>200</comak_damping><max_change>0.01</max_change></COMAKSecondaryCoordinate>
</objects></COMAKSecondaryCoordinateSet>
<replace_force_set>false</replace_force_set><verbose>2</verbose>
<print_processed_input_kinematics>false</print_processed_input_kinematics>
<unit_udot_epsilon>1e-8</unit_udot_epsilon><use_visualizer>False</use_visualizer>
<AnalysisSet><objects/><groups/></AnalysisSet>
<max_iterations>7</max_iterations><udot_tolerance>0.5</udot_tolerance>
<non_muscle_actuator_weight>500</non_muscle_actuator_weight>
<contact_energy_weight>25</contact_energy_weight>
<COMAKCostFunctionParameterSet><objects>
<COMAKCostFunctionParameter name="g"><actuator>/forceset/gas</actuator>
<weight><Constant><value>3</value></Constant></weight></COMAKCostFunctionParameter>
<COMAKCostFunctionParameter name="h"><actuator>/forceset/ham</actuator>
<Constant name="weight"><value>5</value></Constant>
</COMAKCostFunctionParameter></objects></COMAKCostFunctionParameterSet>
</COMAKTool></OpenSimDocument>"""
RESERVES = """<OpenSimDocument><ForceSet><objects>
<CoordinateActuator name="a"><coordinate>flex</coordinate><optimal_force>4</optimal_force>
</CoordinateActuator>
<CoordinateActuator name="b"><coordinate>ty</coordinate></CoordinateActuator>
<CoordinateActuator name="c"><appliesForce>false</appliesForce><coordinate>off</coordinate>
</CoordinateActuator></objects></ForceSet></OpenSimDocument>"""


@pytest.fixture
def tool(edited):
    edited(RESERVES, name="reserves.xml")
    return lambda old="", new="": edited(TOOL, old, new)


def test_settings_are_those_of_the_file(tool, tmp_path):
    file = ComakFile(tool())
    settings, files = file.settings(), file.files
    assert settings == ComakSettings(
        primary=("flex",),
        secondary=(SecondaryCoordinate("ty", 200.0, 0.01),),
        start=1.5,
        step=0.02,
        iterations=7,
        tolerance=0.5,
        reserve_weight=500.0,
        reserve_forces=(("flex", 4.0), ("ty", 1.0)),
        contact_energy_weight=25.0,
        muscle_weights=(("gas", 3.0), ("ham", 5.0)),
    )
    assert files.model == tmp_path.parent / "m.osim"
    assert files.motion == tmp_path / "ik.mot"
    assert files.external_loads is None
    assert files.forces == tmp_path / "reserves.xml"


def test_damping_of_the_model_stands_for_that_of_the_file(tool):
    without = tool("<comak_damping>200</comak_damping>", "")
    viscosities = {"ty": 30.0, "flex": 1.0}
    assert ComakFile(without).settings(viscosities).secondary[0].damping == 30.0
    assert ComakFile(without).settings().secondary[0].damping == 1.0
    assert ComakFile(tool()).settings(viscosities).secondary[0].damping == 200.0


def test_weights_of_muscles_and_reserves(tool):
    settings = ComakFile(tool()).settings()
    names = ("ham", "other", "gas")
    muscles = MuscleSet(names, np.full(3, 350e3), np.ones(3), np.repeat([[0.0], [1.0]], 3, 1))
    np.testing.assert_allclose(settings.activation_costs(muscles), [5e6, 1e6, 3e6])
    assert settings.unknown_muscles(("ham", "other")) == ("gas",)
    np.testing.assert_allclose(settings.reserve_weights(("ty", "flex")), [500.0, 500.0 / 16.0])


def test_other_files_stand_for_those_of_the_settings(tool, tmp_path):
    edited = tool("<coordinates_file>ik.mot</coordinates_file>", "")
    (tmp_path / "reserves.xml").unlink()
    other = tmp_path / "others.xml"
    other.write_text(
        RESERVES.replace(">flex<", ">ty<").replace('"b"><coordinate>ty', '"b"><coordinate>flex')
    )
    file = ComakFile(edited, {"forces": other, "motion": tmp_path / "states.sto"})
    assert file.files.motion == tmp_path / "states.sto"
    assert file.settings().reserve_forces == (("ty", 4.0), ("flex", 1.0))
    with pytest.raises(InputError, match=r"reserves\.xml: no such file"):
        ComakFile(edited, {"motion": other}).settings()


def test_physiology_of_muscles_is_that_of_the_tool(tool):
    assert not ComakFile(tool()).settings().fibre_forces
    more = "<use_muscle_physiology>true</use_muscle_physiology></COMAKTool>"
    assert ComakFile(tool("</COMAKTool>", more)).settings().fibre_forces


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<time_step>0.02", "<time_step>fast", "time_step: expected a number, found 'fast'"),
        ("<udot_tolerance>0.5", "<udot_tolerance>0", "tolerance: expected"),
        ("/jointset/hip/flex", "/jointset/a/px", "found px twice"),
        (
            "<Constant><value>3</value></Constant>",
            "",
            "g, weight: expected a Constant, found none",
        ),
        (
            "<Constant><value>3</value></Constant>",
            "<LinearFunction/>",
            "g, weight: .* found LinearFunction",
        ),
        ("<value>5", "<value>-5", "ham, weight: expected >= 0"),
        ("/forceset/ham", "/forceset/gas", "h, actuator: expected one weight .* two of gas"),
        ('name="weight"', 'name="desired_activation"', "weight, found desired_activation"),
        (
            "<coordinates_file>ik.mot",
            "<coordinates_file>",
            "coordinates_file: expected a file, found",
        ),
        ("reserves.xml", "other.xml", "no such file; check the path of the reserves"),
        ("COMAKTool>", "Tool>", "expected settings of a COMAKTool"),
    ],
)
def test_wrong_settings_are_named(tool, old, new, message):
    with pytest.raises(InputError, match=message):
        ComakFile(tool(old, new)).settings()


def test_actuators_of_the_model_add_to_the_reserves_of_what_is_solved_for():
    own = {"hip": 3.0, "elbow": 9.0}
    assert with_actuators(settings(), {"elbow": 9.0}) == settings()
    alone = with_actuators(settings(), own)
    assert dict(alone.reserve_forces) == {"hip": np.hypot(1.0, 3.0), "turn": 1.0, "height": 1.0}
    given = settings(reserve_forces=(("turn", 4.0), ("height", 4.0)))
    both = with_actuators(given, own | {"turn": 3.0})
    assert dict(both.reserve_forces) == {"turn": 5.0, "height": 4.0, "hip": 3.0}


def test_other_forces_than_those_of_the_model_are_refused(tool):
    with pytest.raises(InputError, match="replace_force_set: expected false, found true"):
        ComakFile(tool("<replace_force_set>false", "<replace_force_set>TRUE")).settings()


def test_unknown_coordinates_are_refused():
    with pytest.raises(InputError, match=r"here: expected one of flex, px, py, ty, found QQQ"):
        check_coordinates("here", ["flex", "QQQ"], COORDINATES)


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
    settings, files = read_forward_settings(edited(FORWARD))
    assert settings == ForwardSettings(("add", "ty"), None, 2.5, 0.02, 0.05)
    assert files.model == (tmp_path.parent / "knee.osim").resolve()
    assert files.prescribed == (tmp_path / "prescribed.sto").resolve()
    assert files.external_loads is None
    muscles = edited(FORWARD, "<actuator_input_file>", "<actuator_input_file>a.sto")
    with pytest.raises(InputError, match=r"actuator_input_file: expected no file, .* found a\.sto"):
        read_forward_settings(muscles)


@pytest.mark.parametrize(
    ("stated", "activation"), [("", 0.02), (CONTROL.replace("0.05", "-1"), None), (CONTROL, 0.05)]
)
def test_activations_are_those_of_the_tool(edited, stated, activation):
    assert read_forward_settings(edited(FORWARD, CONTROL, stated))[0].activation == activation


@pytest.mark.parametrize(
    ("flags", "fibre_forces"),
    [
        ({"use_activation_dynamics": "false", "use_tendon_compliance": "False"}, True),
        ({"ignore_activation_dynamics": "1", "ignore_tendon_compliance": "True"}, True),
        ({"use_muscle_physiology": "false"}, False),
        ({"ignore_muscle_dynamics": "true"}, False),
        ({"ignore_muscle_dynamics": "false", "ignore_tendon_compliance": "false"}, True),
    ],
)
def test_flags_of_both_versions_of_the_tool_are_read(edited, flags, fibre_forces):
    text = "".join(f"<{name}>{value}</{name}>" for name, value in flags.items())
    settings, _ = read_forward_settings(edited(FORWARD, IGNORED, text))
    assert settings.fibre_forces is fibre_forces


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
    settings, sweep = read_marker_settings(edited(MARKERS))
    assert settings == MarkerSettings((("c", 1.0), ("d", 3.0)))
    assert (sweep.coupled, sweep.secondary) == ("flex", ("ty",))
