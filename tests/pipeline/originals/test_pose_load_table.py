"""Tables of poses and loads from elsewhere: forms, units, and the mistakes that are found."""

import numpy as np
import pandas as pd
import pytest

from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, QUANTITY_COLUMNS, WRENCH_COLUMNS
from pipeline.originals.pose_load_checks import TableError
from pipeline.originals.pose_load_table import read_pose_loads
from pipeline.store.sample_tables import in_people_units
from pipeline.store.samples import POSE_COLUMNS, line_of_action, loads_of, write_table

LONG = ["compartment", *POSE_COLUMNS, *LOAD_COLUMNS]


def table(count=60) -> pd.DataFrame:
    """Both compartments at the same poses, with loads that hang together as a condyle's do."""
    rng = np.random.default_rng(3)
    poses = rng.uniform(-1.0, 1.0, (count, 6)) * [0.5, 0.017, 0.14, 5e-3, 1e-3, 1e-3]
    parts = []
    for name, side in zip(COMPARTMENTS, (-22e-3, 22e-3), strict=True):
        axial = rng.uniform(50.0, 2800.0, count)
        force = np.column_stack([0.1 * axial, axial, 0.05 * axial])
        centre = np.column_stack([poses[:, 3], 0.01 + 0 * axial, side + poses[:, 5]])
        area = 4e-6 * np.sqrt(axial)
        quantities = np.column_stack([area, 1.6 * axial / area, axial / area, centre])
        loads = np.column_stack([force, np.cross(centre, force), quantities])
        values = np.column_stack([poses + np.array([0.5, 0, 0, 4e-3, 0.03, 0]), loads])
        parts.append(pd.DataFrame(values, columns=LONG[1:]).assign(compartment=name))
    return pd.concat(parts, ignore_index=True)[LONG]


def wide(rows: pd.DataFrame) -> pd.DataFrame:
    parts = [rows[rows["compartment"] == name].reset_index(drop=True) for name in COMPARTMENTS]
    loads = [
        part[list(LOAD_COLUMNS)].add_prefix(f"{name}_")
        for name, part in zip(COMPARTMENTS, parts, strict=True)
    ]
    return pd.concat([parts[0][list(POSE_COLUMNS)], *loads], axis=1)


def write(folder, rows, name="t.csv"):
    rows.to_csv(folder / name, index=False)
    return folder / name


def refused(folder, rows, side="right") -> str:
    path = write(folder, rows)
    with pytest.raises(TableError) as caught:
        read_pose_loads(path, side)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


def assert_same(found, rows):
    columns = [*POSE_COLUMNS, *LOAD_COLUMNS]
    assert found.rows["compartment"].tolist() == rows["compartment"].tolist()
    np.testing.assert_allclose(found.rows[columns], rows[columns], rtol=1e-14, atol=0)


def test_long_table_in_si_units(tmp_path):
    found = read_pose_loads(write(tmp_path, table()))
    assert_same(found, table())
    assert (found.count, found.out_of_contact, found.no_answer) == (120, 0, 0)
    assert (found.not_given, found.ignored, found.name) == ((), (), "t.csv")
    assert found.rows["index"].tolist() == list(range(120))
    assert set(found.rows["status"]) == {"ok"}
    np.testing.assert_array_equal(found.rows["load_N"], found.rows["force_y_N"])


def test_units_for_people_are_told_by_the_names(tmp_path):
    shown = in_people_units(table())
    assert {"flexion_deg", "anterior_mm", "moment_x_Nmm", "area_mm2", "cop_x_mm"} <= set(shown)
    assert_same(read_pose_loads(write(tmp_path, shown)), table())
    shown["force_x_kN"] = 1e-3 * shown.pop("force_x_N")
    shown["anterior_inch"] = shown.pop("anterior_mm") / 25.4
    assert_same(read_pose_loads(write(tmp_path, shown)), table())


def test_wide_table_is_the_long_one(tmp_path):
    found = read_pose_loads(write(tmp_path, wide(table())))
    assert_same(found, table())
    assert found.count == 60
    assert found.rows["index"].tolist() == 2 * list(range(60))
    assert_same(read_pose_loads(write(tmp_path, in_people_units(wide(table())))), table())


def test_parquet_of_this_project_and_of_others(tmp_path):
    write_table(table(), tmp_path / "own.parquet")
    table().to_parquet(tmp_path / "other.parquet")
    for name in ("own", "other"):
        assert_same(read_pose_loads(tmp_path / f"{name}.parquet"), table())


def test_comments_blanks_and_unknown_columns(tmp_path):
    rows = table().assign(job="a", peak_presure_MPa=1.0)
    text = "# made by hand\n" + rows.to_csv(index=False).replace(",", ", ")
    (tmp_path / "t.csv").write_text(text)
    found = read_pose_loads(tmp_path / "t.csv")
    assert_same(found, table())
    assert found.ignored == ("job", "peak_presure_MPa")


def test_rows_without_contact_and_failed_ones_are_counted(tmp_path):
    rows = table().assign(status="ok")
    rows.loc[[2, 7, 80], list(LOAD_COLUMNS)] = 0.0
    rows.loc[[2, 7], list(QUANTITY_COLUMNS[3:])] = np.nan
    rows.loc[11, "status"] = "failed"
    rows.loc[11, list(LOAD_COLUMNS)] = np.nan
    found = read_pose_loads(write(tmp_path, rows))
    assert (found.out_of_contact, found.no_answer) == (3, 1)
    assert_same(found, rows.drop(index=[2, 7, 11, 80]))
    assert not {2, 7, 11, 80} & set(found.rows["index"])


def test_quantities_may_be_left_out(tmp_path):
    rows = table().drop(columns=list(QUANTITY_COLUMNS))
    found = read_pose_loads(write(tmp_path, rows))
    assert found.not_given == QUANTITY_COLUMNS
    assert found.rows[list(QUANTITY_COLUMNS)].isna().all(axis=None)
    loads = loads_of(found.rows)
    assert (loads[:, 6:9] == 0.0).all()
    np.testing.assert_array_equal(loads[:, 9:], line_of_action(loads))
    only_area = read_pose_loads(write(tmp_path, rows.assign(area_mm2=100.0)))
    assert only_area.not_given == QUANTITY_COLUMNS[1:]


def test_line_of_action_carries_the_moment():
    rng = np.random.default_rng(0)
    force = rng.uniform(-1, 1, (5, 3)) * [100, 100, 100] + [0, 1000, 0]
    point = rng.uniform(-0.03, 0.03, (5, 3)) * [1, 0, 1]
    free = 3e-3 * force
    wrench = np.column_stack([force, np.cross(point, force) + free])
    np.testing.assert_allclose(line_of_action(wrench), point, rtol=0, atol=1e-15)


def test_left_knee_is_mirrored(tmp_path):
    signs = {"adduction_rad": -1, "rotation_rad": -1, "lateral_m": -1}
    signs |= {"force_z_N": -1, "moment_x_Nm": -1, "moment_y_Nm": -1, "cop_z_m": -1}
    rows = table()
    seen = rows.assign(**{name: sign * rows[name] for name, sign in signs.items()})
    assert_same(read_pose_loads(write(tmp_path, seen), "left"), rows)
    told = refused(tmp_path, seen)
    assert told.startswith("expected the medial loads to act medially of the lateral loads")
    assert 'original.side = "left"' in told
    assert 'original.side = "right"' in refused(tmp_path, rows, "left")


def changed(column, row, value):
    def change(rows):
        rows.loc[row, column] = value
        return rows

    return change


MISTAKES = {
    "missing": (lambda r: r.drop(columns=["lateral_m", "moment_y_Nm"]), "lacks lateral_m, moment"),
    "no unit": (lambda r: r.rename(columns={"force_y_N": "force_y"}), "column 'force_y':"),
    "half a centre": (lambda r: r.drop(columns="cop_y_m"), "all coordinates of the centre"),
    "totals": (lambda r: r.drop(columns="compartment"), "expected the loads of each compartment"),
    "compartment": (changed("compartment", 4, "middle"), "row 5: compartment: expected medial"),
    "text": (lambda r: r.assign(force_y_N=["x", *r["force_y_N"][1:]]), "row 1, force_y_N: expect"),
    "NaN": (changed("force_x_N", 3, np.nan), "row 4, medial: expected a finite force_x_N"),
    "duplicate": (lambda r: pd.concat([r, r.iloc[[5]]]), "rows 6 and 121 are the same pose"),
    "mm as m": (lambda r: r.assign(anterior_m=1e3 * r["anterior_m"]), "anterior_m: expected a"),
    "deg as rad": (lambda r: r.assign(flexion_rad=57.3 * r["flexion_rad"]), "flexion_rad: "),
    "Nmm as Nm": (
        lambda r: r.assign(**{c: 1e3 * r[c] for c in WRENCH_COLUMNS[3:]}), "moments over forces"),
    "MPa as Pa": (lambda r: r.assign(peak_pressure_Pa=1e-6 * r["peak_pressure_Pa"]), "peak_press"),
    "on the tibia": (
        lambda r: r.assign(**{c: -r[c] for c in WRENCH_COLUMNS}),
        "force_y_N: expected forces on the femur"),
    "pulls": (changed("force_y_N", 9, -200.0), "row 10, medial: expected an axial force >= 0"),
    "few": (lambda r: r.iloc[:80], "expected at least 50 poses of the lateral compartment"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_named_in_a_sentence(tmp_path, name):
    change, told = MISTAKES[name]
    assert told in refused(tmp_path, change(table()))


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"sep": ";"}, "expected comma-separated columns, found ';'"),
        ({"sep": ";", "decimal": ","}, "a row has more cells than the header"),
        ({"decimal": ","}, "expected a number with a decimal point, found '0,"),
    ],
)
def test_tables_of_other_countries(tmp_path, form, told):
    path = tmp_path / "t.csv"
    table().to_csv(path, index=False, **form)
    with pytest.raises(TableError) as caught:
        read_pose_loads(path)
    assert told in str(caught.value)


@pytest.mark.parametrize("stiffness", [np.inf, 5e7, 1e6])  # N/m; none, polyethylene, soft
def test_heights_that_do_not_vary_with_the_load(tmp_path, stiffness):
    """Poses along a path with heights of their own, or none but errors of 5 µm."""
    rows = table(200)
    errors = 5e-6 * np.random.default_rng(1).standard_normal(len(rows))
    path = 0.03 + 2e-3 * np.sin(2.0 * rows["flexion_rad"]) + errors
    rows["superior_m"] = path - rows["force_y_N"] / stiffness
    if np.isfinite(stiffness):
        assert len(read_pose_loads(write(tmp_path, rows)).rows) == 400
    else:
        assert "superior_m, medial: expected heights that vary independently" in refused(
            tmp_path, rows
        )
