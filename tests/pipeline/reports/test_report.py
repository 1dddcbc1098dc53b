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

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline.files import plain
from pipeline.reports.inputs import ReportError, read_run
from pipeline.reports.report import report_of, write_report
from pipeline.reports.units import number
from pipeline.store.quantities import OutputGroup
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

    def test_gait_headline(self, content: dict[str, Any]) -> None:
        head = content["overview"]["headline"]
        shares = [
            head[f"gait_{name}_rms_over_range_percent"]
            for name in ("medial_force", "ap_position", "peak_pressure")
        ]
        # 3.1 N of 1410 N, 0.021 mm of 5.9 mm, 0.34 MPa of 15 MPa (lateral, the worse one).
        wanted = [310.0 / 1410.0, 2.1 / 5.9, 34.0 / 15.0]
        assert_allclose(shares, wanted, rtol=1e-12, atol=0.0)

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

    def test_notes_tell_flags_and_failures(self, content: dict[str, Any]) -> None:
        notes = {note["where"]: note["text"] for note in content["overview"]["notes"]}
        assert "outside the trained domain" in notes["gait, surrogate"]
        assert notes["training samples"] == "3 of 358 evaluations have no answer"


class TestPage:
    """What stands in report.html."""

    def test_every_tag_is_closed(self, page: Page) -> None:
        assert page.open == []
        assert [tag for tag, _ in page.tags].count("h2") == 8

    def test_nothing_is_fetched(self, html: str, page: Page) -> None:
        assert not re.search(r"https?://|//[a-z]|@import|url\(", strip_data(html))
        for tag, attrs in page.tags:
            assert tag not in {"iframe", "object"}
            for name in ("src", "href", "srcset", "data"):
                if attrs.get(name):
                    assert str(attrs[name]).startswith(("data:", "#"))

    def test_pictures_are_embedded_and_whole(self, page: Page) -> None:
        images = [attrs for tag, attrs in page.tags if tag == "img"]
        assert len(images) == 25
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


def strip_data(html: str) -> str:
    """Return a page without the data of its pictures."""
    return re.sub(r"data:[a-z+/]+;base64,[A-Za-z0-9+/=]+", "data:", html)


RUN_FILES = (
    *("config.toml", "run.json", "path.json", "validation.json", "simulation.json"),
    *("simulation.parquet", "pressure_maps.npz", "samples/first.parquet"),
    *("samples/screened.parquet", "samples/kept.parquet", "samples/heldout.parquet"),
    "samples/heldout_prediction.parquet",
)
#: One of each format.
TRUNCATED = ("config.toml", "run.json", "simulation.parquet", "pressure_maps.npz")


class TestTrust:
    """What is told of how far the surrogate can be trusted."""

    def test_learning_curve_is_that_of_the_rounds(self, content: dict[str, Any]) -> None:
        rows = content["validation"]["learning_curve"]
        assert [row["samples"] for row in rows] == [150, 250, 347]
        assert_allclose([row["load_error_percent"] for row in rows], [2.1, 1.2, 0.9], rtol=1e-12)
        assert [row["held_out_height_error_um"] for row in rows] == [None, 4.1, 3.2]

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


def medial(tree: Any) -> Any:
    """Return the accuracy of the main surrogate in the medial compartment."""
    return tree["models"][0]["compartments"]["medial"]


#: Edited documents: file, edit, and what the error says of it.
EDITED = (
    ("validation.json", lambda tree: medial(tree).pop("worst"), "lacks 'worst' in models.0"),
    (
        "validation.json",
        lambda tree: medial(tree)["at_load"]["superior_m"].update(rmse=None),
        "superior_m in at_load: expected its rmse and maximum, found null",
    ),
    ("path.json", lambda tree: tree["flexion_rad"].pop(), "coordinates_rad_m: expected 7 rows"),
    ("run.json", lambda tree: tree.update(seed="one"), "seed: expected an integer, found 'one'"),
    ("simulation.json", lambda tree: tree["statistics"].pop("original"), "statistics: expected"),
)


class TestBadInput:
    """Files that are missing or damaged are named, with what to do."""

    @pytest.mark.parametrize("name", RUN_FILES)
    def test_missing_file(self, fresh: Path, name: str) -> None:
        (fresh / name).unlink()
        with pytest.raises(ReportError, match=f"{re.escape(name)}: missing.*knee-contact"):
            write_report(fresh)
        assert not (fresh / "report.html").exists()

    @pytest.mark.parametrize("name", TRUNCATED)
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
    def test_what_a_user_names_brings_no_markup_into_the_page(self, fresh: Path) -> None:
        change(fresh, "run.json", lambda tree: tree.update(name="<script>x</script>"))
        write_report(fresh)
        text = (fresh / "report.html").read_text(encoding="utf-8")
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
        (1.5e-9, "1.50×10⁻⁹"),
        (-2.0e-12, "\N{MINUS SIGN}2.00×10⁻¹²"),
        (float("nan"), "–"),
        (12000, "12\N{NARROW NO-BREAK SPACE}000"),
        ("text", "text"),
    ],
)
def test_numbers_for_people(value: Any, text: str) -> None:
    assert number(value) == text


def test_plain_makes_strict_json() -> None:
    tree = {"a": np.float64("nan"), "b": [np.int64(3), np.array([1.0, np.inf])], "c": (True, "x")}
    assert plain(tree) == {"a": None, "b": [3, [1.0, None]], "c": [True, "x"]}
