import math

import pytest
from msgspec import structs

from provegym.errors import InputError, UnknownName
from provegym.rewards import PRESETS, Preset, preset

ABLATIONS = {
    "-validity": ("w_validity", 0.8),
    "-coverage": ("w_coverage", 0.8),
    "-efficiency": ("w_efficiency", 1.3),
    "-name": ("w_name", 1.1),
    "-argument": ("w_argument", 1.2),
}


def differing(a: Preset, b: Preset) -> set[str]:
    left, right = structs.asdict(a), structs.asdict(b)
    return {key for key in left if left[key] != right[key]} - {"name"}


def test_paper_holds_the_published_weights_and_constants() -> None:
    assert structs.astuple(PRESETS["paper"]) == (
        "paper", 0.5, 0.5, 0.15, 0.2, 0.1, 0.0, 0.5, 0.5, False, False, False, False,
    )  # fmt: skip


def test_strict_adds_the_end_state_weighs_arguments_more_and_sets_every_switch() -> None:
    strict = PRESETS["strict"]
    changed = {"w_argument", "w_state", "match_ok", "match_turn", "pad_calls", "pad_pairs"}
    assert differing(PRESETS["paper"], strict) == changed
    assert (strict.w_argument, strict.w_state) == (0.5, 0.5)


@pytest.mark.parametrize(("name", "weight", "most"), [(n, *v) for n, v in ABLATIONS.items()])
def test_an_ablation_differs_from_paper_in_exactly_its_weight(
    name: str, weight: str, most: float
) -> None:
    assert differing(PRESETS["paper"], preset(name)) == {weight}
    assert getattr(preset(name), weight) == 0
    assert preset(name).max_total == pytest.approx(most)


def test_beta0_differs_from_paper_in_beta_alone() -> None:
    assert differing(PRESETS["paper"], preset("beta0")) == {"beta"}
    assert preset("beta0").beta == 0


def test_every_preset_is_listed_under_its_own_name() -> None:
    assert {name: p.name for name, p in PRESETS.items()} == {name: name for name in PRESETS}
    assert set(PRESETS) == {"paper", "strict", "beta0", *ABLATIONS}


@pytest.mark.parametrize("key", [f for f in Preset.__struct_fields__ if f != "name"])
def test_every_setting_can_be_set_by_keyword_and_in_the_name(key: str) -> None:
    value = not getattr(PRESETS["paper"], key) if "_" in key and key[0] in "mp" else 0.25
    made = preset("paper", **{key: value})
    assert differing(PRESETS["paper"], made) == {key}
    assert getattr(made, key) == value
    assert preset(made.name) == made


def test_settings_in_the_name_and_by_keyword_combine() -> None:
    made = preset("strict, alpha=0.3 ,match_ok=false", beta=1)
    assert made.name == "strict,alpha=0.3,match_ok=false,beta=1.0"
    assert (made.alpha, made.beta, made.match_ok, made.match_turn) == (0.3, 1.0, False, True)


@pytest.mark.parametrize("name", ["", "Paper", "-beta", "alpha=0.3"])
def test_an_unknown_preset_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownName, match="known: paper, strict, -validity"):
        preset(name)


def test_an_unknown_setting_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="unknown preset setting 'gamma'; known: w_validity"):
        preset("paper,gamma=1")
    with pytest.raises(UnknownName, match="unknown preset setting 'name'"):
        preset("paper,name=mine")


@pytest.mark.parametrize(
    "setting",
    [
        "alpha=",
        "alpha",
        "alpha=x",
        "alpha=true",
        "alpha=-1",
        "alpha=nan",
        "w_name=inf",
        "match_ok=1",
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name(setting: str) -> None:
    with pytest.raises(InputError, match=setting.partition("=")[0]):
        preset(f"paper,{setting}")


def test_a_preset_that_can_reward_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="at least one weight"):
        Preset("none", 0, 0, 0.15, 0, 0, 0)
    assert math.isclose(Preset("one", 0, 0, 0.15, 0, 0, 0.5).max_total, 0.5)
