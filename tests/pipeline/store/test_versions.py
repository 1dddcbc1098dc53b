"""Versions of the JSON documents: written first, and refused when another."""

from __future__ import annotations

import json

import pytest

from pipeline.files import DOCUMENT_VERSION, check_version, write_document
from pipeline.reports.inputs import ReportError
from pipeline.reports.report import write_report

DOCUMENTS = ("run", "made_with", "path", "validation", "simulation", "combinations", "report")


def test_document_is_headed_by_format_and_version(tmp_path):
    path = tmp_path / "walk.json"
    write_document(path, {"seconds": 1.5, "version": 7, "format": "of before"})
    content = json.loads(path.read_text(encoding="utf-8"))
    assert list(content) == ["format", "version", "seconds"]
    assert (content["format"], content["version"]) == ("knee-contact walk", DOCUMENT_VERSION)


@pytest.mark.parametrize("content", [{}, {"version": DOCUMENT_VERSION}])
def test_documents_of_this_version_are_read(content):
    check_version(content)


@pytest.mark.parametrize("version", [0, DOCUMENT_VERSION + 1, "1", None, 1.5])
def test_other_versions_are_refused(version):
    with pytest.raises(ValueError, match=rf"expected version 1, found {version!r}; read"):
        check_version({"version": version})


def test_documents_of_a_run_are_versioned(tiny_run):
    for name in DOCUMENTS:
        content = json.loads((tiny_run / f"{name}.json").read_text(encoding="utf-8"))
        assert content["format"] == f"knee-contact {name}"
        assert content["version"] == DOCUMENT_VERSION


def test_report_of_a_run_of_a_later_version_is_refused(run_copy):
    file = run_copy / "validation.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(content | {"version": DOCUMENT_VERSION + 1}), encoding="utf-8")
    with pytest.raises(ReportError, match=r"validation\.json: expected version 1, found"):
        write_report(run_copy)
