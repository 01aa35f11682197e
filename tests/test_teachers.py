"""Teachers with short names: what they bring, and what they leave behind."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from provegym import config
from provegym.config import Teacher, preset, presets
from provegym.errors import UnknownName
from provegym.names import teacher_named

SMALL = '[run]\nname = "small"\nservers = ["banking"]\n'


def load(tmp_path: Path, text: str, *overrides: str) -> config.RunConfig:
    (tmp_path / "x.toml").write_text(text, "utf-8")
    return config.load(tmp_path / "x.toml", overrides)


def test_a_preset_fills_what_is_not_told_and_is_no_part_of_what_a_run_is(tmp_path: Path) -> None:
    named = load(tmp_path, SMALL, "teacher.preset=gemma-4-31b").teacher
    # The card of google/gemma-4-31B-it: one sampling "across all use cases".
    assert (named.model, named.temperature) == ("google/gemma-4-31B-it", 1.0)
    assert (named.extra["top_p"], named.extra["top_k"]) == (0.95, 64)
    cooler = load(tmp_path, SMALL, "teacher.preset=gemma-4-31b", "teacher.temperature=0.5").teacher
    assert (cooler.model, cooler.temperature) == (named.model, 0.5)
    spelt = named.model_copy(update={"preset": ""})
    assert spelt.identity() == named.identity()


def test_another_teacher_takes_nothing_of_a_preset_with_it() -> None:
    told = teacher_named(Teacher(concurrency=8), "gemma-4-31b", {})
    assert (told.preset, told.model) == ("gemma-4-31b", "google/gemma-4-31B-it")
    assert teacher_named(told, "openai:m", {}) == Teacher(model="m", concurrency=8)
    assert teacher_named(told, "offline", {}) == Teacher(concurrency=8)
    other = teacher_named(told, "qwen3-32b", {"budget_tokens": 9})
    plain = teacher_named(Teacher(), "qwen3-32b", {})
    assert other == plain.model_copy(update={"concurrency": 8, "budget_tokens": 9})
    assert teacher_named(told, None, {"base_url": "http://h/v1"}).model == told.model


def test_every_preset_is_a_teacher_and_says_how_it_is_served() -> None:
    assert presets() == ["gemma-4-31b", "qwen3-32b"]
    for name in presets():
        serve = shlex.split(preset(name).launch)
        assert serve[:3] == ["vllm", "serve", teacher_named(Teacher(), name, {}).model]
        assert "--enable-auto-tool-choice" in serve
    with pytest.raises(UnknownName, match="known: gemma-4-31b, qwen3-32b"):
        preset("gpt")
