"""`check` of a configuration with a design space."""

from __future__ import annotations

import designs_run
import pytest
import tomli_w

from pipeline.config.reading import dump_config
from pipeline.design_space import checkup
from pipeline.design_space.checkup import check_design_space, with_designs_checked
from pipeline.preparation.findings import Findings

FIGURES = {"evaluation_s": 1e-3, "preparation_s": 30.0}


def told(config, figures):
    findings = Findings()
    check_design_space(config, findings, figures)
    return findings, [each.text for each in findings.ordered()]


def test_designs_and_time_are_told():
    figures = dict(FIGURES)
    findings, texts = told(designs_run.config_of(), figures)
    assert not findings.has_errors
    assert any("infeasible" in text for text in texts)
    assert any(text.startswith("a run over 13 designs takes about") for text in texts)
    assert figures["run_s"] > 0.0


def test_designs_that_do_not_settle_are_told(monkeypatch):
    monkeypatch.setattr(checkup, "settled_path", lambda *_: (None, "no equilibrium"))
    _, texts = told(designs_run.config_of(), {})
    unsettled = [text for text in texts if text.endswith("does not settle: no equilibrium")]
    assert len(unsettled) == 2
    assert "dish_sagittal_radius_mm = " in unsettled[0]


def test_finite_elements_are_condensed_for_every_design(monkeypatch):
    monkeypatch.setattr(checkup, "settled_path", lambda *_: (object(), ""))
    config = designs_run.config_of(contact={"model": "finite_element", "finite_element": {}})
    _, texts = told(config, dict(FIGURES))
    # 13 designs of 30 s each, in one process.
    assert "13 designs are condensed, which takes about 6 min" in texts


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"parameter": [{"key": "knee.implant.dish_mm", "range": [1.0, 2.0]}], "constraints": []},
         "in place of dish_mm"),
        ({"constraints": ["dish_coronal_radius_mm > 99"]}, "0 of"),
    ],
)  # fmt: skip
def test_design_spaces_that_cannot_be_used_are_errors(space, words):
    findings, texts = told(designs_run.config_of(design_space=space), {})
    assert findings.has_errors
    assert any(words in text for text in texts)


def test_other_configurations_keep_their_findings(tmp_path, monkeypatch):
    single = tmp_path / "single.toml"
    single.write_text(tomli_w.dumps({"run": {"name": "single"}}), encoding="utf-8")
    notes = Findings()
    notes.note("run", "about 60 s")
    assert with_designs_checked(single, (), notes.ordered(), {}) == notes.ordered()
    designs = tmp_path / "designs.toml"
    designs.write_text(dump_config(designs_run.config_of()), encoding="utf-8")
    monkeypatch.setattr(checkup, "settled_path", lambda *_: (object(), ""))
    found = with_designs_checked(designs, (), notes.ordered(), dict(FIGURES))
    # The time of a single knee gives way to that of all designs.
    assert not any(each.about == "run" for each in found)
    assert any("a run over" in each.text for each in found)
    bad = Findings()
    bad.error("knee", "no")
    assert with_designs_checked(designs, (), bad.ordered(), {}) == bad.ordered()
