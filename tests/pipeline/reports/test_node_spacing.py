"""The node spacing of finite elements in the report: figures, page, line of the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.reports.inputs import ReportError
from pipeline.reports.node_spacing import spacing_lines, spacing_of
from pipeline.reports.report import write_report
from pipeline.store.run_documents import NodeSpacing

ERRORS = {
    **{"force": 0.003, "peak_pressure": 0.041, "area": 0.005, "centre": 2e-5},
    **{"poses": 26, "unresolved": 3},
}
LINE = (
    "node spacing 0.5 mm: force +-0.30 %, peak pressure +-4.1 %, area +-0.50 %, "
    "centre +-0.020 mm (from 1 mm); peak not resolved at 3 of 26 poses"
)


@pytest.fixture
def report(
    make_run: Callable[[Path], Path], tmp_path: Path
) -> Callable[..., tuple[dict[str, Any], str]]:
    """Return a function that reports a run with an entry on the node spacing."""
    folder = make_run(tmp_path)
    path = folder / "simulation.json"
    before = json.loads(path.read_text(encoding="utf-8"))

    def write(**entry: Any) -> tuple[dict[str, Any], str]:
        path.write_text(json.dumps(before | entry), encoding="utf-8")
        content = write_report(folder).content()
        return content, (folder / "report.html").read_text(encoding="utf-8")

    return write


def entry(errors: dict[str, Any] | None = ERRORS, reason: str = "") -> dict[str, Any]:
    return {"spacing_m": 5e-4, "coarser_m": 1e-3, "errors": errors, "reason": reason}


def test_errors_stand_in_json_page_terminal_and_verdict(report: Any) -> None:
    content, page = report(node_spacing=entry())
    found = content["gait"]["node_spacing"]
    assert found["spacing_mm"] == 0.5
    assert found["errors"]["peak_pressure_percent"] == pytest.approx(4.1, rel=1e-12)
    assert found["errors"]["centre_mm"] == pytest.approx(0.02, rel=1e-12)
    assert LINE in content["summary"]
    table = page.partition('id="node-spacing"')[2].partition("</table>")[0]
    assert [cell.partition("</td>")[0] for cell in table.split("<td>")[1:]] == [
        *("0.30", "4.1", "0.50", "0.020")
    ]
    assert "At 3 of these poses the contact reaches a rim" in page
    reason = "the node spacing limits the peak pressure"
    pressure = content["verdict"]["parts"][1]
    assert [text.partition(",")[0] for text in pressure["reasons"]].count(reason) == 1


def test_runs_of_springs_and_of_earlier_versions_have_no_section(report: Any) -> None:
    for changes in ({}, {"node_spacing": None}):
        content, page = report(**changes)
        assert content["gait"]["node_spacing"] is None
        assert not any(line.startswith("node spacing") for line in content["summary"])
        assert "Node spacing of the original model" not in page
        assert "error of the node spacing" not in page


def test_reason_is_told_where_the_error_is_not_known(report: Any) -> None:
    content, page = report(node_spacing=entry(None, "with nodes 6 mm apart, too few nodes"))
    expected = "node spacing 0.5 mm: error not known: with nodes 6 mm apart, too few nodes"
    assert expected in content["summary"]
    assert "is not known: with nodes 6 mm apart, too few nodes." in page


def test_line_is_ascii_and_names_resolved_peaks_only_where_some_are_not() -> None:
    stored = NodeSpacing.model_validate(entry(ERRORS | {"unresolved": 0}))
    (line,) = spacing_lines(spacing_of(stored))
    assert line == LINE.partition(";")[0]
    assert line.isascii()


def test_damaged_entry_is_named(report: Any) -> None:
    with pytest.raises(ReportError, match=r"simulation.json: damaged \(lacks 'area'"):
        report(node_spacing=entry({k: v for k, v in ERRORS.items() if k != "area"}))
