"""The report: its figures, its page, and what it says of files that are not as they should be."""

import json
import re
from html.parser import HTMLParser

import pytest
from numpy.testing import assert_allclose

from foundation.base.loads import COMPARTMENTS
from pipeline.files import plain
from pipeline.reports.accuracy import verdict_of_coverage
from pipeline.reports.inputs import ReportError, read_run
from pipeline.reports.report import report_of, write_report
from pipeline.reports.units import number
from pipeline.store.samples import read_table, write_table

VOID = {"meta", "link", "img", "br", "input"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every tag is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.tags = []
        self.text = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return re.sub(r"\s+", " ", "".join(self.text))


@pytest.fixture(scope="module")
def content(tiny_run):
    return stored(tiny_run, "report.json")


@pytest.fixture(scope="module")
def page(tiny_run):
    return Page((tiny_run / "report.html").read_text(encoding="utf-8"))


def stored(folder, name):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def change(folder, name, edit):
    tree = stored(folder, name)
    edit(tree)
    (folder / name).write_text(json.dumps(tree), encoding="utf-8")


def content_of_run(folder):
    """Return the content of report.json without drawing the page."""
    return dict(plain(report_of(read_run(folder)).content()))


def notes_of(folder):
    return {note["where"]: note["text"] for note in content_of_run(folder)["overview"]["notes"]}


def leaves(tree, head=""):
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value, head)
    else:
        yield head, tree


def test_written_content_is_strict_json_and_what_was_returned(light_run):
    def refuse(constant):
        raise AssertionError(f"{constant} is no strict JSON")

    written = plain(write_report(light_run).content())
    text = (light_run / "report.json").read_text(encoding="utf-8")
    head = {"format": "knee-contact report", "version": 1}
    assert json.loads(text, parse_constant=refuse) == head | written
    assert not list(light_run.glob("*.partial"))


def test_every_fractional_number_has_its_unit_in_its_key(content):
    reported = {k: v for k, v in content.items() if k not in ("provenance", "figures")}
    units = (
        r"(_(N|Nmm|MPa|mm|mm2|mm3|mm3_per_Nm|mg|um|us|s|deg|percent|ratio)|_N_per_(mm|deg)"
        r"|_Nmm_per_(mm|deg)|per_million_cycles|_percent_of_largest|^(q2|poissons_ratio|f|m))$"
    )
    # In a table whose keys are the models, the key above has the unit.
    bare = {
        key
        for key, value in leaves(reported)
        if isinstance(value, float)
        and key not in ("original", "surrogate", "standard_errors")
        and not re.search("cross_shear|^wear_coefficient", key)  # parts of a whole
        and not re.search(units, key)
    }
    assert bare == set()
    for row in content["figures"]:
        keys = row["quantity"], row["statistic"]
        assert any(re.search(units, key) for key in keys), keys


def value_of(content, about, part, quantity, statistic):
    """Return the value of the figure with these words in `validation.json` or `report.json`."""
    wanted = (about, part, quantity, statistic)
    keys = ("about", "part", "quantity", "statistic")
    (row,) = (r for r in content["figures"] if tuple(r[key] for key in keys) == wanted)
    return row["value"]


@pytest.mark.parametrize("about", ["pose given", "load given", "pose given, all samples"])
@pytest.mark.parametrize("compartment", COMPARTMENTS)
def test_errors_are_those_of_the_validation(tiny_run, content, compartment, about):
    truth = stored(tiny_run, "validation.json")
    expected = {
        ("force_x_N", "rmse", "force_x_N", "rmse"): 1.0,
        ("moment_z_Nm", "mae", "moment_z_Nmm", "mae"): 1e3,
        ("area_m2", "maximum", "area_mm2", "maximum"): 1e6,
        ("peak_pressure_Pa", "rmse", "peak_pressure_MPa", "rmse"): 1e-6,
        ("cop_z_m", "rmse", "cop_z_mm", "rmse"): 1e3,
        ("force_y_N", "nrmse", "force_y", "nrmse_percent"): 100.0,
        ("force_y_N", "q2", "force_y", "q2"): 1.0,
    }
    if about == "load given":
        expected = {
            ("height_m", "rmse", "height_um", "rmse"): 1e6,
            ("force_x_over_axial", "maximum", "force_x_over_axial_percent", "maximum"): 100.0,
            ("cop_distance_m", "rmse", "cop_distance_mm", "rmse"): 1e3,
        }
    for (*source, quantity, statistic), factor in expected.items():
        wanted = factor * value_of(truth, about, compartment, *source)
        found = value_of(content, about, compartment, quantity, statistic)
        assert_allclose(found, wanted, rtol=1e-12, atol=0.0)


def test_figures_of_gait_and_speed_are_those_of_the_simulation(tiny_run, content):
    simulation, gait = stored(tiny_run, "simulation.json"), content["gait"]
    shown = {row["column"]: row["rms_over_range_percent"] for row in gait["differences"]}
    wanted = {k: 100.0 * row["rms"] / row["range"] for k, row in simulation["differences"].items()}
    assert shown == pytest.approx(wanted, rel=1e-12)
    assert_allclose(gait["speed"]["evaluation_ratio"], simulation["speed"]["ratio"], rtol=1e-12)
    one, other = (simulation["statistics"][m]["elapsed"] for m in ("original", "surrogate"))
    assert_allclose(gait["speed"]["cycle_ratio"], one / other, rtol=1e-12)


def test_samples_reasons_and_failures_count_every_row(light_run):
    path = light_run / "samples" / "kept.parquet"
    kept = read_table(path)
    kept.loc[:2, "status"] = "failed"
    kept.loc[:2, "reason"] = ["load not reached: 900 N of 2000 N", *["load not reached: 1 N"] * 2]
    write_table(kept, path)
    change(light_run, "run.json", lambda t: t["counts"]["total"].update(evaluated_failed=3))
    content = content_of_run(light_run)
    assert content["stages"]["counts"] == stored(light_run, "run.json")["counts"]
    screened = read_table(light_run / "samples" / "screened.parquet")
    dropped = (screened["screening"] == "dropped").sum()
    assert sum(row["count"] for row in content["stages"]["drop_reasons"]) == dropped > 0
    (failure,) = content["stages"]["failure_reasons"]
    assert failure == {
        **{"stage": "f: kept", "kind": "load not reached", "count": 3},
        "example": "load not reached: 900 N of 2000 N",
    }
    assert notes_of(light_run)["training samples"] == "3 of 160 evaluations have no answer"


def change_figure(tree, about, quantity, statistic, value):
    for row in tree["figures"]:
        if (row["about"], row["quantity"], row["statistic"]) == (about, quantity, statistic):
            row["value"] = value


def test_coverage_is_judged_and_too_narrow_intervals_are_told(light_run):
    def edit(tree):
        for column, value in (("force_x_N", 0.95), ("force_z_N", 0.62), ("area_m2", 1.0)):
            change_figure(tree, "pose given", column, "coverage", value)

    change(light_run, "validation.json", edit)
    content = content_of_run(light_run)
    told = {
        name: verdict_of_coverage(
            value_of(content, "pose given", "medial", name, "coverage_percent")
        )
        for name in ("force_x", "force_z", "area")
    }
    assert told == {"force_x": "", "force_z": "low", "area": "high"}
    assert "medial ML force (62 %)" in notes_of(light_run)["predicted 95 % intervals"]


def test_page_is_closed_and_fetches_nothing(tiny_run, page):
    assert page.open == []
    html = (tiny_run / "report.html").read_text(encoding="utf-8")
    bare = re.sub(r"data:[a-z+/]+;base64,[A-Za-z0-9+/=]+", "data:", html)
    assert not re.search(r"https?://|@import|url\(", bare)
    for tag, attrs in page.tags:
        assert tag not in {"iframe", "object"}
        for name in ("src", "href", "srcset", "data"):
            if attrs.get(name):
                assert str(attrs[name]).startswith(("data:", "#"))


def test_numbers_of_the_tiles_are_those_of_the_json(page, content):
    for line in content["summary"]:
        if line.startswith(("Accuracy, ", "AP travel")):
            (figure,) = re.findall(r": ([0-9.]+ (?:%|um|mm)), ", line)
            assert figure.replace("um", "µm") in page.words
    rows = {row["column"]: row["rms_over_range_percent"] for row in content["gait"]["differences"]}
    worse = max(rows[f"{name}_peak_pressure_Pa"] for name in COMPARTMENTS)
    for value, unit in ((worse, "%"), (content["gait"]["speed"]["evaluation_ratio"], "×")):
        assert f"{number(value)} {unit}" in page.words


def test_remarks_stand_in_the_page_and_names_bring_no_markup(light_run):
    rest = {"level": "warning", "about": "[space.path]", "text": "slack where the femur rests"}

    def edit(tree):
        tree.update(remarks=[rest], name="<script>x</script>")

    change(light_run, "run.json", edit)
    content = write_report(light_run).content()
    assert content["remarks"] == [rest]
    assert content["overview"]["notes"][0] == {"where": rest["about"], "text": rest["text"]}
    text = (light_run / "report.html").read_text(encoding="utf-8")
    assert "<li>[space.path]: slack where the femur rests</li>" in text
    assert "<script>x" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (2613.4, "2\N{NARROW NO-BREAK SPACE}613"),
        (-38.04, "\N{MINUS SIGN}38.0"),
        (0.01234, "0.0123"),
        (-2.0e-12, "\N{MINUS SIGN}2.00×10⁻¹²"),
        (float("nan"), "–"),
        ("text", "text"),
    ],
)
def test_numbers_for_people(value, text):
    assert number(value) == text


#: Files that a resumed run makes again.
RUN_FILES = (
    *("run.json", "path.json", "validation.json", "simulation.json", "simulation.parquet"),
    *("pressure_maps.npz", "samples/first.parquet", "samples/heldout_prediction.parquet"),
)
#: One of each format.
TRUNCATED = ("run.json", "simulation.parquet", "pressure_maps.npz")
#: Edited documents: file, edit, and what the error says of it.
EDITED = (
    ("validation.json", lambda tree: tree.pop("figures"), "lacks 'figures'"),
    ("validation.json", lambda tree: tree["figures"].clear(), "expected the compartments medial"),
    (
        "validation.json",
        lambda tree: tree["figures"][0].update(quantity="width_m"),
        "quantity in figures.0: expected a quantity, found 'width_m'",
    ),
    ("path.json", lambda tree: tree["flexion_rad"].pop(), "coordinates_rad_m: expected 3 rows"),
    ("run.json", lambda tree: tree.update(seed="one"), "seed: expected an integer, found 'one'"),
    ("simulation.json", lambda tree: tree["statistics"].pop("original"), "statistics: expected"),
)


@pytest.mark.parametrize("name", RUN_FILES)
def test_missing_file_is_named_with_its_command(light_run, name):
    (light_run / name).unlink()
    words = rf"{re.escape(name)}: missing.*knee-contact run .*--resume"
    with pytest.raises(ReportError, match=words):
        write_report(light_run)


@pytest.mark.parametrize("name", TRUNCATED)
def test_truncated_file_is_named(light_run, name):
    whole = (light_run / name).read_bytes()
    (light_run / name).write_bytes(whole[: len(whole) // 2 - 3])
    with pytest.raises(ReportError, match=rf"{re.escape(name)}: damaged"):
        read_run(light_run)


@pytest.mark.parametrize(("name", "edit", "words"), EDITED)
def test_edited_document_is_named(light_run, name, edit, words):
    change(light_run, name, edit)
    with pytest.raises(ReportError, match=rf"{re.escape(name)}: damaged \(.*{words}"):
        read_run(light_run)


def test_lost_column_and_lost_model_are_named(light_run):
    path = light_run / "simulation.parquet"
    table = read_table(path)
    write_table(table[table["model"] == "original"], path)
    with pytest.raises(ReportError, match=r"simulation\.parquet.*surrogate model"):
        read_run(light_run)
    path = light_run / "samples" / "heldout_prediction.parquet"
    write_table(read_table(path).drop(columns="predicted_area_m2"), path)
    with pytest.raises(ReportError, match=r"heldout_prediction.*predicted_area_m2"):
        read_run(light_run)


def test_figures_that_do_not_exist_are_null(light_run):
    def edit(tree):
        tree["figures"] = [row for row in tree["figures"] if row["about"] != "load given"]
        change_figure(tree, "pose given", "force_z_N", "nrmse", None)

    change(light_run, "validation.json", edit)
    content = write_report(light_run).content()
    told = "\n".join(content["summary"])
    assert "Accuracy, pose given: – %, " in told
    assert "medial ML force" in told
    assert "height" not in told
    page = Page((light_run / "report.html").read_text(encoding="utf-8"))
    assert "Accuracy, load given" not in page.words
    assert "formulation does not take loads" in page.words


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        ({"surrogate": ["outside_flexion"]}, "outside the trained domain.*space.flexion_deg"),
        ({"original": ["outside_flexion"]}, "3 of 21 instants have flags"),
    ],
)
def test_flagged_instants_of_the_surrogate(light_run, kinds, told):
    flagged = {"original": [0, 21], "surrogate": [3, 21]}
    change(
        light_run, "simulation.json", lambda tree: tree.update(flagged=flagged, flag_kinds=kinds)
    )
    assert re.search(told, content_of_run(light_run)["gait"]["not_trusted"])
