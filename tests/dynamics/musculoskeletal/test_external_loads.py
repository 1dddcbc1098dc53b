"""Files of external loads that OpenSim would take without a word, or refuse without a reason."""

import pytest
from numpy.testing import assert_allclose

from dynamics.musculoskeletal.external_loads import check_external_loads, check_loads_cover
from foundation.base.errors import InputError

LOADS = """<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="right">
<applied_to_body>calcn_r</applied_to_body><force_identifier>force_v</force_identifier>
<point_identifier>force_p</point_identifier><torque_identifier>torque_</torque_identifier>
</ExternalForce></objects><datafile>{data}</datafile></ExternalLoads></OpenSimDocument>"""
TABLE = "time,force_vx,force_vy,force_vz,unused\n0.5,1,800,2,nan\n0.6,1,790,2,nan\n"


@pytest.fixture
def loads(tmp_path):
    (tmp_path / "grf.csv").write_text(TABLE)
    path = tmp_path / "loads.xml"
    path.write_text(LOADS.format(data="grf.csv"))
    return path


def test_the_columns_of_the_forces_are_read(loads):
    table = check_external_loads(loads)
    assert table.names == ("force_vx", "force_vy", "force_vz")
    assert_allclose(table.values[:, 1], [800.0, 790.0])


def test_a_file_without_forces_is_refused(loads):
    text = loads.read_text()
    loads.write_text("<OpenSimDocument><COMAKTool/></OpenSimDocument>")
    with pytest.raises(InputError, match=r"loads\.xml: expected ExternalLoads with an External"):
        check_external_loads(loads)
    for no in ("false", "False", " 0 "):
        off = f"<appliesForce>{no}</appliesForce></ExternalForce>"
        loads.write_text(text.replace("</ExternalForce>", off))
        with pytest.raises(InputError, match="found none"):
            check_external_loads(loads)
    loads.write_text(text.replace("</ExternalForce>", off.replace(" 0 ", "off")))
    with pytest.raises(
        InputError, match="right, appliesForce: expected true or false, found 'off'"
    ):
        check_external_loads(loads)


def test_a_force_on_no_body_of_the_model_is_named(loads):
    check_external_loads(loads, ["tibia_r", "calcn_r"])
    told = r"right, applied_to_body: expected a body of the model, found 'calcn_r'; .*has tibia_r$"
    with pytest.raises(InputError, match=told):
        check_external_loads(loads, ["tibia_r"])
    loads.write_text(loads.read_text().replace(">calcn_r<", ">/bodyset/calcn_r/sole<"))
    check_external_loads(loads, ["tibia_r"])


@pytest.mark.parametrize(("data", "found"), [("nope.mot", r"no file nope\.mot"), ("", "none")])
def test_a_missing_table_is_named(loads, data, found):
    loads.write_text(LOADS.format(data=data))
    with pytest.raises(InputError, match=f"datafile: expected a table of forces.*found {found}"):
        check_external_loads(loads)


def test_forces_that_are_no_numbers_are_refused(loads):
    (loads.parent / "grf.csv").write_text(TABLE.replace("790", "nan"))
    with pytest.raises(InputError, match="force_vy: expected a finite number"):
        check_external_loads(loads)


def test_forces_must_cover_the_motion(loads):
    check_loads_cover(loads, check_external_loads(loads), 0.5, 0.6)
    for start, stop in ((0.49, 0.6), (0.5, 0.61)):
        with pytest.raises(InputError, match=r"found 0\.5 to 0\.6 s"):
            check_loads_cover(loads, check_external_loads(loads), start, stop)


def test_the_section_of_the_keys_is_named(loads):
    table = check_external_loads(loads)
    with pytest.raises(InputError, match=r"set comak\.start_s and comak\.stop_s within"):
        check_loads_cover(loads, table, 0.5, 1.0)
    with pytest.raises(InputError, match=r"set forward\.start_s and forward\.stop_s within"):
        check_loads_cover(loads, table, 0.5, 1.0, section="forward")
