"""Write docs/report.png, the top of a run's report: `python docs/report_picture.py runs/implant`.

Needs playwright and the system program chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def draw(folder: Path, target: Path) -> None:
    """Take a picture of the overview and the 3-D view of a run's report."""
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        page = browser.new_page(viewport={"width": 1240, "height": 900})
        page.goto((folder / "report.html").resolve().as_uri())
        page.wait_for_selector("#viewer[data-frame]")
        height = page.evaluate("document.getElementById('viewer').getBoundingClientRect().bottom")
        seen = page.screenshot(
            full_page=True, clip={"x": 0, "y": 0, "width": 1240, "height": height + 24}
        )
        browser.close()
    Image.open(io.BytesIO(seen)).convert("RGB").save(target, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(__file__).with_name("report.png"))
