"""The browser in which the pages are tested."""

import shutil

import pytest

from pipeline.reports.report import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
# Software rendering, which any machine has; nothing of the browser's own goes to the network.
FLAGS = (
    *("--no-sandbox", "--disable-background-networking"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs the system program chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def drawn_run(tiny_run, made_once):
    """Return the folder of the tiny run with the figures of its page; not to be written to."""

    def make(folder):
        write_report(shutil.copytree(tiny_run, folder))

    return made_once("drawn", make)
