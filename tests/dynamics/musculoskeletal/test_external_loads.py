"""Files of external loads that OpenSim would take without a word, or refuse without a reason."""

import pytest
from numpy.testing import assert_allclose

from dynamics.musculoskeletal.external_loads import read_external_loads
from foundation.base.errors import InputError

LOADS = """<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="right">
<applied_to_body>calcn_r</applied_to_body><force_identifier>force_v</force_identifier>
<point_identifier>force_p</point_identifier><torque_identifier>torque_</torque_identifier>
</ExternalForce></objects><datafile>grf.csv</datafile></ExternalLoads></OpenSimDocument>"""
TABLE = "time,force_vx,force_vy,force_vz,unused\n0.5,1,800,2,nan\n0.6,1,790,2,nan\n"


@pytest.fixture
def read(edited):
    def read(old="", new="", bodies=None):
        edited(TABLE, name="grf.csv")
        return read_external_loads(edited(LOADS, old, new, "loads.xml"), bodies)

    return read


def test_the_columns_of_the_forces_are_read(read):
    loads = read(bodies=["tibia_r", "calcn_r"])
    assert loads.table.names == ("force_vx", "force_vy", "force_vz")
    (force,) = loads.forces
    assert (force.body, force.plate.name, force.in_ground) == ("calcn_r", "right", True)
    assert_allclose(force.plate.force, [[1.0, 800.0, 2.0], [1.0, 790.0, 2.0]])
    assert_allclose([force.plate.point, force.plate.torque], 0.0)


def test_a_path_of_a_frame_is_left_to_opensim(read):
    assert read(">calcn_r<", ">/bodyset/calcn_r/sole<", ["tibia_r"]).forces[0].body == "sole"


END = "</ExternalForce>"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (LOADS, "<OpenSimDocument><COMAKTool/></OpenSimDocument>",
         r"loads\.xml: expected ExternalLoads with an External"),
        *((END, f"<appliesForce>{no}</appliesForce>{END}", "found none")
          for no in ("false", "False", " 0 ")),
        (END, f"<appliesForce>off</appliesForce>{END}",
         r"loads\.xml, right, appliesForce: expected true or false, found 'off'"),
        (">calcn_r<", ">calcn_l<", r"loads\.xml, right, applied_to_body: expected a body of the "
         r"model, found 'calcn_l'; .*has calcn_r$"),
        (">grf.csv<", ">nope.mot<", r"datafile: expected a table of forces.*no file nope\.mot"),
        (">grf.csv<", "><", "datafile: expected a table of forces.*found none"),
    ],
)  # fmt: skip
def test_wrong_loads_are_refused(read, old, new, told):
    with pytest.raises(InputError, match=told):
        read(old, new, ["calcn_r"])


@pytest.mark.parametrize(("stated", "other"), [("f.sto.sto", "f.sto"), ("f.sto", "f.sto.sto")])
def test_a_doubled_ending_of_the_data_file_is_told(edited, tmp_path, stated, other):
    edited("x\nendheader\ntime\tforce_vy\n0.5\t800\n", name=other)
    path = edited(LOADS, "grf.csv", stated, "loads.xml")
    loads = read_external_loads(path)
    assert loads.data_file == tmp_path / other
    (note,) = loads.notes
    assert note == (
        f"loads.xml, datafile: expected the name of a file, found {stated}, which does not exist; "
        f"{other} is taken"
    )
    edited("x\nendheader\ntime\tforce_vy\n0.5\t700\n", name=stated)
    assert read_external_loads(path).notes == ()


@pytest.mark.parametrize(("start", "stop"), [(0.49, 0.6), (0.5, 0.61)])
@pytest.mark.parametrize("section", ["comak", "forward"])
def test_forces_must_cover_the_motion(read, start, stop, section):
    loads = read()
    loads.check_cover(0.5, 0.6)
    told = rf"found 0\.5 to 0\.6 s; set {section}\.start_s and {section}\.stop_s within"
    with pytest.raises(InputError, match=told):
        loads.check_cover(start, stop, section=section)
    other = r"begin 3.5 s before the motion and share no time with it: shift the times of one"
    with pytest.raises(InputError, match=other):
        loads.check_cover(4.0, 5.0, section=section)
