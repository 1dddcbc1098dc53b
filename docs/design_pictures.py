"""Write docs/designs_errors.png, a part of the page of a run over designs.

`python docs/design_pictures.py runs/implant_designs` draws the picture from a finished run. The
script needs playwright and the system program chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
#: Width of the pages [pixel].
WIDTH = 1100


def save(page: Page, file: Path, section: str, target: Path) -> None:
    """Take a picture of a section of a page."""
    page.goto(file.resolve().as_uri())
    page.wait_for_timeout(500)
    seen = page.locator(section).screenshot()
    few = Image.open(io.BytesIO(seen)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(target, optimize=True)


def draw(run: Path) -> None:
    """Take the picture of a run over designs."""
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        save(page, run / "report.html", "#errors", HERE / "designs_errors.png")
        browser.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
