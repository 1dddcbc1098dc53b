"""The pressure picture and the line figures of the report in a browser."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from viewer_pictures import changed, pixels

from pipeline.reports.inputs import read_run
from pipeline.reports.pressure_field import scale_of

pytestmark = [pytest.mark.drawn, pytest.mark.slow]


@pytest.fixture(scope="module")
def fields(drawn_run):
    found = read_run(drawn_run).fields
    assert found is not None
    return found


@pytest.fixture(scope="module")
def opened(browser, drawn_run):
    page = browser.new_page(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
    page.faults = []
    page.on("console", lambda message: page.faults.append(message.text))
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.goto((drawn_run / "report.html").as_uri())
    page.wait_for_selector("#viewer[data-frame]")
    # What lies over the picture must not be taken for it.
    page.add_style_tag(
        content=".mark, .centre, .triad, .tip, .onpicture { opacity: 0 !important; }"
        " nav { position: static !important; }"
    )
    return page


@pytest.fixture
def desk(opened):
    """Return the page with the choices and the view that it opens with."""
    opened.check("input[name=viewer-femur][value=clear]")
    opened.click("[data-view=oblique]")
    opened.mouse.move(2, 2)
    return opened


def frame_of(page):
    return int(page.locator("#viewer").get_attribute("data-frame"))


def go_to(page, frame):
    page.locator("[data-do=instant]").focus()
    page.keyboard.press("Home")
    for _ in range(frame):
        page.keyboard.press("ArrowRight")
    assert frame_of(page) == frame


def map_of(page):
    """Show the plateau from above without the femur, and return the box of the picture."""
    page.check("input[name=viewer-femur][value=hidden]")
    page.click("[data-view=above]")
    page.locator("#viewer canvas").scroll_into_view_if_needed()
    return page.locator("#viewer canvas").bounding_box()


def told(page, x, y):
    """Return pressure [MPa] and place [mm] under a point of the window, None beside the plateau."""
    page.mouse.move(x - 2, y)
    page.mouse.move(x, y)
    tip = page.locator("#viewer .tip")
    if tip.is_hidden():
        return None
    return {name: float(tip.get_attribute(f"data-{name}")) for name in ("mpa", "x", "y", "z")}


def place_of(page, side):
    """Return the point of the window to which the label of a compartment leads."""
    at = page.locator(f"#viewer .mark[data-side={side}]").evaluate(
        "e => [parseFloat(e.style.left), parseFloat(e.style.top)]"
    )
    box = page.locator("#viewer canvas").bounding_box()
    return box["x"] + 0.01 * at[0] * box["width"], box["y"] + 0.01 * at[1] * box["height"]


def number(page, cell):
    text = page.locator(cell).inner_text()
    return 0.0 if text == "–" else float(text)


def test_keyboard(desk, fields):
    slider = desk.locator("[data-do=instant]")
    go_to(desk, 5)
    percent = fields.frames.gait_percent
    text = slider.get_attribute("aria-valuetext")
    assert text.startswith(f"{percent[5]:g} % of the gait cycle, flexion ")
    assert f"{percent[5]:g} %" in desk.locator("#pressure .chart output").inner_text()
    desk.keyboard.press("ArrowLeft")
    assert frame_of(desk) == 4
    desk.keyboard.press("End")
    assert frame_of(desk) == len(percent) - 1


def test_instant_changes_picture_and_figures(desk):
    go_to(desk, 3)
    before, figure = pixels(desk), number(desk, "[data-peak=medial]")
    # The plateau, at least, is seen.
    assert (np.abs(before - 255).max(axis=-1) > 24).mean() > 0.1
    go_to(desk, 14)
    assert number(desk, "[data-peak=medial]") != figure
    assert changed(before, pixels(desk)) > 500
    go_to(desk, 3)
    assert changed(before, pixels(desk)) == 0


def test_label_is_the_largest_value(desk, fields):
    go_to(desk, 4)
    values = fields.values[4]
    for k, side in enumerate(("medial", "lateral")):
        largest = 1e-6 * values[fields.frames.tibia_faces[fields.side == k]].max()
        label = desk.locator(f"#viewer .mark[data-side={side}]").inner_text()
        assert_allclose(float(label.split()[0]), largest, rtol=6e-3)


def test_label_leads_to_its_value_and_colour(desk, fields):
    """The value under the end of the label is the label's, its colour that of its band."""
    box = map_of(desk)
    values, faces = 1e-6 * fields.values, fields.frames.tibia_faces
    top, step = scale_of(float(values.max()))
    peaks = np.stack([values[:, faces[fields.side == k]].max(axis=(1, 2)) for k in range(2)])
    # Both values in the middle of their bands, as a pixel lies beside the vertex.
    go_to(desk, int(np.abs(peaks / step % 1.0 - 0.5).max(axis=0).argmin()))
    picture = pixels(desk)
    for side in ("medial", "lateral"):
        x, y = place_of(desk, side)
        found = told(desk, x, y)
        assert found is not None
        label = number(desk, f"[data-peak={side}]")
        # The pointer meets the vertex to half a pixel.
        assert_allclose(found["mpa"], label, rtol=0.03)
        middle = (np.floor(found["mpa"] / step) + 0.5) * step / top
        shade = matplotlib.colormaps["viridis"](int(255 * middle + 0.5))[:3]
        seen = picture[round(y - box["y"]), round(x - box["x"])]
        assert_allclose(seen, 255 * np.array(shade), atol=3.0)


def test_area_is_that_of_the_cycle(desk, fields, drawn_run):
    go_to(desk, 4)
    cycle = read_run(drawn_run).cycles["original"]
    row = cycle.iloc[(cycle["gait_percent"] - fields.frames.gait_percent[4]).abs().argmin()]
    for side in ("medial", "lateral"):
        wanted = 1e6 * row[f"{side}_area_m2"]
        assert_allclose(number(desk, f"[data-area={side}]"), wanted, rtol=6e-3)
