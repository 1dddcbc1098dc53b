"""What the README and the docs show must run as it stands there, and the site must hold together.

Each page's ```python blocks run one after the other, in a folder with a trained run `runs/implant`.
Commands in ```sh blocks are read by the real parser, the cheap ones carried out; ```toml blocks are
configurations, unless `<!-- excerpt -->` stands before them.
"""

import importlib.util
import re
import shlex
import shutil
from functools import cache
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.advice import PROGRAM
from pipeline.cli.main import main, parse
from pipeline.studies.dispatch import load_study

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")))
#: Packages whose public names the API pages list, all of them.
PACKAGES = ("foundation", "surrogates", "dynamics")
#: Commands of the pages that take a second or less, in an order that they can have.
CHEAP = (
    "factors",
    "export runs/implant",
    "motion runs/implant --out cycle.mot",
    "loads runs/implant cycle.mot --out loads.sto",
)
#: What stands between two commands of a line, or a command and its file.
OPERATORS = frozenset({"&&", ";", "|", "&", ">", ">>", "2>"})
#: What the code of a page needs beside the project, as modules or programs.
NEEDS = {
    "docs/fmu.md": ("fmpy", "cc"),
    "docs/formats.md": ("casadi", "cc"),
    "docs/howto/optimal_control.md": ("casadi", "jax"),
}
#: Pages whose code compiles, or solves for seconds.
LONG = {
    *NEEDS,
    *("docs/mechanics.md", "docs/finite_element.md"),
    *("docs/howto/implant_designer.md", "docs/howto/surrogate_researcher.md"),
}
#: Rest of the path of a file that a page names.
FILE = r"\w[\w/.-]*\.(?:toml|py|png|md)"
#: Address of another machine in a style sheet.
FETCHED = r"(?:url\(|@import)\s*['\"]?(?:https?:)?//"
#: What a page loads by itself, without a reader's click.
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}


class Block(NamedTuple):
    """A fenced block, the line that its text begins in, and the line before its fence."""

    text: str
    line: int
    above: str


@cache
def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, language):
    text = read(page)
    found = []
    for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.S | re.M):
        before = text[: match.start()].rstrip().rpartition("\n")[2]
        found.append(Block(match[1], text[: match.start(1)].count("\n"), before))
    return found


def pages_with(language):
    return [page for page in PAGES if blocks(page, language)]


def commands(page):
    """Return the commands of a page's ```sh blocks as lists of words, one command each."""
    found = []
    for block in blocks(page, "sh"):
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            parts = groupby(words, lambda word: word in OPERATORS)
            found += [list(part) for operator, part in parts if not operator]
    return found


def arguments_of(words):
    """Return the arguments of a command of ours, None if it is another program's."""
    return words[1:] if words[0] == PROGRAM else None


@pytest.fixture(scope="module")
def folder(tiny_run, tiny_designs, tmp_path_factory):
    """Return a folder as a user has it: a trained run, one over designs, and the examples."""
    home = tmp_path_factory.mktemp("reader")
    shutil.copytree(tiny_run, home / "runs" / "implant")
    shutil.copytree(tiny_designs, home / "runs" / "implant_designs")
    for name in ("configs", "examples"):
        if (ROOT / name).is_dir():
            (home / name).symlink_to(ROOT / name)
    return home


def check_readme(scope, printed):
    """Ten lines that show the point: a cycle, and the loads at its first peak of axial force."""
    (block,) = blocks("README.md", "python")
    assert len([line for line in block.text.splitlines() if line.strip()]) <= 10
    assert len(printed) == 2
    # About 2250 N in the shipped waveforms, at the instant that the page names.
    assert scope["result"].time[30] == pytest.approx(0.15)
    assert 2000.0 < scope["loads"].force[1] < 2500.0
    assert scope["loads"].total_jacobian[1, 4] < 0.0  # a higher femur, a smaller load


def check_designer(scope, printed):
    # Some cubic millimetres in a million cycles.
    wear = next(float(line) for line in printed if re.fullmatch(r"[\d.]+e-1\d", line))
    assert 1e-15 < wear < 2e-14
    peaks = [float(line.split()[2]) for line in printed if line.endswith("mm²")]
    assert 10.0 < peaks[0] < peaks[1] < 60.0  # the flatter plateau bears more


def check_mechanics(scope, printed):
    # Flores' law returns a little less than was asked for.
    assert 0.45 < float(printed[0]) < 0.5
    assert scope["strike"].peak_reaction > 1.0


def check_designs(scope, printed):
    assert len(printed) == 1
    assert scope["loads"].shape == (2, 2, 12)
    assert scope["knee"].header["design"].keys() == scope["by_name"].keys()


#: What a page's code must come to, beside running.
CHECKS = {
    "README.md": check_readme,
    "docs/howto/design_space.md": check_designs,
    "docs/howto/implant_designer.md": check_designer,
    "docs/mechanics.md": check_mechanics,
}


def marked(page):
    """The page, marked if its code imports CasADi, compiles or solves for seconds."""
    marks = [pytest.mark.casadi] if "casadi" in NEEDS.get(page, ()) else []
    marks += [pytest.mark.slow] if page in LONG else []
    return pytest.param(page, marks=marks)


@pytest.mark.parametrize("page", [marked(page) for page in pages_with("python")])
def test_python_runs_as_it_stands(page, folder, monkeypatch, capsys):
    for need in NEEDS.get(page, ()):
        if shutil.which(need) is None and importlib.util.find_spec(need) is None:
            pytest.skip(f"the code of {page} needs {need}")
    monkeypatch.chdir(folder)
    scope = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        # Line numbers of an error are those of the page.
        exec(compile("\n" * block.line + block.text, page, "exec"), scope)
    CHECKS.get(page, lambda *_: None)(scope, capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("page", pages_with("sh"))
def test_commands_are_ones_that_exist(page):
    targets = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", read("Makefile"), re.M))
    targets = {name for line in targets for name in line.split()}
    for words in commands(page):
        arguments = arguments_of(words)
        if arguments is not None:
            parse(arguments)  # fails if it is not a command line of the program
        elif words[0] == "make":
            assert {w for w in words[1:] if "=" not in w} <= targets, words
        elif Path(words[0]).name.startswith("python") and words[1] == "-m":
            if words[2].startswith("benchmarks"):
                assert importlib.util.find_spec(words[2]), words
        elif Path(words[0]).name.startswith("python") and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), words


def test_cheap_commands_end_well(folder, monkeypatch):
    told = {shlex.join(a) for page in PAGES for w in commands(page) if (a := arguments_of(w))}
    monkeypatch.chdir(folder)
    (folder / "cycle.mot").unlink(missing_ok=True)  # by the code of a page
    for line in CHEAP:
        assert line in told, "no page shows it any more"
        assert main([*shlex.split(line), "--quiet"]) == 0, line
    assert (folder / "runs/implant/knee.c").is_file()
    assert (folder / "loads.sto").is_file()


@pytest.mark.parametrize("page", pages_with("toml"))
def test_configurations_are_valid(page, tmp_path):
    for number, block in enumerate(blocks(page, "toml")):
        if block.above == "<!-- excerpt -->":
            continue
        path = tmp_path / f"{number}.toml"
        path.write_text(block.text, encoding="utf-8")
        load_study(path)


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page):
    for name in re.findall(rf"\b(?:configs|docs|examples)/{FILE}", read(page)):
        assert (ROOT / name).exists(), name
    for target in re.findall(r"`make ([a-z-]+)", read(page)):
        assert re.search(rf"^(?:[a-z-]+ )*{target}[ :]", read("Makefile"), re.M), target


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_beside_the_site_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", read(page)):
        path, _, anchor = link.partition("#")
        assert (ROOT / (path or page)).exists(), link
        if anchor:
            heads = re.findall(r"^#+ (.*)$", read(path or page), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}
            assert anchor in slugs, link


def test_api_pages_list_every_public_name():
    listed = {
        name
        for page in PAGES
        if page.startswith("docs/api/")
        for name in re.findall(r"^::: ([\w.]+)$", read(page), re.M)
    }
    # Names of foundation are listed where they are defined.
    listed |= {f"foundation.{name.rpartition('.')[2]}" for name in listed if name[0] == "f"}
    public = {f"{p}.{name}" for p in PACKAGES for name in importlib.import_module(p).__all__}
    assert public <= listed, f"missing: {sorted(public - listed)}"
    with pytest.raises(AttributeError, match=r"'read_mesh', but has .*, load_mesh"):
        _ = importlib.import_module("foundation").read_mesh


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the built site; strict: a link, an anchor or a page that is nowhere fails it."""
    pytest.importorskip("mkdocs", reason="needs the extra docs: pip install 'knee-contact[docs]'")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config as load_mkdocs

    built = tmp_path_factory.mktemp("site")
    config = load_mkdocs(str(ROOT / "mkdocs.yml"), site_dir=str(built), strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    return built


class _Loads(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        value = dict(attrs).get(LOADED.get(tag, ""))
        if value:
            self.found.append(value)


@pytest.mark.slow
def test_site_needs_no_network(site):
    pages = list(site.rglob("*.html"))
    # One each, that of what is not found for the README, and the knee to move.
    assert len(pages) == len(PAGES) + 1
    for page in pages:
        parser = _Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.found, page
        for address in parser.found:
            assert not re.match(r"(https?:)?//|data:text/html", address), (page, address)
            if address.startswith("data:") or (page.name == "404.html" and address[0] == "/"):
                continue  # shown at any address, so that its own are counted from the root
            assert (page.parent / address.partition("#")[0]).exists(), (page, address)
    for sheet in site.rglob("*.css"):
        assert not re.search(FETCHED, sheet.read_text(encoding="utf-8")), sheet
