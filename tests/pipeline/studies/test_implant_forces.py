"""Files of implant forces: layouts, units, clocks, and errors of known sizes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from pipeline.studies.implant_forces.alignment import WalkCourse, aligned
from pipeline.studies.implant_forces.comparison import compare_with_implant, comparison_lines
from pipeline.studies.implant_forces.forces import read_implant_forces
from pipeline.studies.implant_forces.schema import ImplantForcesConfig
from pipeline.studies.implant_forces.sheets import at_times

WEIGHT, POUND = 686.3, 4.4482216152605
TIME = np.arange(0.75, 3.92, 1.0 / 120.0)


def stride(time, later=0.0):
    """Return a force with two peaks a stride, up to 1900 N; the second one grows by `later`."""
    count, part = np.divmod((np.asarray(time) - 0.3) / 1.3, 1.0)
    second = 0.6 + later * count
    return 100.0 + 1800.0 * (
        np.exp(-0.5 * ((part - 0.18) / 0.07) ** 2)
        + second * np.exp(-0.5 * ((part - 0.48) / 0.06) ** 2)
    )


FORCE = stride(TIME)
MEDIAL = FORCE * (0.6 + 0.1 * np.sin(TIME))
LATERAL = FORCE - MEDIAL


def read(path, **keys):
    return read_implant_forces(ImplantForcesConfig(file=str(path), **keys), WEIGHT)


def text(path, header, columns, separator=",", end=""):
    rows = [
        separator.join(f"{value:.6f}" for value in row) + end for row in zip(*columns, strict=True)
    ]
    path.write_text("\n".join([*header, *rows]) + "\n", encoding="utf-8")
    return path


def assert_parts(found, *, rtol=1e-5):
    assert_allclose(found.time, TIME, atol=1e-6)
    assert_allclose(found.parts["total"], FORCE, rtol=rtol)
    assert_allclose(found.parts["medial"], MEDIAL, rtol=rtol)
    assert_allclose(found.parts["lateral"], LATERAL, rtol=rtol)


@pytest.fixture
def etibia(tmp_path):
    """Return a file with the columns of the Grand Challenge's second implant: no units, lbf."""
    zero = 0.0 * TIME
    moment = (MEDIAL - 0.5 * FORCE) / POUND / 0.9
    angle = 30.0 + 25.0 * np.sin(2.0 * np.pi * TIME / 1.3)
    columns = (TIME, zero + 1.2, zero - 2.0, FORCE / POUND, moment, zero, zero, angle, FORCE)
    header = ["\ufeffTime(sec),Fx,Fy,Fz,Tx,Ty,Tz,GON,GRFz"]
    return text(tmp_path / "DM_knee_forces.csv", header, columns, end=",")


def test_a_table_of_the_grand_challenge_is_in_pounds_force(etibia):
    found = read(etibia, medial={"Fz": 0.5, "Tx": 0.9})
    assert_parts(found)
    assert "lbf, which the file does not state" in found.facts[0]
    assert found.knee_angle is not None
    assert not found.warnings
    assert set(read(etibia).parts) == {"total"}
    assert "implant_forces.medial" in read(etibia).facts[-1]


def test_four_load_cells_are_two_compartments(tmp_path):
    cells = (TIME, 0.3 * MEDIAL, 0.7 * MEDIAL, 0.4 * LATERAL, 0.6 * LATERAL)
    path = text(tmp_path / "eknee.csv", ["Frame time,PM,AM,AL,PL"], cells)
    assert_parts(read(path))


def test_orthoload_has_negative_axial_forces_and_a_frontal_moment(tmp_path):
    spacing = 0.046
    frontal = (0.5 * FORCE - MEDIAL) * spacing  # x lateral, y anterior: a lateral force turns +y.
    zero = 0.0 * TIME
    header = [
        "OrthoLoad, knee of a person whose trial was medial thrust gait",
        "",
        "Time [s]\tFx [N]\tFy [N]\tFz [N]\tMx [Nm]\tMy [Nm]\tMz [Nm]\tF [N]",
    ]
    columns = (TIME, zero, zero + 100.0, -FORCE, zero, frontal, zero, np.hypot(FORCE, 100.0))
    path = text(tmp_path / "k1l.txt", header, columns, "\t")
    found = read(path, spacing_mm=46.0)
    assert_parts(found)
    assert "negative in compression" in found.facts[1]
    assert_parts(read(path, spacing_mm=46.0, moment_unit="N m"))
    blanks = "Time [s]   Fx [N]   Fy [N]   Fz [N]   Mx [Nm]   My [Nm]   Mz [Nm]   F [N]"
    assert_parts(read(text(tmp_path / "b.txt", [blanks], columns, "   "), spacing_mm=46.0))
    bare = [header[0], "", "Time\tFx\tFy\tFz\tMx\tMy\tMz\tF"]
    columns = (TIME, zero, zero + 100.0, -FORCE, zero, 1e3 * frontal, zero, FORCE)
    found = read(text(tmp_path / "bare.txt", bare, columns, "\t"), spacing_mm=46.0)
    assert_parts(found)
    assert any("moments in N mm" in fact for fact in found.facts)


def test_spacing_needs_the_axes_of_orthoload(etibia):
    with pytest.raises(InputError, match=r"expects OrthoLoad's axes.*implant_forces\.medial"):
        read(etibia, spacing_mm=46.0)


def test_decimal_commas_and_per_cent_of_body_weight(tmp_path):
    rows = ["Zeit [s];Fz [%BW]"]
    rows += [
        f"{a:.6f};{-100 * f / WEIGHT:.6f}".replace(".", ",")
        for a, f in zip(TIME, FORCE, strict=True)
    ]
    path = tmp_path / "knee.csv"
    path.write_bytes("\n".join(rows).encode("utf-16"))
    assert_allclose(read(path).parts["total"], FORCE, rtol=1e-5)


def test_names_of_a_workbook_span_rows_and_blocks_have_their_own_rates(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="XLSX needs openpyxl (the xlsx extra)")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"] = "DM medial thrust gait"
    sheet.merge_cells("A1:G1")
    sheet["A2"], sheet["B2"], sheet["F2"] = "Time (s)", "Contact force (lbf)", "EMG"
    for area in ("A2:A3", "B2:C2", "F2:G2"):
        sheet.merge_cells(area)
    sheet["B3"], sheet["C3"], sheet["F3"], sheet["G3"] = "  Medial ", "Lateral  ", "Time", "VasMed "
    sheet["I2"] = "a note"
    for k, row in enumerate(zip(TIME, MEDIAL / POUND, LATERAL / POUND, strict=True)):
        for at, value in enumerate(row, 1):
            sheet.cell(4 + k, at, float(value))
    for k in range(2 * len(TIME)):  # The forces are padded with empty cells.
        sheet.cell(4 + k, 6, k / 1000.0)
        sheet.cell(4 + k, 7, 0.1)
    book.create_sheet("notes")["A1"] = "nothing"
    book.save(tmp_path / "forces.xlsx")
    found = read(tmp_path / "forces.xlsx")
    assert_parts(found)
    assert found.facts[0] == "forces in lbf, as in the header"
    assert found.source == "forces.xlsx, sheet Sheet"
    other = book.copy_worksheet(sheet)
    other.title = "og4"
    book.save(tmp_path / "forces.xlsx")
    with pytest.raises(InputError, match=r"found 2: .*og4; state one as .*\.sheet"):
        read(tmp_path / "forces.xlsx")
    assert_parts(read(tmp_path / "forces.xlsx", sheet="og4"))


@pytest.mark.parametrize(("unit", "factor"), [("N", 1.0), ("lbf", POUND)])
def test_at_most_one_unit_gives_a_walk(tmp_path, unit, factor):
    path = text(tmp_path / "f.csv", ["time,total"], (TIME, FORCE / factor))
    found = read(path)
    assert_allclose(found.parts["total"], FORCE, rtol=1e-5)
    assert f"forces in {unit}, which the file does not state" in found.facts[0]
    stated = text(tmp_path / "s.csv", ["time,total"], (TIME, FORCE / WEIGHT))
    with pytest.raises(InputError, match=r"kN or BW would give such a force; set .*\.unit"):
        read(stated)
    assert_allclose(read(stated, unit="BW").parts["total"], FORCE, rtol=1e-5)


def test_a_stated_unit_that_gives_no_walk_has_a_warning(tmp_path):
    path = text(tmp_path / "f.csv", ["time_s,total_N"], (TIME, FORCE / POUND))
    assert "0.62 body weights" in read(path).warnings[0]
    assert "2.77 in lbf" in read(path).warnings[0]
    assert not read(path, unit="lbf").warnings


def test_components_of_each_compartment_under_merged_names(tmp_path):
    header = [
        ",Medial compartment [N],,,,Lateral compartment [N],,,",
        "Time [s],Fx,Fy,Fz,Mx,Fx,Fy,Fz,Mx",
    ]
    zero = 0.0 * TIME
    columns = (TIME, zero, MEDIAL, zero + 9.0, zero, zero, LATERAL, zero - 7.0, zero)
    assert_parts(read(text(tmp_path / "f.csv", header, columns)))


@pytest.mark.parametrize(
    "names",
    [
        "t (s),Contact force (medial) [lbf],Contact force (lateral) [lbf]",
        "time_s,KCF_med_lbf,KCF_lat_lbf",
        "Time,FMedial (lbs),FLateral (lbs)",
        "Time [s],Knee Medial Force lbf,Knee Lateral Force lbf",
    ],
)
def test_names_of_compartments(tmp_path, names):
    path = text(tmp_path / "f.csv", [names], (TIME, MEDIAL / POUND, LATERAL / POUND))
    found = read(path)
    assert_parts(found)
    assert found.facts[0] == "forces in lbf, as in the header"


def test_shear_forces_are_no_compartments(tmp_path):
    header = ["Time [s],Anterior force [N],Superior force [N],Lateral force [N]"]
    found = read(text(tmp_path / "f.csv", header, (TIME, 0.1 * FORCE, FORCE, 0.05 * FORCE)))
    assert set(found.parts) == {"total"}
    assert_allclose(found.parts["total"], FORCE, rtol=1e-5)


def test_unknown_columns_are_listed_and_can_be_stated(tmp_path):
    path = text(tmp_path / "f.csv", ["when (s),channel A (N)"], (TIME, FORCE))
    with pytest.raises(InputError, match=r"found when \(s\), channel A \(N\); state them"):
        read(path, columns={"percent": "when (s)"})
    columns = {"time": "when", "total": "channel A (N)"}
    assert_allclose(read(path, columns=columns).parts["total"], FORCE, rtol=1e-5)
    with pytest.raises(InputError, match=r"one column 'B' \(implant_forces\.columns\.total\)"):
        read(path, columns={"total": "B"})


def test_gaps_and_instants_out_of_order(tmp_path):
    late, early = TIME >= 2.5, TIME < 1.5
    time = np.concatenate([TIME[late], TIME[early]])
    found = read(text(tmp_path / "f.csv", ["time,Fz [N]"], (time, stride(time))))
    assert (np.diff(found.time) > 0.0).all()
    at = at_times(np.array([1.2, 2.0, 3.0, 9.0]), found.time, found.parts["total"])
    assert_allclose(at[[0, 2]], stride([1.2, 3.0]), rtol=1e-3)
    assert np.isnan(at[[1, 3]]).all()
    twice = np.concatenate([TIME, TIME])
    values = np.concatenate([FORCE, 2.0 * FORCE])
    with pytest.raises(InputError, match="each instant once"):
        read(text(tmp_path / "g.csv", ["time,Fz [N]"], (twice, values)))


WALK = np.arange(2.305, 3.62, 0.01)


@pytest.mark.parametrize(
    ("moved", "keys", "told"),
    [
        (0.0, {}, "one clock"),
        (20.0, {}, "correlate best"),
        (20.0, {"shift_s": -20.0}, "as stated"),
        (0.45, {}, "correlate best"),  # The table covers the walk, but with another clock.
    ],
)
def test_clocks(tmp_path, moved, keys, told):
    time = np.arange(0.0, 6.0, 0.004)
    force = stride(time, 0.2)
    path = text(tmp_path / "f.csv", ["time,Fz [N]"], (time + moved, force))
    predicted = {"total": stride(WALK, 0.2)}
    config = ImplantForcesConfig(file=str(path), **keys)
    found = compare_with_implant(
        config, WalkCourse(WALK, predicted["total"]), predicted, 700.0, "c"
    )
    assert told in found.comparison.aligned_by
    assert found.comparison.shift_s == pytest.approx(-moved, abs=0.001)
    assert found.comparison.parts["total"].rms_N < 60.0
    assert ("no error of timing" in " ".join(found.warnings)) == (told == "correlate best")


@pytest.mark.parametrize("moved", [0.0, 0.4, -30.0])
def test_a_goniometer_tells_the_clock_before_the_force_does(tmp_path, moved):
    """The force of the prediction is 0.15 s late, which must stay visible."""
    time = np.arange(0.0, 6.0, 1.0 / 120.0)

    def flexion(t):
        return 30.0 + 25.0 * np.sin(2.0 * np.pi * t / 1.3) + 4.0 * t**2

    columns = (time + moved, stride(time), -flexion(time) + 3.0)
    path = text(tmp_path / "f.csv", ["time,Fz [N],GON"], columns)
    late = stride(WALK - 0.15)
    found = aligned(read(path), WalkCourse(WALK, late, flexion(WALK)))
    assert found.shift == pytest.approx(-moved, abs=0.001)
    assert "knee angle" in found.how
    assert not found.warnings


def test_a_late_prediction_on_one_clock_is_not_shifted(tmp_path):
    path = text(tmp_path / "f.csv", ["time,Fz [N]"], (TIME, FORCE))
    for delay in (0.03, 0.08):
        assert aligned(read(path), WalkCourse(WALK, stride(WALK - delay))).shift == 0.0


def test_a_force_of_no_walk_is_refused(tmp_path):
    path = text(tmp_path / "f.csv", ["time,Fz [N]"], (TIME + 50.0, FORCE))
    noise = 1000.0 + 500.0 * np.sin(np.random.default_rng(1).permutation(len(WALK)))
    with pytest.raises(InputError, match=r"no shift that brings.*implant_forces\.shift_s"):
        aligned(read(path), WalkCourse(WALK, noise))


def test_per_cent_of_a_cycle_are_the_whole_walk(tmp_path):
    percent = np.linspace(0.0, 100.0, 101)
    instants = WALK[0] + 0.01 * percent * np.ptp(WALK)
    path = text(tmp_path / "f.csv", ["gait cycle [%],Fz [N]"], (percent, -stride(instants)))
    config = ImplantForcesConfig(file=str(path))
    walk = WalkCourse(WALK, stride(WALK))
    found = compare_with_implant(config, walk, {"total": stride(WALK)}, 700.0, "c")
    assert found.comparison.parts["total"].rms_N < 15.0
    assert found.comparison.instants == len(WALK)


def test_errors_have_their_definitions(tmp_path):
    columns = (TIME, MEDIAL, LATERAL)
    path = text(tmp_path / "f.csv", ["time_s,medial_N,lateral_N"], columns)
    config = ImplantForcesConfig(file=str(path), shift_s=0.0)
    at = TIME[180:340:2]
    medial, force = np.interp(at, TIME, MEDIAL), np.interp(at, TIME, FORCE)
    predicted = {"total": 1.1 * force, "medial": medial + 50.0, "lateral": force - medial}
    found = compare_with_implant(config, WalkCourse(at, force), predicted, 700.0, "c")
    rows = found.comparison.parts
    assert rows["total"].rms_N == pytest.approx(0.1 * np.sqrt((force**2).mean()), rel=1e-5)
    r2 = 1.0 - (0.01 * force**2).sum() / ((force - force.mean()) ** 2).sum()
    assert rows["total"].r2 == pytest.approx(r2, rel=1e-5)
    assert rows["total"].correlation == pytest.approx(1.0)
    assert rows["medial"].rms_BW == pytest.approx(50.0 / 700.0, rel=1e-5)
    assert rows["medial"].mean_error_N == pytest.approx(50.0, rel=1e-5)
    assert rows["lateral"].rms_N == pytest.approx(0.0, abs=1e-3)
    assert rows["total"].predicted_peak_N == pytest.approx(1.1 * force.max(), rel=1e-5)
    assert rows["total"].measured_peak_at_s == pytest.approx(at[force.argmax()])
    assert list(found.table()) == [
        "time_s",
        *(f"{kind}_{part}_N" for kind in ("measured", "predicted") for part in rows),
    ]
    assert "total: " in comparison_lines(found.comparison)[1]


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none.csv")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf")
    with pytest.raises(InputError, match=r"save the table as \.xlsx or \.csv"):
        read(tmp_path / "old.xls")
    (tmp_path / "no.xlsx").write_text("no workbook")
    with pytest.raises(InputError, match="expected a workbook"):
        read(tmp_path / "no.xlsx")
    path = text(tmp_path / "no_time.csv", ["Fx,Fy,Fz"], (FORCE, FORCE, FORCE))
    with pytest.raises(InputError, match="expected a column of times"):
        read(path)
    with pytest.raises(ValueError, match="either medial or spacing_mm"):
        ImplantForcesConfig(file="f", medial={"Fz": 1.0}, spacing_mm=40.0)


def compartments(path, header, *, time=TIME, separator=",", form="{:.6f}"):
    """Write times and the forces of both compartments under rows of names."""
    rows = [
        separator.join(form.format(value) for value in row)
        for row in zip(time, MEDIAL, LATERAL, strict=True)
    ]
    path.write_text("\n".join([*header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", ["  ", "   ", "\t"])
def test_names_of_several_words_between_blanks(tmp_path, separator):
    names = separator.join(["time [s]", "medial force [N]", "lateral force [N]"])
    assert_parts(read(compartments(tmp_path / "f.txt", [names], separator=separator)))


@pytest.mark.parametrize(
    ("form", "swapped"), [("{:,.3f}", ",."), ("{:,.3f}", ".,")], ids=["english", "german"]
)
def test_separators_of_thousands(tmp_path, form, swapped):
    path = compartments(tmp_path / "f.csv", ["time;medial;lateral"], separator=";", form=form)
    text = path.read_text(encoding="utf-8").translate(str.maketrans(",.", swapped))
    path.write_text(text, encoding="utf-8")
    found = read(path)
    assert_allclose(found.parts["medial"], MEDIAL, atol=1e-3)
    assert found.parts["medial"].max() > 1000.0
    assert not found.warnings


@pytest.mark.parametrize(
    ("header", "factor", "told"),
    [
        (["time [ms],medial,lateral"], 1e3, []),
        (["time,medial,lateral", "ms,N,N"], 1e3, []),
        (["Time ms,medial,lateral"], 1e3, []),
        (["Time [\u00b5s],medial,lateral"], 1e6, []),
        (["time [min],medial,lateral"], 1.0 / 60.0, []),
        (["time,medial,lateral"], 1e3, ["times in ms, which the file does not state"]),
    ],
)
def test_units_of_times(tmp_path, header, factor, told):
    form = "{:.9f}"
    found = read(compartments(tmp_path / "f.csv", header, time=factor * TIME, form=form))
    assert_parts(found)
    assert [fact for fact in found.facts if "times in" in fact][:1] == [
        fact for fact in found.facts if told and fact.startswith(told[0])
    ]
    assert bool(told) == any("times in ms" in fact for fact in found.facts)


def test_times_of_hours_are_refused(tmp_path):
    path = compartments(tmp_path / "f.csv", ["time [s],medial,lateral"], time=1e6 * TIME)
    with pytest.raises(InputError, match=r"expected times of a walk, found .* \[ms\]"):
        read(path)


def test_parts_of_a_cycle_from_0_to_1(tmp_path):
    part = np.linspace(0.0, 1.0, len(TIME))
    found = read(compartments(tmp_path / "f.csv", ["gait cycle,medial,lateral"], time=part))
    assert found.percent
    assert_allclose(found.time[[0, -1]], [0.0, 100.0])


def test_text_among_numbers_is_told(tmp_path):
    path = compartments(tmp_path / "f.csv", ["time,medial,lateral"])
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[5] = lines[5].replace(",", ",off ", 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read(path)
    assert_allclose(found.parts["medial"], MEDIAL, rtol=0.02)  # The gap is bridged.
    (warning,) = found.warnings
    assert "medial: expected numbers, found text in 1 cells, the first 'off" in warning


def test_names_without_numbers_and_numbers_without_names(tmp_path):
    for header in ([], ["time,medial,lateral"]):
        path = compartments(tmp_path / "f.csv", header, time=TIME)
        if header:
            path.write_text(header[0], encoding="utf-8")
        with pytest.raises(InputError, match="expected a row of names above three or more rows"):
            read(path)


def test_compartments_that_no_knee_has_are_doubted(tmp_path):
    columns = (TIME, 5.0 * MEDIAL, -LATERAL)
    found = read(text(tmp_path / "f.csv", ["time,medial [N],lateral [N]"], columns))
    assert any("medial force is" in each for each in found.warnings)
    assert any("lateral force is" in each for each in found.warnings)
    columns = (TIME, MEDIAL, LATERAL, 1.3 * FORCE)
    found = read(text(tmp_path / "g.csv", ["time,medial [N],lateral [N],total [N]"], columns))
    assert any("differs from medial plus lateral" in each for each in found.warnings)


def test_a_column_that_ends_early_keeps_the_clock(tmp_path):
    path = text(tmp_path / "f.csv", ["time,medial,lateral"], (TIME, MEDIAL, LATERAL))
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[200:] = [line.rpartition(",")[0] + "," for line in lines[200:]]
    path.write_text("\n".join(lines), encoding="utf-8")
    clock = aligned(read(path), WalkCourse(TIME, FORCE))
    assert clock.shift == 0.0
    assert clock.how == "the table and the walk have one clock"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("f.xls", b"x", "expected text .* or a workbook .*, found .xls"),
        ("f.csv", b"\x00\x01\x02", "found binary"),
        ("f.xlsx", b"no workbook", "expected a workbook of Excel, found"),
    ],
)
def test_files_that_are_no_table(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=told):
        read(path)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(InputError, match="found a folder"):
        read(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    path = compartments(tmp_path / "f.csv", ["Zeit (s),medial [N],lateral [N]"])
    text = path.read_text(encoding="utf-8").replace("Zeit (s)", "time (s) \u00e4")
    path.write_bytes(text.encode(encoding))
    assert_parts(read(path))
