"""The figures of the knee at the top of the report, against the cycle that they are made of."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.loads import COMPARTMENTS
from pipeline.reports.glossary import GLOSSARY, glossary_of, term
from pipeline.reports.inputs import read_run
from pipeline.reports.knee_figures import WEARS_FROM_MPa, knee_of, mean_over_cycle, wears
from pipeline.reports.overview_picture import peak_pressure
from pipeline.reports.report import report_of, write_report
from pipeline.store.samples import read_table, write_table


@pytest.fixture(scope="module")
def folder(make_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def knee(folder: Path) -> dict[str, Any]:
    found = knee_of(read_run(folder))
    assert found is not None
    return found.content()


@pytest.fixture(scope="module")
def cycle(folder: Path) -> Any:
    table = read_table(folder / "simulation.parquet")
    return table[table["model"] == "original"]


def test_figures_are_those_of_the_original_cycle(knee: dict[str, Any], cycle: Any) -> None:
    assert knee["model"] == "original"
    for name in COMPARTMENTS:
        row = cycle.loc[cycle[f"{name}_peak_pressure_Pa"].idxmax()]
        wanted = 1e-6 * row[f"{name}_peak_pressure_Pa"]
        assert_allclose(knee[f"{name}_peak_pressure_MPa"], wanted, rtol=1e-12)
        assert knee[f"{name}_peak_pressure_at_percent"] == row["gait_percent"]
    assert_allclose(knee["largest_area_mm2"], 1e6 * cycle["total_area_m2"].max(), rtol=1e-12)
    assert_allclose(knee["anterior_range_mm"], 1e3 * np.ptp(cycle["anterior_m"]), rtol=1e-12)
    assert_allclose(
        knee["rotation_range_deg"], np.degrees(np.ptp(cycle["rotation_rad"])), rtol=1e-12
    )
    assert_allclose(
        knee["rotation_largest_deg"] - knee["rotation_least_deg"], knee["rotation_range_deg"]
    )


def test_medial_share_is_that_of_the_impulse(knee: dict[str, Any], cycle: Any) -> None:
    """A sum over the instants, weighted by the trapezoids, is the slow oracle."""
    at = cycle["gait_percent"].to_numpy()
    weight = np.zeros(len(at))
    for k in range(len(at) - 1):
        weight[k] += 0.5 * (at[k + 1] - at[k])
        weight[k + 1] += 0.5 * (at[k + 1] - at[k])
    medial, lateral = ((weight * cycle[f"{n}_force_y_N"]).sum() for n in COMPARTMENTS)
    assert_allclose(knee["medial_share_percent"], 100.0 * medial / (medial + lateral), rtol=1e-12)
    # In stance the medial compartment of the synthetic cycle bears 58 %.
    assert_allclose(knee["medial_share_at_largest_load_percent"], 58.0, rtol=1e-12)


def test_mean_does_not_depend_on_the_spacing_of_the_instants() -> None:
    at = np.array([0.0, 1.0, 50.0, 100.0])
    assert_allclose(mean_over_cycle(3.0 + 0.02 * at, at), 4.0, rtol=1e-12)


def test_unknown_quantities_are_left_out(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "run")
    path = copy / "simulation.parquet"
    table = read_table(path)
    unknown = [c for c in table.columns if c.endswith(("area_m2", "peak_pressure_Pa"))]
    write_table(table.assign(**dict.fromkeys(unknown, np.nan)), path)
    found = knee_of(read_run(copy))
    assert found is not None
    assert found.medial_peak_pressure_MPa is None
    assert found.largest_area_mm2 is found.mean_area_mm2 is None
    assert found.anterior_range_mm > 0.0


@pytest.mark.parametrize(
    ("modulus", "worn"),
    [(0.999 * WEARS_FROM_MPa, False), (WEARS_FROM_MPa, True), (463.0, True), (10.0, False)],
)
def test_polyethylene_wears_and_cartilage_does_not(modulus: float, *, worn: bool) -> None:
    assert wears({"youngs_modulus_MPa": modulus}) == worn


def test_run_of_an_implant_has_wear(tiny_run: Path) -> None:
    found = report_of(read_run(tiny_run)).content()
    wear = found["gait"]["wear"]["per_million_cycles"]["original"]["total_mm3"]
    assert_allclose(found["knee"]["wear_mm3_per_million_cycles"], wear, rtol=1e-12)
    assert found["knee"]["wear_note"] is None
    assert any("mm3 per million cycles" in line for line in found["summary"])


def test_run_of_cartilage_has_none_and_says_why(run_copy: Path) -> None:
    # The same run, as if its springs had been those of cartilage.
    (run_copy / "made_with.json").unlink()
    path = run_copy / "config.toml"
    text = path.read_text(encoding="utf-8")
    assert "youngs_modulus_MPa = 463.0" in text
    path.write_text(
        text.replace("youngs_modulus_MPa = 463.0", "youngs_modulus_MPa = 10.0"), encoding="utf-8"
    )
    found = write_report(run_copy)
    assert found.gait.wear is None
    assert found.knee.wear_mm3_per_million_cycles is None
    assert "cartilage" in found.knee.wear_note
    assert not any("wear" in line for line in found.summary)
    page = (run_copy / "report.html").read_text(encoding="utf-8")
    assert "Wear per million cycles" not in page
    assert found.knee.wear_note.split(":")[0] in page


def test_picture_is_at_the_highest_peak_of_the_frames(tiny_run: Path) -> None:
    files = read_run(tiny_run)
    found = peak_pressure(files)
    assert found is not None
    assert files.frames is not None
    k = int(files.frames.peak_Pa[0].argmax())
    assert found.percent == files.frames.gait_percent[k]
    assert_allclose(found.peaks_MPa.max(), 1e-6 * files.frames.peak_Pa[0, k], rtol=1e-9)
    assert files.fields is not None
    assert_allclose(found.pressure, 1e-6 * files.fields.values["original"][k], rtol=1e-12)


def test_date_and_digests_come_from_the_run(tiny_run: Path) -> None:
    stored = json.loads((tiny_run / "run.json").read_text(encoding="utf-8"))
    provenance = report_of(read_run(tiny_run)).provenance
    assert provenance.date == stored["date"]
    assert stored["date"].endswith("+00:00")
    assert provenance.sha256 == stored["hashes"]


def test_terms_have_their_line_of_the_glossary() -> None:
    assert term("Kriging") == f'<abbr title="{GLOSSARY["Kriging"]}">Kriging</abbr>'
    # Two terms in one entry.
    assert "medial-lateral" in term("ML")
    assert all(len(text) < 120 for text in GLOSSARY.values())
    with pytest.raises(KeyError):
        term("gobbledygook")


def test_glossary_has_only_terms_of_the_page(tiny_run: Path) -> None:
    page = (tiny_run / "report.html").read_text(encoding="utf-8")
    before = page.partition('<section id="glossary">')[0]
    words = unescape(re.sub(r"<[^>]+>|data:[^\"]+", " ", before)).lower()
    shown = glossary_of("elastic_foundation")
    assert [name for name in shown if name.split(", ")[0].lower() not in words] == []
    assert set(GLOSSARY) - set(shown) == {"finite elements", "node spacing"}
    assert list(GLOSSARY) == sorted(GLOSSARY, key=str.lower)
