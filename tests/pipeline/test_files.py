"""Files of a command, all or none; the sentence on flagged instants; kinds of flags."""

import pytest

from foundation.base.errors import InputError
from foundation.base.flags import FlagKind
from pipeline.cli.main import main
from pipeline.files import replacing_together, write_text
from pipeline.flagged_instants import flagged_sentence, joined_kinds, kinds_of


def written(folder, text, names=("a.csv", "a.xml"), others=False):
    with replacing_together(others=others):
        for name in names:
            write_text(folder / name, text)


def contents(folder):
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_files_of_other_contents_stay_and_no_new_file_is_left(tmp_path):
    (tmp_path / "a.xml").write_text("mine")
    with pytest.raises(InputError, match=r"a\.xml: exists with other contents.*--out.*--force"):
        written(tmp_path, "new")
    assert contents(tmp_path) == {"a.xml": "mine"}
    written(tmp_path, "new", others=True)
    assert contents(tmp_path) == {"a.csv": "new", "a.xml": "new"}


def test_equal_files_are_written_again_and_names_that_share_a_stem_stay_apart(tmp_path):
    for _ in range(2):
        with replacing_together(others=False):
            write_text(tmp_path / "new" / "a.h", "head")
            write_text(tmp_path / "new" / "a.c", "source")
    assert contents(tmp_path / "new") == {"a.h": "head", "a.c": "source"}


def test_a_fault_leaves_the_files_as_they_were(tmp_path):
    written(tmp_path, "old")
    with pytest.raises(TypeError):
        written(tmp_path, 1, others=True)
    assert contents(tmp_path) == {"a.csv": "old", "a.xml": "old"}
    write_text(tmp_path / "a.csv", "new")  # outside of a block at once
    assert contents(tmp_path)["a.csv"] == "new"


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["export", "RUN", "--prefix", "knee"], "knee.c"),
        (["tables", "RUN", "--table", "first"], "first.csv"),
    ],
)
def test_commands_replace_own_files_and_no_others(tiny_run, tmp_path, capsys, words, file):
    folder = words[0] in ("export", "fields")
    out = str(tmp_path) if folder else str(tmp_path / file)
    words = [str(tiny_run) if word == "RUN" else word for word in words] + ["--out", out]
    (tmp_path / file).write_text("mine")
    assert main(words) == 2
    assert f"{tmp_path / file}: exists with other contents" in capsys.readouterr().err
    assert contents(tmp_path) == {file: "mine"}
    assert main([*words, "--force"]) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before[file] != b"mine"
    assert main(words) == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        (FlagKind.OUTSIDE_FLEXION, "widen space.flexion_deg in"),
        (FlagKind.OUTSIDE_AP_RATIO, "widen feasibility.ap_ratio in"),
        (FlagKind.OUTSIDE_DESIGN, "train with more designs (design_space.designs)"),
    ],
)
def test_sentence_counts_instants_and_names_the_key(kind, step):
    told = flagged_sentence(84, 101, [kind])
    assert told.startswith("84 of 101 instants are outside the trained domain: do not trust")
    assert step in told


@pytest.mark.parametrize("kind", [kind for kind in FlagKind if kind.startswith("outside_")])
def test_every_kind_of_a_surrogate_has_a_remedy(kind):
    no_key = {
        FlagKind.OUTSIDE_SUPERIOR,  # far above contact, as in another unit
    }
    assert ("see the flags" in flagged_sentence(1, 9, [kind])) == (kind in no_key)


def test_kinds_of_a_column_are_those_that_were_joined():
    rows = [[FlagKind.RIM, FlagKind.LARGE_STRAIN, FlagKind.RIM], [], [FlagKind.OUTSIDE_LOAD]]
    column = [joined_kinds(row) for row in rows]
    assert column == ["rim; large_strain", "", "outside_load"]
    assert kinds_of(column) == {FlagKind.RIM, FlagKind.LARGE_STRAIN, FlagKind.OUTSIDE_LOAD}
