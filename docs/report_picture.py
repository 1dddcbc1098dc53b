"""Write docs/report.png, the first screen of a report, and docs/move.png, "Move the knee".

`python docs/report_picture.py runs/implant` draws the pictures from a finished run. It needs
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
    """Take pictures of the first screen of a run's report, and of the knee that is moved."""
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto((folder / "report.html").resolve().as_uri())
        save(page.screenshot(), target / "report.png")
        page.wait_for_selector("#live[data-walked]")
        slider = page.locator("#move [data-group=gait][data-name=ap]")
        slider.focus()
        page.keyboard.press("End")
        page.wait_for_timeout(3000)
        save(page.locator("#move").screenshot(), target / "move.png")
        browser.close()


def save(seen: bytes, file: Path) -> None:
    """Write a picture of a page."""
    Image.open(io.BytesIO(seen)).convert("RGB").save(file, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(__file__).parent)
