"""What a file of COMAK settings asks for that is not done, and names that nobody knows."""

import pytest

from dynamics.musculoskeletal.comak_file_checks import (
    check_coordinates,
    comak_file_notes,
    prescribed_in,
)
from foundation.base.errors import InputError

COORDINATES = ("flex", "px", "py", "ty")
TOOL = """<OpenSimDocument><COMAKTool>
<model_file>m.osim</model_file><force_set_file>reserves.xml</force_set_file>
<prescribed_coordinates>/jointset/a/px /jointset/a/py</prescribed_coordinates>
<primary_coordinates>/jointset/hip/flex</primary_coordinates>
<replace_force_set>false</replace_force_set><verbose>2</verbose>
<COMAKSecondaryCoordinateSet><objects>
<COMAKSecondaryCoordinate name="s"><coordinate>ty</coordinate></COMAKSecondaryCoordinate>
</objects></COMAKSecondaryCoordinateSet>
<print_processed_input_kinematics>false</print_processed_input_kinematics>
<unit_udot_epsilon>1e-8</unit_udot_epsilon>
<AnalysisSet><objects/><groups/></AnalysisSet><use_visualizer>False</use_visualizer>
</COMAKTool></OpenSimDocument>"""
RESERVES = """<OpenSimDocument><ForceSet><objects>
<CoordinateActuator name="a"><coordinate>flex</coordinate></CoordinateActuator>
</objects></ForceSet></OpenSimDocument>"""


@pytest.fixture
def notes(tmp_path):
    def read(old="", new="", reserves=RESERVES):
        assert old in TOOL
        (tmp_path / "tool.xml").write_text(TOOL.replace(old, new))
        (tmp_path / "reserves.xml").write_text(reserves)
        return comak_file_notes(tmp_path / "tool.xml", COORDINATES)

    return read


def test_settings_that_are_off_need_no_note(notes):
    assert notes() == ()


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("<print_processed_input_kinematics>false", "<print_processed_input_kinematics>true",
         "no effect of print_processed_input_kinematics"),
        ("<AnalysisSet><objects/>", "<AnalysisSet><objects><Kinematics/></objects>",
         "no effect of AnalysisSet"),
        ("<verbose>2</verbose>", "<max_iteration>9</max_iteration>",
         "unknown setting max_iteration; did you mean max_iterations?"),
        ("<coordinate>ty</coordinate>", "<coordinate>ty</coordinate><comak_dampin>1</comak_dampin>",
         "unknown setting comak_dampin; did you mean comak_damping?"),
        ("<verbose>2</verbose>", "<qqq>9</qqq>", "unknown setting qqq"),
    ],
)  # fmt: skip
def test_settings_without_effect_are_told(notes, old, new, wanted):
    assert notes(old, new) == (f"tool.xml: {wanted}",)


@pytest.mark.parametrize(
    ("old", "name"),
    [
        (" /jointset/a/py", "py"),
        ("<primary_coordinates>/jointset/hip/flex</primary_coordinates>", "flex"),
        ("<coordinate>ty</coordinate>", "ty"),
    ],
)
def test_coordinates_in_no_list_are_told(notes, tmp_path, old, name):
    (told,) = notes(old, "")
    assert told.startswith(f"tool.xml: {name}: expected in prescribed_coordinates, primary")
    assert comak_file_notes(tmp_path / "tool.xml", COORDINATES, held=[name]) == ()


def test_actuators_that_are_no_reserves_are_told(notes):
    more = '<PointActuator name="FX"/><TorqueActuator name="off"><appliesForce>False'
    more += "</appliesForce></TorqueActuator></objects>"
    found = notes(reserves=RESERVES.replace("</objects>", more))
    assert found == ("reserves.xml: no effect of FX, which are no CoordinateActuators",)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("<min_control>-Inf</min_control><max_control>Inf</max_control>", False),
        ("<min_control>-1e5</min_control>", False),
        ("<max_control>2</max_control>", True),
    ],
)
@pytest.mark.parametrize("in_defaults", [False, True])
def test_limits_of_reserves_are_told(notes, limits, told, in_defaults):
    if in_defaults:
        default = f"<defaults><CoordinateActuator>{limits}</CoordinateActuator></defaults>"
        reserves = RESERVES.replace("<ForceSet>", f"<ForceSet>{default}")
    else:
        reserves = RESERVES.replace("<coordinate>", f"{limits}<coordinate>")
    text = "reserves.xml: no effect of min_control and max_control of a; reserves have no limits"
    assert notes(reserves=reserves) == ((text,) if told else ())


def test_other_forces_than_those_of_the_model_are_refused(notes):
    with pytest.raises(InputError, match="replace_force_set: expected false, found true"):
        notes("<replace_force_set>false", "<replace_force_set>TRUE")


def test_a_file_prescribes_what_it_lists_or_does_not_list(notes, tmp_path):
    notes("/jointset/a/py", "")
    assert prescribed_in(tmp_path / "tool.xml", COORDINATES)[:1] == ("px",)
    assert "py" in prescribed_in(tmp_path / "tool.xml", COORDINATES)
    assert "ty" not in prescribed_in(tmp_path / "tool.xml", COORDINATES)


def test_unknown_coordinates_are_refused(notes):
    with pytest.raises(InputError, match=r"prescribed_coordinates: .*such as flex, found flxe"):
        notes("/jointset/a/py", "/jointset/a/flxe")
    with pytest.raises(InputError, match=r"here: .* one of flex, px, py, ty, found QQQ"):
        check_coordinates("here", ["flex", "QQQ"], COORDINATES)
