"""Write docs/report.png, the first screen of a report.

`python docs/report_picture.py runs/implant` draws the picture from a finished run. The script needs
playwright and the system program chromium.
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
    """Take a picture of the first screen of a run's report."""
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto((folder / "report.html").resolve().as_uri())
        seen = page.screenshot()
        browser.close()
    Image.open(io.BytesIO(seen)).convert("RGB").save(target, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(__file__).with_name("report.png"))
