"""Arguments that the chains reject, with messages that name the argument."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dynamics.mechanics.chains import (
    Assembly,
    Chain,
    ChainSegment,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
    load_motion,
    simulate_chains,
)

TIME = np.linspace(0.0, 1.0, 11)
NAN = np.nan


def table(columns: int) -> PrescribedMotion:
    return PrescribedMotion(TIME, np.zeros((11, columns)))


THIGH, SHANK = (ChainSegment(name, 0.4, 7.0, 0.1, [0.17, 0.0]) for name in ("thigh", "shank"))
LEG, ARM = Chain("leg", (THIGH, SHANK)), Chain("arm", (THIGH,))
MOVED = Chain("leg", (THIGH, SHANK), angles=table(2))
CUFF = ViscoelasticLink("cuff", ("leg", "thigh"), [0.1, 0.0], ("arm", "thigh"), [0.1, 0.0], 1e3)

segment = partial(ChainSegment, name="s", length=0.4, mass=1.0, inertia=0.01, centre=[0.2, 0.0])
chain = partial(Chain, name="leg", segments=(THIGH, SHANK))
link = partial(
    ViscoelasticLink, name="cuff", first=("leg", "thigh"), first_point=[0.1, 0.0],
    second=("arm", "thigh"), second_point=[0.1, 0.0], stiffness=1e3,
)  # fmt: skip
assembly = partial(Assembly, chains=(LEG, ARM))
motion = partial(PrescribedMotion, time=TIME, values=TIME[:, None])
state = partial(Assembly((MOVED, ARM)).evaluate, time=0.5, angles=[0.0], rates=[0.0])
run = partial(simulate_chains, Assembly((MOVED, ARM)), times=[0.0, 0.5], angles=[0.0], rates=[0.0])


def driven(torque):
    return Assembly((Chain("arm", (THIGH,), drive=lambda t, a, r: torque),)).evaluate(0, [0], [0])


def swinging(base):
    return simulate_chains(Assembly((Chain("arm", (THIGH,), base),)), [0.0, 1.5], [0.0], [0.0])


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (segment, {"length": 0.0}, r"segment s: length: expected > 0 m, found 0.0"),
        (segment, {"mass": -1.0}, r"segment s: mass: expected > 0 kg, found -1.0"),
        (segment, {"inertia": -0.1}, r"segment s: inertia: expected >= 0 kg m²"),
        (segment, {"inertia": 0.0, "centre": [0.0, 0.0]}, r"inertia: expected > 0 kg m² about"),
        (Joint, {"neutral": NAN}, r"joint: neutral: expected a finite number"),
        (chain, {"segments": ()}, r"chain leg: segments: expected at least one, .* found none"),
        (chain, {"segments": (THIGH, THIGH)}, r"unique names, found thigh, thigh"),
        (chain, {"joints": (Joint(),)}, r"chain leg: joints: expected 2, found 1"),
        (chain, {"angles": table(3)}, r"angles: expected 2 columns, found 3"),
        (chain, {"base": table(3)}, r"base: expected 2 columns, found 3"),
        (chain, {"angles": table(2), "drive": len}, r"drive: expected none with prescribed angles"),
        (link, {"stiffness": -1.0}, r"link cuff: stiffness: expected >= 0 N/m, found -1.0"),
        (link, {"rest_length": 0.1, "kind": "bushing"}, r"rest_length: .* <= 0 m, found 0.1"),
        (link, {"kind": "cable"}, r"link cuff: kind: expected one of .* found 'cable'"),
        (link, {"first": "leg"}, r"link cuff: first: expected \(chain, segment\), found 'leg'"),
        (link, {"second": ("leg", "thigh")}, r"link cuff: second: expected a segment other than"),
        (assembly, {"chains": ()}, r"chains: expected at least one chain, found none"),
        (assembly, {"chains": (LEG, LEG)}, r"chains: expected unique names, found leg, leg"),
        (assembly, {"links": (CUFF, CUFF)}, r"links: expected unique names, found cuff, cuff"),
        (assembly, {"links": (link(first=("hip", "s")),)}, r"link cuff: chain: .* found 'hip'"),
        (assembly, {"links": (link(first=("leg", "s")),)}, r"cuff: segment of leg: .* found 's'"),
        (assembly, {"gravity": -9.81}, r"gravity: expected shape \(2\)"),
        (state, {"angles": [0.0] * 2}, r"angles: expected shape \(1\), found \(2,\)"),
        (
            chain,
            {"segments": THIGH},
            r"chain leg: segments: expected a tuple of ChainSegment, \(one",
        ),
        (chain, {"joints": (1.0, 2.0)}, r"chain leg: joints: expected a tuple of Joint or Sliding"),
        (chain, {"angles": np.zeros((11, 2))}, r"chain leg: angles: expected a PrescribedMotion"),
        (chain, {"drive": 5.0}, r"chain leg: drive: expected a function, found 5.0"),
        (assembly, {"chains": LEG}, r"chains: expected a tuple of Chain, .* found Chain"),
        (state, {"time": 1.5}, r"time: expected 0 to 1 s, which the table covers, found 1.5"),
        (driven, {"torque": 1.0}, r"chain arm: drive: expected shape \(1\)"),
        (run, {"times": [0.0, 1.0, 1.0]}, r"times: expected at least two increasing"),
        (run, {"times": [0.0, 1.2]}, r"chain leg: angles: time: expected 0 to 1 s.*, found 1.2"),
        (run, {"times": [-0.1, 0.5]}, r"chain leg: angles: time: expected 0 to 1 s.*, found -0.1"),
        (swinging, {"base": table(2)}, r"chain arm: base: time: expected 0 to 1 s"),
        (run, {"method": "Euler"}, r"method: expected one of .* found 'Euler'"),
        (run, {"method": "RK4", "step": 0.0}, r"step: expected > 0 s"),
        (run, {"atol": 0.0}, r"atol: expected > 0"),
        (motion, {"time": TIME[::-1]}, r"motion: time: .* found 0.9 s in row 1 after 1 s"),
        (motion, {"time": TIME[:5]}, r"motion: time: expected at least 6 rows, found 5"),
        (motion, {"values": TIME}, r"motion: values: expected shape \(11, any\), found \(11,\)"),
    ],
)
def test_bad_arguments_are_named(call, change, message):
    with pytest.raises(ValueError, match=message):
        call(**change)


def test_names_of_chains_and_segments_are_told_apart():
    with pytest.raises(ValueError, match=r"chain: name: expected a name, found ''"):
        Chain("", (THIGH,))
    shank = ChainSegment("right.shank", 0.4, 7.0, 0.1, [0.17, 0.0])
    with pytest.raises(ValueError, match=r"chain.segment: expected unique names"):
        Assembly((Chain("leg.right", (SHANK,)), Chain("leg", (shank,))))


@pytest.mark.parametrize("name", ["body", "leg.right"])  # "leg.right" begins as "leg" does
def test_a_path_that_moves_with_another_chain_is_refused(name):
    times = np.linspace(0.0, 0.2, 21)
    carrier = Chain(name, (THIGH,))
    fall = simulate_chains(Assembly((carrier,)), times, [0.0], [0.0])
    knee = 0.4 * np.stack([np.cos(fall.angles[:, 0]), np.sin(fall.angles[:, 0])], axis=1)
    carried = Chain("leg", (SHANK,), PrescribedMotion(times, knee))
    with pytest.raises(ValueError, match=r"chain leg: base: expected an Attachment"):
        simulate_chains(Assembly((carrier, carried)), times, [0.0, 0.0], [0.0, 0.0])


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_motion(tmp_path / "none.csv", ("shank",))
