"""Settings: what a file may say, how overrides change it, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from provegym import config, records
from provegym.config import RunConfig
from provegym.errors import InputError

SMALL = """
[run]
name = "small"
seed = 7
policy = "tiny"
servers = ["banking", "calendar"]
heldout_server = "calendar"

[synth]
limit = 20
information = { complete = 0.5, missing_required = 0.25, minimal = 0.25 }

[grpo]
learning_rate = 1
"""


def load(tmp_path: Path, text: str, *overrides: str) -> RunConfig:
    (tmp_path / "x.toml").write_text(text, "utf-8")
    return config.load(tmp_path / "x.toml", overrides)


def refusal(tmp_path: Path, text: str, *overrides: str) -> str:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text, *overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path}/")


def test_what_the_file_says_stands_and_the_rest_is_the_papers(tmp_path: Path) -> None:
    settings = load(tmp_path, SMALL)
    assert settings.run.servers == ("banking", "calendar")
    assert settings.synth.limit == 20
    assert settings.synth.information.complete == 0.5
    assert (settings.grpo.learning_rate, settings.grpo.steps) == (1.0, 350)
    assert (settings.grpo.group_size, settings.grpo.beta) == (16, 0.01)


def test_a_runs_folder_is_named_after_it_unless_told(tmp_path: Path) -> None:
    assert load(tmp_path, SMALL).run.folder == Path("runs/small")
    assert load(tmp_path, SMALL, "run.out=/x/y").run.folder == Path("/x/y")


def test_overrides_are_toml_values_and_bare_words(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        SMALL,
        "run.policy=smollm2",
        "run.name = other",
        'run.servers=["shopping","banking"]',
        "run.heldout_server=",
        "synth.perturb.distractors=1",
        "eval.preset=-validity",
        "grpo.beta=0",
        "grpo.beta=0.5",
    )
    assert settings.run.policy == "smollm2"
    assert (settings.run.name, settings.run.heldout_server) == ("other", "")
    assert settings.run.servers == ("shopping", "banking")
    assert settings.synth.perturb.distractors == 1
    assert settings.eval.preset == "-validity"
    assert settings.grpo.beta == 0.5


def test_settings_are_frozen_and_hash_by_their_values(tmp_path: Path) -> None:
    settings = load(tmp_path, SMALL)
    same = load(tmp_path, SMALL, "grpo.steps=350")
    other = load(tmp_path, SMALL, "grpo.steps=351")
    with pytest.raises(ValueError, match="frozen"):
        settings.run.seed = 8
    assert records.config_hash(settings) == records.config_hash(same)
    assert records.config_hash(settings) != records.config_hash(other)


def test_how_a_teacher_is_reached_and_paid_for_is_no_part_of_what_a_run_is(tmp_path: Path) -> None:
    plain = load(tmp_path, SMALL).identity()
    assert "teacher" not in plain
    assert load(tmp_path, SMALL, "teacher.timeout=5").identity() == plain
    first = load(tmp_path, SMALL, "teacher.model=m").identity()
    same = ["budget_tokens=9", "base_url=http://x/v1", "concurrency=2", "cache=x", "patience=1"]
    other = ["temperature=0.1", "max_tokens=5", "mode=json", "extra={top_k=2}", "model=n"]
    for change in same:
        assert load(tmp_path, SMALL, "teacher.model=m", f"teacher.{change}").identity() == first
    for change in other:
        assert load(tmp_path, SMALL, "teacher.model=m", f"teacher.{change}").identity() != first


MISTAKES = {
    "synth.limt=3": "synth.limt is not a setting; did you mean limit?",
    "snyth.limit=3": "snyth is not a setting; did you mean synth?",
    "synth.mix.foo=1": "synth.mix.foo is not a setting; known: kinds, lengths, abstentions",
    "synth.perturb.zzz=3": "synth.perturb.zzz is not a setting; known: distractors, "
    "min_distractors, max_distractors, enum_stripping, irrelevance, missing_function",
    "synth.limit=many": "synth.limit is 'many', should be a valid integer",
    'synth.limit="3"': "synth.limit is '3', should be a valid integer",
    "synth.limit=2.5": "synth.limit is 2.5, should be a valid integer",
    "synth.limit=0": "synth.limit is 0, should be greater than or equal to 1",
    "synth.limit=true": "synth.limit is True, should be a valid integer",
    "grpo.beta=nan": "grpo.beta is nan, should be a finite number",
    "grpo.learning_rate=inf": "grpo.learning_rate is inf, should be a finite number",
    "run.policy=gpt": "run.policy is 'gpt', should be 'smollm2' or 'tiny'",
    "run.name=a/b": "run.name is 'a/b', should match pattern",
    "run.servers=banking": "run.servers is 'banking', should be a valid array",
    "run.servers=[1]": "run.servers.0 is 1, should be a valid string",
    'run.servers=["banking","banking"]': "run: servers names one twice",
    "run.servers=[]": "run.servers is empty; give at least 1",
    "run.heldout_server=maps": "run: heldout_server 'maps' is not among servers",
    'run.servers=["calendar"]': "run: heldout_server leaves no server to train on",
    "synth.information.minimal=0.5": "synth.information: the shares sum to 1.25, not 1",
    "synth.min_turns=4": "synth: min_turns is above max_turns",
    "synth.max_chain=1": "synth: min_chain is above max_chain",
    "grpo.demonstrations=15": "grpo: demonstrations leaves fewer than two of group_size",
    "grpo.scale_rewards=all": "grpo.scale_rewards is 'all', should be 'group', 'batch' or 'none'",
    "synth.perturb.max_distractors=2": "synth.perturb: min_distractors is above max_distractors",
    "synth=3": "synth is 3, should be an object",
    "teacher.tempreature=1": "teacher.tempreature is not a setting; did you mean temperature?",
    "teacher.base_url=nonsense": "teacher.base_url: 'nonsense' is no base URL; write it like",
    "teacher.mode=text": "teacher.mode is 'text', should be 'tools' or 'json'",
    "teacher.concurrency=1001": "teacher.concurrency is 1001, should be less than or equal to 1000",
    "teacher.budget_usd=5": "teacher: budget_usd needs prices",
    "teacher.prices.prompt=-1": "teacher.prices.prompt is -1, should be greater than or equal to 0",
}


@pytest.mark.parametrize(("override", "told"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_names_the_key_and_the_value(tmp_path: Path, override: str, told: str) -> None:
    assert refusal(tmp_path, SMALL, override).startswith(f"x.toml: {told}")


def test_only_the_first_of_several_mistakes_is_told_in_full(tmp_path: Path) -> None:
    told = refusal(tmp_path, SMALL, "grpo.steps=a", "grpo.beta=b")
    assert told == "x.toml: grpo.steps is 'a', should be a valid integer (mistakes besides: 1)"


def test_a_required_key_that_is_missing_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, "") == "x.toml: run is missing"
    assert refusal(tmp_path, '[run]\nname="a"') == "x.toml: run.servers is missing"
    assert refusal(tmp_path, "[rnu]").startswith("x.toml: rnu is not a setting; did you mean run?")


@pytest.mark.parametrize("override", ["grpo.steps", "=3", "grpo.=3", ".steps=3", "run.name.x=3"])
def test_an_override_of_the_wrong_form_is_refused(tmp_path: Path, override: str) -> None:
    assert refusal(tmp_path, SMALL, override).startswith(f"'{override}' is not an override")


@pytest.mark.parametrize("text", ["[run", "a = 1\na = 2", "x = " + "[" * 5000])
def test_broken_toml_is_one_line_with_its_place(tmp_path: Path, text: str) -> None:
    assert "x.toml is not TOML: " in refusal(tmp_path, text)


def test_a_file_that_is_not_text_or_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(InputError, match=r"bad\.toml is not TOML: 'utf-8' codec"):
        config.load(tmp_path / "bad.toml")
    with pytest.raises(InputError, match=r"cannot read .*absent\.toml: No such file"):
        config.load(tmp_path / "absent.toml")


def test_every_published_config_loads() -> None:
    paths = sorted((Path(__file__).parents[1] / "configs").glob("*.toml"))
    names = [config.load(path).run.name for path in paths]
    assert names == [path.stem for path in paths]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("synth.limit=99999999999999999999999", "less than or equal to 10000000"),
        ("eval.concurrency=1000000", "less than or equal to 1000"),
        ("teacher.concurrency=1001", "less than or equal to 1000"),
        ("eval.trials=1000000", "less than or equal to 10000"),
        ("synth.max_turns=100000", "less than or equal to 100"),
        (
            "synth.mix.kinds={workflow=0,clarification=0,abstention=0}",
            "kinds has no number above 0; give one to some kind",
        ),
        ("synth.mix.kinds={workflow=1}", "kinds needs a number of each of workflow"),
        (f"synth.limit={'x' * 10_000}", "should be"),
    ],
)
def test_numbers_that_are_slips_are_refused_in_a_short_line(
    tmp_path: Path, told: str, message: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_text('[run]\nname = "r"\nservers = ["banking"]\n', "utf-8")
    with pytest.raises(InputError) as caught:
        config.load(path, [told])
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500
