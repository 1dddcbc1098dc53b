"""The report in a browser: phones, print, no network, no script, no WebGL."""

import pytest
from viewer_pictures import changed, pixels

pytestmark = [pytest.mark.drawn, pytest.mark.slow]

#: Of A4 less the margins, in pixels of a page.
PRINTED = 688
SECTIONS = (
    *("overview", "pressure", "move", "contact", "gait", "combinations", "validation"),
    *("stages", "provenance", "glossary", "configuration"),
)


@pytest.fixture(scope="module")
def address(drawn_run):
    return (drawn_run / "report.html").as_uri()


@pytest.fixture(scope="module")
def told():
    """Return what the page of `desk` fetches, and what goes wrong in it."""
    return []


@pytest.fixture(scope="module")
def desk(browser, address, told):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: told.append(f"error: {error}"))
    page.on("request", lambda request: told.append(f"request: {request.url[:60]}"))
    page.goto(address)
    page.wait_for_selector("#viewer[data-frame]")
    # The labels over the picture move as well, and must not be taken for it.
    page.add_style_tag(content=".mark, .triad { opacity: 0 !important; }")
    return page


def inside(page, selector, height):
    """Return whether every element of a selector is wholly within the first screen."""
    found = page.locator(selector)
    boxes = [found.nth(k).bounding_box() for k in range(found.count())]
    width = page.viewport_size["width"]
    return bool(boxes) and all(
        box["x"] >= 0.0
        and box["y"] >= 0.0
        and box["x"] + box["width"] <= width
        and box["y"] + box["height"] <= height
        for box in boxes
    )


@pytest.fixture(params=[(1280, 800), (390, 844)], ids=["desk", "phone"])
def screen(request, browser, address):
    """Return the page as it opens on a desk and on a phone."""
    width, height = request.param
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(address)
    yield page
    page.close()


def test_knee_tiles_and_verdict_are_in_sight(screen):
    height = screen.viewport_size["height"]
    for selector in (".first img", ".tiles.knee .tile", ".verdict", ".verdict .next code"):
        assert inside(screen, selector, height), selector
    shown = screen.locator(".tiles.knee").inner_text()
    for words in ("Peak pressure, medial", "Contact area", "AP travel", "Wear, polyethylene"):
        assert words in shown
    assert (
        screen.evaluate("document.documentElement.scrollWidth") == (screen.viewport_size["width"])
    )


def test_every_link_opens_its_section_at_the_top(desk):
    for name in SECTIONS[1:]:
        desk.locator(f"nav a[href='#{name}']").click()
        where = f"document.querySelector('#{name} h2').getBoundingClientRect()"
        desk.wait_for_function(f"Math.abs({where}.y) < 120 && {where}.height > 0")


def test_nothing_is_fetched_and_nothing_goes_wrong(desk, told, address):
    assert desk.title() == "smoke: knee-contact surrogate"
    fetched = [line for line in told if not line.startswith(("request: data:", "request: blob:"))]
    assert fetched == [f"request: {address[:60]}"]
    assert desk.locator("html").get_attribute("lang") == "en"


def test_phone_has_no_sideways_scrolling(browser, address):
    phone = browser.new_context(
        viewport={"width": 390, "height": 780}, is_mobile=True, has_touch=True
    )
    page = phone.new_page()
    page.goto(address)
    page.wait_for_selector("#viewer[data-frame]")
    for width in (414, 390, 360):
        page.set_viewport_size({"width": width, "height": 780})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    before = pixels(page)
    page.locator("[data-view=above]").tap()
    assert changed(before, pixels(page)) > 500
    phone.close()


def test_print_has_all_sections_and_pictures_in_place_of_the_view(browser, address):
    page = browser.new_page(viewport={"width": PRINTED, "height": 1000})
    page.goto(address)
    page.emulate_media(media="print")
    assert not page.locator("#viewer").is_visible()
    assert page.locator("#overview .first img").is_visible()
    for name in SECTIONS:
        assert page.locator(f"#{name} h2, #{name} .tiles").first.is_visible()
    wide = "[...document.querySelectorAll('table')].filter(t => t.offsetWidth > %d).length"
    assert page.evaluate(wide % PRINTED) == 0
    assert page.evaluate("document.documentElement.scrollWidth") == PRINTED
    sheets = page.pdf(format="A4", print_background=False)
    assert sheets.startswith(b"%PDF")
    count = sheets.count(b"/Type /Page\n") + sheets.count(b"/Type /Page ")
    assert 5 < count < 60
    page.close()


#: Place of the focused control among all of the section, their number, and a slider's value.
CONTROL = """() => {
  const all = [...document.querySelectorAll("#live :is(input, button, svg[tabindex])")];
  const control = document.activeElement, value = Number(control.value);
  return [all.indexOf(control), all.length, control.type === "range" ? value : null];
}"""
#: Moves two sliders 50 times in one task; counts what the next frames draw, simulate and write.
FRAME = """async () => {
  const counts = {};
  for (const [own, name] of [[WebGL2RenderingContext.prototype, "bufferSubData"],
      [Worker.prototype, "postMessage"], [history, "replaceState"]]) {
    const made = own[name];
    counts[name] = 0;
    own[name] = function (...values) { counts[name] += 1; return made.apply(this, values); };
  }
  for (const group of ["pose", "gait"]) {
    const slider = document.querySelector(`#live [data-group=${group}][data-name=flexion]`);
    const low = Number(slider.min), size = Number(slider.max) - low;
    for (let k = 0; k < 50; k += 1) {
      slider.value = low + (size * k) / 60;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  for (let k = 0; k < 2; k += 1) await new Promise(requestAnimationFrame);
  return counts;
}"""


def test_a_frame_shows_all_changes_once(screen):
    screen.wait_for_selector("#live[data-ready][data-walked]")
    counts = screen.evaluate(FRAME)
    assert counts == {"bufferSubData": 1, "postMessage": 1, "replaceState": 0}
    screen.wait_for_url("**#flexion=*gait_flexion=*")


def test_every_control_of_the_knee_is_reached_and_moved_by_keys(screen):
    screen.wait_for_selector("#live[data-ready][data-walked]")
    screen.locator("#live input").first.focus()
    place, count, value = screen.evaluate(CONTROL)
    for k in range(count):
        assert place == k
        if value is not None:
            screen.keyboard.press("ArrowLeft")
            assert screen.evaluate(CONTROL)[2] < value
        screen.keyboard.press("Tab")
        place, _, value = screen.evaluate(CONTROL)
    assert place == -1


def test_knee_moves_by_sliders_alone(browser, address):
    """By the keyboard: the numbers follow, the domain is told, the cycle is simulated again."""
    wrong = []
    desk = browser.new_page(viewport={"width": 1280, "height": 900})
    desk.on("pageerror", lambda error: wrong.append(str(error)))
    desk.goto(address)
    desk.wait_for_selector("#live[data-ready][data-walked]")
    slider = desk.locator("#move [data-group=pose][data-name=load]")
    total = desk.locator("#move .readout tbody tr").first.locator("td").last
    before = float(total.text_content().replace("−", "-"))
    slider.focus()
    desk.keyboard.press("End")
    desk.wait_for_url("**load=*")
    assert float(total.text_content()) > 2.0 * before
    assert "without pressures" in desk.locator("#viewer .instant").text_content()
    desk.locator("#move [data-group=pose][data-name=anterior]").focus()
    desk.keyboard.press("End")
    desk.wait_for_url("**anterior=*")
    assert "outside the trained domain" in desk.locator("#move .outside").text_content()
    curves = desk.locator(".live-charts svg.area").first.locator("path[stroke='#0072B2']")
    as_in_run = curves.get_attribute("d")
    desk.locator("#move [data-group=gait][data-name=axial]").focus()
    desk.keyboard.press("End")
    desk.wait_for_function(
        "before => document.querySelector(\".live-charts .area path[stroke='#0072B2']\")"
        ".getAttribute('d') !== before",
        arg=as_in_run,
    )
    assert "Wear over that of the run" in desk.locator("#move .cycle-state").text_content()
    desk.locator("[data-do=nominal]").click()
    desk.wait_for_function(
        "before => document.querySelector(\".live-charts .area path[stroke='#0072B2']\")"
        ".getAttribute('d') === before",
        arg=as_in_run,
    )
    assert wrong == []
    again = browser.new_page()
    again.goto(desk.url.split("#")[0] + "#flexion=45&load=700&gait_ap=2")
    again.wait_for_selector("#live[data-ready]")
    shown = again.locator("#move [data-group=pose][data-name=flexion]").input_value()
    assert float(shown) == 45.0
    gait = again.locator("#move [data-group=gait][data-name=ap]").input_value()
    assert float(gait) == 2.0
    assert again.locator("#move .readout tbody tr").first.locator("td").last.text_content() == "700"
    again.close()
    desk.close()
