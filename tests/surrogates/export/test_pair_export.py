"""C, and variables of FMUs, of contact pairs whose compartments have names of their own."""

import manufactured
import numpy as np
import pytest
from c_library import compile_c, needs_compiler, pointer
from some_slow import first_of
from surrogate_arrays import arrays

from surrogates.export.c_export import export_knee
from surrogates.export.fmu import VARIABLES, variables_of
from surrogates.formulations.contact_surrogate import ContactSurrogate

KNEE = manufactured.knee()
#: The second name is a keyword of C, the third a function of the template.
PAIRS = {
    "one": ContactSurrogate({"patellofemoral": KNEE.compartment("medial")}),
    "three": ContactSurrogate(
        {
            "front": KNEE.compartment("medial"),
            "int": KNEE.compartment("lateral"),
            "loads": KNEE.compartment("lateral"),
        }
    ),
}
POSES = manufactured.truth().samples(manufactured.draw(10, 5)).poses


@needs_compiler
@pytest.mark.parametrize("key", first_of(["three", "one"]))
def test_c_gives_the_loads_of_python(key, tmp_path):
    pair = PAIRS[key]
    files = export_knee(pair, "pair")
    count = len(pair.compartments)
    assert f"double loads[{count}][12]" in files.header
    assert all(name in files.header for name in pair.compartments)
    library = compile_c(tmp_path, pair=files)
    wanted = arrays(pair, POSES)
    for k, pose in enumerate(POSES):
        loads, jacobian, x = (np.empty((count, *shape)) for shape in ((12,), (6, 6), (6,)))
        outside = library.pair_loads(pointer(pose), pointer(loads), pointer(jacobian), pointer(x))
        assert not outside
        np.testing.assert_allclose(loads, wanted[0][k], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(jacobian, wanted[1][k], rtol=1e-7, atol=1e-4)
    away = POSES[0] + np.array([0, 0, 0, 0.05, 0, 0])
    assert library.pair_loads(pointer(away), pointer(loads), pointer(jacobian), pointer(x))


def test_variables_repeat_those_of_a_compartment_by_name():
    assert variables_of(("medial", "lateral")) == VARIABLES
    names = [v.name for v in variables_of(("patellofemoral",))]
    assert names[:7] == [v.name for v in VARIABLES[:7]]
    assert names[13] == "patellofemoral_force_x_N"
    assert names[13:25] == [v.name.replace("medial", "patellofemoral") for v in VARIABLES[13:25]]
    assert names[25:31] == [v.name for v in VARIABLES[37:43]]
    assert names[31:] == ["outside", "patellofemoral_contact"]
    assert len(variables_of(("a", "b", "c"))) == 7 + 6 + 3 * 12 + 6 + 4
    assert not any("medial" in v.text for v in variables_of(("a",)))
