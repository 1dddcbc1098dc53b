"""The report: its figures, its page, and what it says of files that are not as they should be."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from pipeline.files import plain
from pipeline.reports.accuracy_document import Covered
from pipeline.reports.accuracy_pictures import parity_panel
from pipeline.reports.inputs import ReportError, read_run
from pipeline.reports.report import report_of, write_report
from pipeline.reports.units import given, kind_of, number
from pipeline.store.quantities import OutputGroup, axis_label, quantity_of
from pipeline.store.samples import read_table, write_table

pytestmark = pytest.mark.drawn

VOID = {"meta", "link", "img", "br", "input"}
MakeRun = Callable[[Path], Path]


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every tag is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.text))


@pytest.fixture(scope="module")
def folder(make_run: MakeRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


@pytest.fixture
def fresh(make_run: MakeRun, tmp_path: Path) -> Path:
    """Return a run directory that a test may spoil."""
    return make_run(tmp_path)


def stored(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def change(folder: Path, name: str, edit: Callable[[Any], None]) -> None:
    tree = stored(folder, name)
    edit(tree)
    (folder / name).write_text(json.dumps(tree), encoding="utf-8")


def content_of_run(folder: Path) -> dict[str, Any]:
    """Return the content of report.json without drawing the page."""
    return dict(plain(report_of(read_run(folder)).content()))


def leaves(tree: Any, head: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value, head)
    else:
        yield head, tree


@pytest.mark.usefixtures("undrawn")
def test_remarks_of_the_checks_stand_in_json_and_page(fresh: Path) -> None:
    rest = {"level": "warning", "about": "[space.path]", "text": "slack where the femur rests"}
    border = {"level": "note", "about": "[knee]", "text": "border at -14.7 mm lateral"}
    assert content_of_run(fresh)["remarks"] == []
    notes = content_of_run(fresh)["overview"]["notes"]
    change(fresh, "run.json", lambda tree: tree.update(remarks=[rest, border]))
    content = write_report(fresh).content()
    assert content["remarks"] == [rest, border]
    where = {"where": rest["about"], "text": rest["text"]}
    assert content["overview"]["notes"] == [where, *notes]
    page = (fresh / "report.html").read_text(encoding="utf-8")
    first = page[page.index("Read this first") :]
    assert "<li>[space.path]: slack where the femur rests</li>" in first[: first.index("</ul>")]
    listed = page[page.index('<ul id="remarks">') :]
    assert "<li>[knee]: border at -14.7 mm lateral</li>" in listed[: listed.index("</ul>")]


class TestFigures:
    """What stands in report.json."""

    def test_written_content_is_what_was_returned(
        self, folder: Path, content: dict[str, Any]
    ) -> None:
        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is no strict JSON")

        text = (folder / "report.json").read_text(encoding="utf-8")
        head = {"format": "knee-contact report", "version": 1}
        assert json.loads(text, parse_constant=refuse) == head | content
        assert not list(folder.glob("*.partial"))

    def test_every_fractional_number_has_its_unit_in_its_key(self, content: dict[str, Any]) -> None:
        reported = {k: v for k, v in content.items() if k != "provenance"}
        units = r"(_(N|Nmm|MPa|mm|mm2|um|us|s|deg|percent|ratio)|^(q2|poissons_ratio|f|m))$"
        # In this table keys are the models, under a key that has the unit.
        models = {"original", "surrogate"}
        bare = {
            key
            for key, value in leaves(reported)
            if isinstance(value, float) and key not in models and not re.search(units, key)
        }
        assert bare == set()

    @pytest.mark.parametrize("given_what", ["at_pose", "at_load", "at_pose_all"])
    @pytest.mark.parametrize("compartment", COMPARTMENTS)
    def test_errors_are_those_of_the_validation(
        self, folder: Path, content: dict[str, Any], compartment: str, given_what: str
    ) -> None:
        truth = stored(folder, "validation.json")["models"][0]["compartments"][compartment]
        shown = content["validation"]["compartments"][compartment][given_what]
        expected = {
            ("force_x_N", "force_x", "rmse_N", "rmse"): 1.0,
            ("moment_z_Nm", "moment_z", "mae_Nmm", "mae"): 1e3,
            ("area_m2", "area", "max_mm2", "maximum"): 1e6,
            ("peak_pressure_Pa", "peak_pressure", "rmse_MPa", "rmse"): 1e-6,
            ("cop_z_m", "cop_z", "rmse_mm", "rmse"): 1e3,
            ("force_y_N", "force_y", "nrmse_percent", "nrmse"): 100.0,
            ("force_y_N", "force_y", "q2", "q2"): 1.0,
        }
        if given_what == "at_load":
            expected["superior_m", "height", "rmse_um", "rmse"] = 1e6
            expected["force_x_over_axial", "force_x_over_axial", "max_percent", "maximum"] = 100.0
            expected["cop_distance_m", "cop_distance", "rmse_mm", "rmse"] = 1e3
        for (column, key, figure, source), factor in expected.items():
            wanted = factor * truth[given_what][column][source]
            assert_allclose(shown[key][figure], wanted, rtol=1e-12, atol=0.0)

    def test_headline_is_the_worst_of_six_loads_and_two_compartments(
        self, folder: Path, content: dict[str, Any]
    ) -> None:
        model = stored(folder, "validation.json")["models"][0]
        worst = content["overview"]["headline"]["worst_load"]
        all_of_them = [
            model["compartments"][name]["at_pose"][column]["nrmse"]
            for name in COMPARTMENTS
            for column in WRENCH_COLUMNS
        ]
        assert_allclose(worst["nrmse_percent"], 100.0 * max(all_of_them), rtol=1e-12, atol=0.0)
        assert_allclose(worst["nrmse_percent"], 100.0 * model["worst_load_nrmse"], rtol=1e-12)

    def test_headline_height_is_the_worse_compartment(
        self, folder: Path, content: dict[str, Any]
    ) -> None:
        parts = stored(folder, "validation.json")["models"][0]["compartments"]
        height = content["overview"]["headline"]["height_at_load"]
        rmse = {name: parts[name]["at_load"]["superior_m"]["rmse"] for name in COMPARTMENTS}
        assert_allclose(height["rmse_um"], 1e6 * max(rmse.values()), rtol=1e-12, atol=0.0)
        assert rmse[height["compartment"]] == max(rmse.values())

    def test_gait_headline(self, content: dict[str, Any]) -> None:
        head = content["overview"]["headline"]
        shares = [
            head[f"gait_{name}_rms_over_range_percent"]
            for name in ("medial_force", "ap_position", "peak_pressure")
        ]
        # 3.1 N of 1410 N, 0.021 mm of 5.9 mm, 0.34 MPa of 15 MPa (lateral, the worse one).
        wanted = [310.0 / 1410.0, 2.1 / 5.9, 34.0 / 15.0]
        assert_allclose(shares, wanted, rtol=1e-12, atol=0.0)

    def test_differences_keep_their_figures(self, folder: Path, content: dict[str, Any]) -> None:
        truth = stored(folder, "simulation.json")["differences"]
        for row, wanted in zip(content["gait"]["differences"], truth, strict=True):
            token = {"N·mm": "Nmm", "mm²": "mm2"}.get(wanted["unit"], wanted["unit"])
            for figure in ("rms_difference", "largest_difference", "range", "peak"):
                assert row[f"{figure}_{token}"] == wanted[figure]

    def test_speed(self, content: dict[str, Any]) -> None:
        head = content["overview"]["headline"]
        assert_allclose(head["evaluation_speed_ratio"], 830.0 / 7.0, rtol=1e-12, atol=0.0)
        assert_allclose(head["cycle_speed_ratio"], 6.1 / 0.25, rtol=1e-12, atol=0.0)

    def test_drop_and_failure_reasons_count_every_row(
        self, folder: Path, content: dict[str, Any]
    ) -> None:
        screened = read_table(folder / "samples" / "screened.parquet")
        reasons = screened.loc[screened["screening"] == "dropped", "drop_reason"]
        shown = {row["kind"]: row["count"] for row in content["stages"]["drop_reasons"]}
        ap = int(reasons.str.startswith("AP force").sum())
        assert shown == {"AP force over axial load": ap, "peak pressure": len(reasons) - ap}
        (failure,) = content["stages"]["failure_reasons"]
        assert failure == {
            "stage": "f: kept",
            "kind": "load not reached",
            "count": 3,
            "example": "load not reached: 900 N of 2000 N at an indentation of 4.00 mm",
        }

    def test_sample_counts(self, folder: Path, content: dict[str, Any]) -> None:
        assert content["stages"]["counts"] == stored(folder, "run.json")["counts"]
        head = content["overview"]["headline"]
        assert (head["candidates"], head["evaluated"], head["training_samples"]) == (400, 358, 347)
        assert head["held_out_samples"] == len(read_table(folder / "samples" / "heldout.parquet"))

    def test_path_in_degrees_and_mm(self, folder: Path, content: dict[str, Any]) -> None:
        path = stored(folder, "path.json")
        columns = np.array(path["coordinates_rad_m"])
        shown = content["stages"]["path"]
        assert_allclose(shown["flexion_deg"], np.degrees(path["flexion_rad"]), rtol=1e-12)
        assert_allclose(shown["rotation_deg"], np.degrees(columns[:, 1]), rtol=1e-12)
        assert_allclose(shown["superior_mm"], 1e3 * columns[:, 3], rtol=1e-12)

    def test_map_peaks(self, folder: Path, content: dict[str, Any]) -> None:
        with np.load(folder / "pressure_maps.npz") as maps:
            peaks = 1e-6 * maps["pressure_Pa"].max(axis=2)
        shown = content["gait"]["map_peak_pressure_MPa"]
        assert_allclose([shown["original"], shown["surrogate"]], peaks, rtol=1e-12)

    def test_comparison_has_every_model_and_the_first_surrogates(
        self, content: dict[str, Any]
    ) -> None:
        rows = content["validation"]["comparison"]
        shown = [(row["formulation"], row["family"], row["trained_on"][0]) for row in rows]
        assert shown == [
            ("inverted", "kriging", "g"),
            ("inverted", "poly_fourier", "g"),
            ("direct", "kriging", "g"),
            ("inverted", "kriging", "c"),
        ]
        assert rows[2]["height_rmse_at_load_um"] is None
        assert rows[3]["fit_s"] is None

    def test_infinity_of_the_configuration_is_kept_as_a_word(self, content: dict[str, Any]) -> None:
        assert content["provenance"]["configuration"]["contact"]["f"] == "inf"

    def test_notes_tell_flags_and_failures(self, content: dict[str, Any]) -> None:
        notes = {note["where"]: note["text"] for note in content["overview"]["notes"]}
        assert "outside the trained domain" in notes["gait, surrogate"]
        assert notes["training samples"] == "3 of 358 evaluations have no answer"

    def test_summary_says_the_headline(self, content: dict[str, Any]) -> None:
        text = "\n".join(content["summary"])
        head = content["overview"]["headline"]
        assert f"{number(head['worst_load']['nrmse_percent'])} %" in text
        assert f"{number(head['height_at_load']['rmse_um'])} um" in text
        assert "119 times" in text
        assert "24.4 times" in text
        assert "347 trained on" in text
        assert all("\n" not in line for line in content["summary"])


class TestPage:
    """What stands in report.html."""

    def test_every_tag_is_closed(self, page: Page) -> None:
        assert page.open == []
        assert [tag for tag, _ in page.tags].count("h2") == 8

    def test_sections_in_order(self, page: Page) -> None:
        sections = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
        assert sections == [
            *("overview", "pressure", "contact", "gait", "validation", "stages", "provenance"),
            "glossary",
        ]

    def test_nothing_is_fetched(self, html: str, page: Page) -> None:
        assert not re.search(r"https?://|//[a-z]|@import|url\(", strip_data(html))
        for tag, attrs in page.tags:
            assert tag not in {"iframe", "object"}
            for name in ("src", "href", "srcset", "data"):
                if attrs.get(name):
                    assert str(attrs[name]).startswith(("data:", "#"))

    def test_pictures_are_embedded_and_whole(self, page: Page) -> None:
        images = [attrs for tag, attrs in page.tags if tag == "img"]
        # The peak pressure, 2 of learning, 8 of parity, 8 of residuals, 2 of quantiles, 4 maps.
        assert len(images) == 25
        # 5 of the path, 4 inputs, 5 of motion, 11 of loads, 1 of load share.
        charts = [attrs for tag, attrs in page.tags if attrs.get("class") == "chart"]
        assert len(charts) == 26
        for attrs in images:
            assert attrs["alt"]
            head, _, body = str(attrs["src"]).partition(",")
            raw = base64.b64decode(body, validate=True)
            if head == "data:image/png;base64":
                assert raw.startswith(b"\x89PNG")
            else:
                assert head == "data:image/svg+xml;base64"
                assert ElementTree.fromstring(raw).tag.endswith("svg")

    def test_numbers_of_the_tiles_are_those_of_the_json(
        self, page: Page, content: dict[str, Any]
    ) -> None:
        head = content["overview"]["headline"]
        for value, unit in (
            (head["worst_load"]["nrmse_percent"], "%"),
            (head["height_at_load"]["rmse_um"], "µm"),
            (head["gait_peak_pressure_rms_over_range_percent"], "%"),
            (head["evaluation_speed_ratio"], "×"),
        ):
            assert f"{number(value)} {unit}" in page.words

    def test_error_table_row(self, page: Page, content: dict[str, Any]) -> None:
        row = content["validation"]["compartments"]["lateral"]["at_load"]["moment_y"]
        cells = [row[k] for k in ("rmse_Nmm", "mae_Nmm", "max_Nmm", "nrmse_percent")]
        assert "moment y [N·mm]" + "".join(map(number, cells)) in page.words

    def test_given_load_has_no_error_of_its_own(self, html: str) -> None:
        after = html.split("Errors where the load is given")[1].split("<h3>")[0]
        assert after.count("height [µm]") == 2
        assert "axial force [N]" not in after

    def test_centres_of_pressure_tell_their_fewer_samples(self, page: Page) -> None:
        assert "centre of pressure x [mm]52 samples" in page.words

    def test_configuration_is_there_to_be_opened(self, page: Page) -> None:
        assert "details" in [tag for tag, _ in page.tags]
        assert 'thickness_mm = "underside"' in page.words

    @pytest.mark.slow
    def test_written_again_it_is_the_same(self, folder: Path, html: str) -> None:
        before = dict(matplotlib.rcParams)
        write_report(folder)
        assert (folder / "report.html").read_text(encoding="utf-8") == html
        assert dict(matplotlib.rcParams) == before


def strip_data(html: str) -> str:
    """Return a page without the data of its pictures."""
    return re.sub(r"data:[a-z+/]+;base64,[A-Za-z0-9+/=]+", "data:", html)


RUN_FILES = (
    *("config.toml", "run.json", "path.json", "validation.json", "simulation.json"),
    *("simulation.parquet", "pressure_maps.npz", "samples/first.parquet"),
    *("samples/screened.parquet", "samples/kept.parquet", "samples/heldout.parquet"),
    "samples/heldout_prediction.parquet",
)


class TestTrust:
    """What is told of how far the surrogate can be trusted."""

    def test_learning_curve_is_that_of_the_rounds(self, content: dict[str, Any]) -> None:
        rows = content["validation"]["learning_curve"]
        assert [row["stage"] for row in rows] == ["c: round 1", "c: round 2", "g: final"]
        assert [row["samples"] for row in rows] == [150, 250, 347]
        assert_allclose([row["load_error_percent"] for row in rows], [2.1, 1.2, 0.9], rtol=1e-12)
        assert [row["height_error_um"] for row in rows] == [9.5, 6.1, 4.8]
        held_out = [row["held_out_load_error_percent"] for row in rows]
        assert_allclose(held_out[1:], [0.8, 0.6], rtol=1e-12)
        # A run of an earlier version knows none.
        assert held_out[0] is None
        assert [row["held_out_height_error_um"] for row in rows] == [None, 4.1, 3.2]

    @pytest.mark.usefixtures("undrawn")
    def test_learning_curve_of_held_out_errors_alone_has_a_picture(self, fresh: Path) -> None:
        """As of a formulation whose fit gives no cross-validated error of the load."""

        def edit(tree: Any) -> None:
            points = [{"samples": 150 + k, "held_out_load_error": 0.01} for k in range(2)]
            tree["learning_curve"] = points

        change(fresh, "validation.json", edit)
        write_report(fresh)
        page = (fresh / "report.html").read_text(encoding="utf-8")
        assert "Learning curve: axial load at a pose" in page
        assert "Learning curve: height at a load" not in page

    @pytest.mark.usefixtures("undrawn")
    def test_learning_curve_without_errors_has_no_picture(self, fresh: Path) -> None:
        """As of formulations that give no height at a load."""

        def edit(tree: Any) -> None:
            tree["learning_curve"] = [{"samples": 150}, {"samples": 347}]

        change(fresh, "validation.json", edit)
        rows = write_report(fresh).validation.learning_curve
        assert [row.load_error_percent for row in rows] == [None, None]
        assert "Learning curve: " not in (fresh / "report.html").read_text(encoding="utf-8")

    def test_cross_validation_in_units_for_people(
        self, folder: Path, content: dict[str, Any]
    ) -> None:
        truth = stored(folder, "validation.json")["models"][0]["compartments"]["lateral"]
        rows = content["validation"]["compartments"]["lateral"]["cross_validation"]
        shown = {row["key"]: row for row in rows}
        assert len(rows) == len(shown) == 12
        wanted = {
            "height": ("rmse_um", "height", 0, 1e6),
            "force_z_over_axial": ("rmse_percent", "ratios", 1, 100.0),
            "moment_x_over_axial": ("rmse_mm", "ratios", 2, 1e3),
            "area": ("rmse_mm2", "quantities", 0, 1e6),
            "peak_pressure": ("rmse_MPa", "quantities", 1, 1e-6),
            "cop_z": ("rmse_mm", "quantities", 5, 1e3),
        }
        for key, (figure, group, k, factor) in wanted.items():
            expected = factor * truth["cross_validation"][group]["rmse"][k]
            assert_allclose(shown[key][figure], expected, rtol=1e-12)
            covered = 100.0 * truth["cross_validation"][group]["coverage"][k]
            assert_allclose(shown[key]["coverage"]["covered_percent"], covered, rtol=1e-12)
        assert shown["cop_z"]["coverage"]["verdict"] == "low"
        assert shown["height"]["kind"] == "leave-one-out"

    @pytest.mark.parametrize(
        ("group", "units"),
        [
            ("height+ratios+quantities", ["µm", "%", "%", "mm", "mm", "mm", "mm²"]),
            ("loads", ["N", "N", "N", "N·mm", "N·mm", "N·mm", "mm²"]),
            ("ratios, 5 folds", ["%", "%", "mm", "mm", "mm"]),
        ],
    )
    def test_outputs_of_every_formulation_have_units(self, group: str, units: list[str]) -> None:
        shown = OutputGroup.read(group).quantities
        assert [quantity.unit_for_people for quantity in shown][: len(units)] == units
        assert len({quantity.name for quantity in shown}) == len(shown)

    @pytest.mark.parametrize(
        ("value", "verdict"),
        [(None, ""), (0.899, "low"), (0.9, ""), (0.95, ""), (0.99, ""), (0.991, "high")],
    )
    def test_coverage_is_judged(self, value: float | None, verdict: str) -> None:
        assert Covered.of(value).verdict == verdict

    def test_coverage_table(self, content: dict[str, Any], page: Page) -> None:
        rows = {row["key"]: row for row in content["validation"]["coverage"]}
        assert rows["force_x"]["medial"] == {"covered_percent": 95.0, "verdict": ""}
        assert rows["area"]["lateral"] == {"covered_percent": 100.0, "verdict": "high"}
        assert len(rows) == 12
        flagged = [attrs for tag, attrs in page.tags if attrs.get("class") == "flagged"]
        # The area of both compartments, and the least covered outputs of cross-validation.
        assert len(flagged) > 2

    def test_too_narrow_intervals_are_told_first(self, fresh: Path) -> None:
        def edit(tree: Any) -> None:
            tree["models"][0]["compartments"]["medial"]["coverage"]["force_z_N"] = 0.62

        change(fresh, "validation.json", edit)
        notes = {n["where"]: n["text"] for n in content_of_run(fresh)["overview"]["notes"]}
        assert notes["predicted 95 % intervals"].endswith("medial ML force (62 %)")

    @pytest.mark.usefixtures("undrawn")
    def test_formulation_without_intervals(self, fresh: Path) -> None:
        def edit(tree: Any) -> None:
            for part in tree["models"][0]["compartments"].values():
                part["coverage"] = dict.fromkeys(LOAD_COLUMNS)
                part["standardised"] = {"normal": [], "held_out": []}
                part["cross_validation"] = {}
                part["worst"][0]["standard_error_N"] = None

        change(fresh, "validation.json", edit)
        assert write_report(fresh).overview.notes
        text = (fresh / "report.html").read_text(encoding="utf-8")
        assert "predicts no standard errors" in text
        assert "Not available." in text
        assert "Quantiles of standardised" not in text

    def test_quantiles_of_both_compartments(self, content: dict[str, Any], page: Page) -> None:
        found = content["validation"]["compartments"]["medial"]["quantiles"]
        assert_allclose(found["held_out_ratio"], 1.2 * np.array(found["normal_ratio"]), rtol=1e-12)
        alt = [attrs["alt"] for tag, attrs in page.tags if tag == "img"]
        for name in COMPARTMENTS:
            assert f"Quantiles of standardised residuals, {name}" in alt

    def test_errors_that_users_judge_by(self, folder: Path, content: dict[str, Any]) -> None:
        truth = stored(folder, "validation.json")["models"][0]["compartments"]["medial"]["at_load"]
        rows = content["validation"]["judged_at_load"]
        shown = [row[f"medial_{token}"] for row, token in zip(
            rows, ("um", "percent", "percent", "mm", "mm"), strict=True
        )]  # fmt: skip
        wanted = [
            1e6 * truth["superior_m"]["rmse"],
            100.0 * truth["force_x_over_axial"]["rmse"],
            100.0 * truth["force_z_over_axial"]["rmse"],
            1e3 * truth["cop_distance_m"]["rmse"],
            1e3 * truth["cop_distance_m"]["maximum"],
        ]
        assert_allclose(shown, wanted, rtol=1e-12)

    def test_worst_cases_tell_error_and_reason(self, page: Page) -> None:
        assert "−38.015.3near the border in rotation" in page.words

    def test_stage_e_is_told_as_it_works(self, page: Page) -> None:
        assert "less two standard errors, is beyond a bound by more than the margin of 10 %" in (
            page.words
        )
        assert "Stages c to f are repeated at most 3 times, for 180 samples" in page.words
        assert "left bythe budget" in page.words

    def test_families_have_names_for_people(self, page: Page) -> None:
        assert "Poly-Fourier" in page.words
        assert "poly_fourier" not in page.words.split("Provenance")[0]


def medial(tree: Any) -> Any:
    """Return the accuracy of the main surrogate in the medial compartment."""
    return tree["models"][0]["compartments"]["medial"]


#: Edited documents: file, edit, and what the error says of it.
EDITED = (
    ("validation.json", lambda tree: medial(tree).pop("worst"), "lacks 'worst' in models.0"),
    ("validation.json", lambda tree: medial(tree)["standardised"]["normal"].pop(), "standardised"),
    ("validation.json", lambda tree: tree["models"][0].pop("family"), "lacks 'family'"),
    (
        "validation.json",
        lambda tree: medial(tree)["at_load"]["superior_m"].update(rmse=None),
        "superior_m in at_load: expected its rmse and maximum, found null",
    ),
    ("path.json", lambda tree: tree["flexion_rad"].pop(), "coordinates_rad_m: expected 7 rows"),
    ("run.json", lambda tree: tree.update(seed="one"), "seed: expected an integer, found 'one'"),
    ("run.json", lambda tree: tree["counts"].pop("total"), "counts: lacks 'total'"),
    ("run.json", lambda tree: tree.update(triangles=None), "expected a run of a model"),
    ("simulation.json", lambda tree: tree["statistics"].pop("original"), "statistics: expected"),
    ("simulation.json", lambda tree: tree.update(speed=None), "speed: expected times"),
    ("simulation.json", lambda tree: tree.update(differences=[]), "differences: expected those"),
)


class TestBadInput:
    """Files that are missing or damaged are named, with what to do."""

    @pytest.mark.parametrize("name", RUN_FILES)
    def test_missing_file(self, fresh: Path, name: str) -> None:
        (fresh / name).unlink()
        with pytest.raises(ReportError, match=f"{re.escape(name)}: missing.*knee-contact"):
            write_report(fresh)
        assert not (fresh / "report.html").exists()

    @pytest.mark.parametrize("name", RUN_FILES)
    def test_truncated_file(self, fresh: Path, name: str) -> None:
        whole = (fresh / name).read_bytes()
        (fresh / name).write_bytes(whole[: len(whole) // 2 - 3])
        with pytest.raises(
            ReportError, match=f"{re.escape(name)}: damaged.*{re.escape(str(fresh))}"
        ):
            write_report(fresh)
        assert not (fresh / "report.html").exists()

    @pytest.mark.parametrize(
        ("name", "remedy"),
        [("simulation.parquet", "simulate"), ("validation.json", r"run \S+/config\.toml --out")],
    )
    def test_remedy_is_the_command_that_makes_the_file(
        self, fresh: Path, name: str, remedy: str
    ) -> None:
        (fresh / name).unlink()
        with pytest.raises(ReportError, match=f"knee-contact {remedy}"):
            write_report(fresh)

    @pytest.mark.parametrize(("name", "edit", "words"), EDITED)
    def test_edited_document(
        self, fresh: Path, name: str, edit: Callable[[Any], Any], words: str
    ) -> None:
        change(fresh, name, edit)
        with pytest.raises(ReportError, match=rf"{re.escape(name)}: damaged \(.*{words}"):
            read_run(fresh)

    def test_lost_section_is_named(self, fresh: Path) -> None:
        path = fresh / "config.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("[space]", "[place]"), encoding="utf-8")
        with pytest.raises(ReportError, match=r"config\.toml: damaged \(lacks space\)"):
            write_report(fresh)

    def test_lost_column_is_named(self, fresh: Path) -> None:
        path = fresh / "samples" / "heldout_prediction.parquet"
        write_table(read_table(path).drop(columns="predicted_area_m2"), path)
        with pytest.raises(ReportError, match=r"heldout_prediction.*predicted_area_m2"):
            write_report(fresh)

    def test_cycle_of_one_model_only(self, fresh: Path) -> None:
        path = fresh / "simulation.parquet"
        table = read_table(path)
        write_table(table[table["model"] == "original"], path)
        with pytest.raises(ReportError, match=r"simulation\.parquet.*surrogate model"):
            write_report(fresh)

    def test_pressure_maps_of_another_mesh(self, fresh: Path) -> None:
        path = fresh / "pressure_maps.npz"
        with np.load(path) as maps:
            arrays = dict(maps)
        np.savez(path, **{**arrays, "faces": arrays["faces"][:-1]})
        with pytest.raises(ReportError, match=r"pressure_maps\.npz.*shape"):
            write_report(fresh)


class TestUndefinedValues:
    """Figures that do not exist are dashes on the page and null in the JSON."""

    def test_undefined_nrmse(self, fresh: Path) -> None:
        def edit(tree: Any) -> None:
            tree["models"][0]["compartments"]["lateral"]["at_pose"]["force_z_N"]["nrmse"] = None

        change(fresh, "validation.json", edit)
        worst = content_of_run(fresh)["overview"]["headline"]["worst_load"]
        assert worst == {"nrmse_percent": None, "compartment": "lateral", "load": "ML force"}

    def test_main_surrogate_that_takes_no_load(self, fresh: Path) -> None:
        def edit(tree: Any) -> None:
            tree["models"].insert(0, tree["models"].pop(2))

        change(fresh, "validation.json", edit)
        content = content_of_run(fresh)
        assert content["overview"]["headline"]["height_at_load"] is None
        assert content["validation"]["compartments"]["medial"]["at_load"] is None
        assert " um" not in "".join(content["summary"])

    @pytest.mark.parametrize(
        ("kinds", "told"),
        [
            ({"surrogate": ["outside_flexion"]}, "outside the trained domain.*space.flexion_deg"),
            ({"original": ["outside_flexion"]}, "3 of 41 instants have flags"),
        ],
    )
    def test_flagged_instants_of_the_surrogate(self, fresh: Path, kinds: Any, told: str) -> None:
        flagged = {"original": [0, 41], "surrogate": [3, 41]}
        change(
            fresh, "simulation.json", lambda tree: tree.update(flagged=flagged, flag_kinds=kinds)
        )
        assert re.search(told, content_of_run(fresh)["gait"]["not_trusted"])

    @pytest.mark.usefixtures("undrawn")
    def test_no_failure_no_flag_no_centre_of_pressure(self, fresh: Path) -> None:
        def whole(tree: Any) -> None:
            for row in tree["counts"].values():
                row.update(evaluated_failed=0)

        change(fresh, "run.json", whole)
        change(fresh, "simulation.json", lambda tree: tree.update(flags={}))
        path = fresh / "samples" / "kept.parquet"
        write_table(read_table(path).assign(status="ok", reason=""), path)
        centres = [c for c in read_table(fresh / "simulation.parquet").columns if "_cop_" in c]
        path = fresh / "simulation.parquet"
        write_table(read_table(path).assign(**dict.fromkeys(centres, np.nan)), path)
        change(fresh, "run.json", lambda tree: tree.update(name="<script>x</script>"))
        assert write_report(fresh).overview.notes == []
        text = (fresh / "report.html").read_text(encoding="utf-8")
        assert "Read this first" not in text
        assert "No evaluation failed." in text
        # What a user names cannot bring markup into the page.
        assert "<script>x" not in text
        assert "&lt;script&gt;" in text

    def test_meshes_are_named_without_their_folder(self, fresh: Path) -> None:
        path = fresh / "config.toml"
        text = path.read_text(encoding="utf-8").replace('"builtin"', '"meshes"')
        text = text.replace('thickness_mm = "underside"', "thickness_mm = 8.0")
        bodies = '[knee.femur]\nfile = "/a/b/femur.stl"\n[knee.tibia]\nfile = "/a/b/tibia.stl"\n'
        path.write_text(text + bodies, encoding="utf-8")
        knee = content_of_run(fresh)["overview"]["knee"]
        assert (knee["femur"], knee["tibia"]) == ("femur.stl", "tibia.stl")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("AP force over axial load 0.41 above 0.35", "AP force over axial load"),
        ("axial load -3 N below 2 N", "axial load"),
        ("the layer is pressed through (strain 1.02)", "the layer is pressed through"),
        ("peak pressure inf MPa above 60 MPa", "peak pressure"),
        ("no numbers here", "no numbers here"),
        ("12 things", "12 things"),
    ],
)
def test_kind_of_a_reason(reason: str, kind: str) -> None:
    assert kind_of(reason) == kind


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (2613.4, "2\N{NARROW NO-BREAK SPACE}613"),
        (-38.04, "\N{MINUS SIGN}38.0"),
        (0.01234, "0.0123"),
        (1.5e-9, "1.50×10⁻⁹"),
        (-2.0e-12, "\N{MINUS SIGN}2.00×10⁻¹²"),
        (float("nan"), "–"),
        (12000, "12\N{NARROW NO-BREAK SPACE}000"),
        ("text", "text"),
    ],
)
def test_numbers_for_people(value: Any, text: str) -> None:
    assert number(value) == text


def test_given_numbers_are_not_filled_up() -> None:
    assert [given(0.46), given(3000.0), given("inf"), given(None)] == [
        "0.46",
        "3\N{NARROW NO-BREAK SPACE}000",
        "∞",
        "–",
    ]


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("anterior_m", "anterior position [mm]"),
        ("lateral_m", "lateral position [mm]"),
        ("total_moment_x_Nm", "moment x [N·mm]"),
        ("medial_force_y_N", "medial axial force [N]"),
        ("input_internal_torque_Nm", "internal torque [N·mm]"),
    ],
)
def test_labels_of_columns(column: str, label: str) -> None:
    assert axis_label(quantity_of(column)) == label


def test_plain_makes_strict_json() -> None:
    tree = {"a": np.float64("nan"), "b": [np.int64(3), np.array([1.0, np.inf])], "c": (True, "x")}
    assert plain(tree) == {"a": None, "b": [3, [1.0, None]], "c": [True, "x"]}


def test_parity_picture_leaves_out_what_is_not_known() -> None:
    truth = {"medial": np.array([1.0, 2.0]), "lateral": np.array([1.5, np.nan])}
    drawn = parity_panel("parity", truth, truth, "AP force [N]")
    assert drawn.uri.startswith("data:image/svg+xml;base64,")
    nothing = {name: np.array([]) for name in COMPARTMENTS}
    assert parity_panel("parity", nothing, nothing, "AP force [N]").uri != drawn.uri


def test_predictions_have_a_row_without_a_centre(folder: Path) -> None:
    table: pd.DataFrame = read_table(folder / "samples" / "heldout_prediction.parquet")
    assert table[[f"predicted_{c}" for c in LOAD_COLUMNS]].isna().to_numpy().any()
