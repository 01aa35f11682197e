"""What of the way through verl needs no verl: settings, command, refusals, rows, forms of calls."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from msgspec.structs import replace

from provegym import cli, records
from provegym.errors import InputError, ManifestMismatch
from provegym.gateway import http
from provegym.gateway.settings import Settings as Gateway
from provegym.train.verl import checks, command, episodes, formats, launch, rows
from provegym.train.verl.settings import Settings, load
from provegym.types import Task
from tests.train.verl import small

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "configs" / "paper"
RATES = {
    "qwen3-4b": ("Qwen/Qwen3-4B-Instruct-2507", "1e-06"),
    "qwen3-8b": ("Qwen/Qwen3-8B", "5e-08"),
    "qwen2.5-7b": ("Qwen/Qwen2.5-7B-Instruct", "3e-07"),
    "granite-4.1-8b": ("ibm-granite/granite-4.1-8b", "3e-07"),
}
"""Models and learning rates of the paper's section 4."""


TOKEN = "a-token-of-at-least-sixteen"


@pytest.fixture
def gym() -> Iterator[str]:
    """A gateway that wants a token."""
    settings = Gateway(port=0, token=TOKEN)
    with http.background(http.app(http.new_rooms(settings), settings), settings) as url:
        yield url


def settings_of(folder: Path, *overrides: str) -> Settings:
    told = [f"run.out={folder / 'run'}", f"run.tasks={folder / 'tasks.jsonl'}", *overrides]
    return load(PAPER / "qwen3-4b.toml", told)


def overrides(lines: str) -> dict[str, str]:
    """The settings of a printed command."""
    words = shlex.split(lines.replace("\\\n", " "))
    start = words.index("verl.trainer.main_ppo")
    pairs = (word.partition("=") for word in words[start + 1 :])
    return {key: value for key, _, value in pairs}


# -- the command -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", RATES)
def test_a_dry_run_prints_the_paper_s_settings_and_what_is_missing_here(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(["train", "verl", str(PAPER / f"{name}.toml"), "--dry-run"]) == 0
    shown = capsys.readouterr()
    told = overrides(shown.out)
    model, rate = RATES[name]
    wanted = {
        "algorithm.adv_estimator": "grpo",
        "actor_rollout_ref.model.path": model,
        "actor_rollout_ref.actor.optim.lr": rate,
        "actor_rollout_ref.actor.kl_loss_coef": "0.01",
        "actor_rollout_ref.rollout.n": "16",
        "actor_rollout_ref.rollout.tensor_model_parallel_size": "2",
        "data.train_batch_size": "16",
        "data.max_prompt_length": "12384",
        "data.max_response_length": "16384",
        "trainer.total_training_steps": "350",
        "trainer.n_gpus_per_node": "8",
    }
    assert {key: told.get(key) for key in wanted} == wanted
    loaded = load(PAPER / f"{name}.toml")
    assert (loaded.grpo.max_user_turns, loaded.grpo.max_assistant_turns) == (5, 10)
    assert loaded.model.calls == ("granite" if name.startswith("granite") else "hermes")
    missing = [line for line in shown.err.splitlines() if line.startswith("cannot start here: ")]
    assert any("verl 0.9.1 is needed, none is installed" in line for line in missing)
    assert any("machine.gpus is 8, this machine has 0" in line for line in missing)
    assert any("run.tasks: tasks.jsonl does not exist" in line for line in missing)


def test_one_gpu_trains_an_adapter(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.call(["train", "verl", str(PAPER / "qwen3-4b-lora.toml"), "--dry-run"]) == 0
    told = overrides(capsys.readouterr().out)
    assert told["actor_rollout_ref.model.lora_rank"] == "32"
    assert told["trainer.n_gpus_per_node"] == "1"
    assert told["actor_rollout_ref.rollout.tensor_model_parallel_size"] == "1"


def test_own_settings_of_verl_come_last_and_paths_may_hold_any_character(tmp_path: Path) -> None:
    odd = tmp_path / "it's {odd}, no?"
    settings = settings_of(tmp_path, f"run.out={odd}", 'machine.hydra=["trainer.save_freq=3"]')
    told = command.command(settings)
    assert told[-1] == "trainer.save_freq=3"
    quoted = str(odd / "train.parquet").replace("'", "\\'")
    assert f"data.train_files='{quoted}'" in told


def test_the_agent_loop_is_told_its_settings(tmp_path: Path) -> None:
    url = "http://127.0.0.1:8765"
    (told,) = json.loads(command.agent_loop(settings_of(tmp_path, f"sessions.url={url}")))
    assert told["name"] == "provegym"
    assert told["sessions"] == url
    assert (told["preset"], told["calls"], told["max_assistant_turns"]) == ("paper", "hermes", 10)


# -- refusals --------------------------------------------------------------------------------


def test_a_run_that_cannot_start_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.call(["train", "verl", str(PAPER / "qwen3-4b.toml")]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("error: verl 0.9.1 is needed, none is installed")


def test_versions_gpus_and_data_are_each_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"verl": "0.9.0", "vllm": "0.17.1", "trl": "1.16.0"}
    monkeypatch.setattr(checks, "version", lambda name: there[name])  # they cannot all be installed
    settings = settings_of(tmp_path, "machine.tensor_parallel=3", "run.validation=none.jsonl")
    told = list(checks.problems(settings))
    assert [line.split(";")[0].split(":")[0] for line in told] == [
        "verl 0.9.1 is needed, 0.9.0 is installed",
        "trl is installed, and verl's workers do not start beside it",
        "vllm 0.18 or newer is needed, 0.17.1 is installed",
        "machine.gpus is 8, this machine has 0",
        "machine.tensor_parallel = 3 does not divide machine.gpus = 8",
        "run.tasks",
        "run.validation",
    ]


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("machine.sequence_parallel=3", "sequence_parallel = 3 does not divide machine.gpus = 8"),
        ("model.path=./nothing", "model.path: no model at './nothing'"),
        ("model.path=", "model.path: no model at ''"),
        ("run.tasks=.", "run.tasks = '.': cannot read .: Is a directory"),
        ("run.tasks=", "run.tasks = '': cannot read"),
        (f"run.tasks={PAPER / 'qwen3-4b.toml'}", "qwen3-4b.toml:1: JSON is malformed"),
        ("model.path=https://example.org/x", "model.path: no model at 'https://example.org/x'"),
        ("model.path=a b", "model.path: no model at 'a b'"),
        ("machine.device=cpu", "machine.gpus is 8, machine.device = cpu has 1"),
        ("run.out=/dev/null", "run.out: /dev/null is no folder"),
        ("run.out=/dev/null/run", "run.out: /dev/null is no folder"),
    ],
)
def test_what_cannot_work_anywhere_is_named_in_a_dry_run(
    override: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "verl", str(PAPER / "qwen3-4b.toml"), "--dry-run", "--set", override]
    assert cli.call(command) == 0
    missing = [line for line in capsys.readouterr().err.splitlines() if told in line]
    assert [line.startswith("cannot start here: ") for line in missing] == [True]


def test_tasks_are_read_whole_and_counted(tasks: list[Task], tmp_path: Path) -> None:
    def told(name: str, lines: list[bytes]) -> list[str]:
        records.write_atomic(tmp_path / "tasks.jsonl", lines)
        few = settings_of(tmp_path, "grpo.prompts_per_step=3", f"run.{name}={path}")
        return [line for line in checks.problems(few) if line.startswith(f"run.{name}")]

    path, lines = tmp_path / "tasks.jsonl", [records.encode(task) for task in tasks]
    assert told("tasks", lines) == []
    (few,) = told("tasks", lines[:2])
    assert few.startswith(f"run.tasks: {path} holds 2 tasks, grpo.prompts_per_step is 3; make more")
    (broken,) = told("tasks", [*lines[:2], b"{}"])
    assert f"{path}:3: " in broken
    assert told("validation", lines[:1]) == []


def test_a_fleet_is_asked_before_anything_starts(
    gym: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def told(url: str) -> list[str]:
        settings = settings_of(tmp_path, f"sessions.url={url}")
        return [line for line in checks.problems(settings) if line.startswith("sessions.url: ")]

    with socket() as silent:  # bound, and nobody listens
        silent.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{silent.getsockname()[1]}"
        (unreached,) = told(nowhere)
    assert f"the gateway at {nowhere} cannot be reached" in unreached
    monkeypatch.setenv("PROVEGYM_TOKEN", "wrong")
    (refused,) = told(gym)
    assert "(401)" in refused
    monkeypatch.setenv("PROVEGYM_TOKEN", TOKEN)
    assert told(gym) == []


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("grpo.preset=papr", "grpo.preset: unknown preset 'papr'"),
        ("grpo.lerning_rate=1", "grpo.lerning_rate is not a setting; did you mean learning_rate?"),
        ("grpo.group_size=1", "grpo.group_size is 1"),
        ("grpo.group_size=1000000000", "grpo.group_size is 1000000000"),
        ("grpo.steps=99999999999999999999999", "grpo.steps is 99999999999999999999999"),
        ("grpo.learning_rate=1e300", "grpo.learning_rate is 1e+300"),
        ("machine.server_memory=0", "machine.server_memory is 0"),
        ("run.seed=9223372036854775808", "run.seed is 9223372036854775808"),
        ("run.name='..'", "run.name is '..'"),
        ("model.template={'a b'=1}", "model.template: 'a b' is no name of a template's argument"),
        ("grpo.max_response_tokens=40000", "qwen3-4b.toml: an episode may have 52384 tokens"),
        ("model.calls=xml", "model.calls is 'xml', should be 'hermes' or 'granite'"),
        ("sessions.url=x", "sessions.url: 'x' is no base URL; write it like http://127.0.0.1:8765"),
        ("machine.hydra=['a b']", "machine.hydra.0: 'a b' is no setting; write it like"),
        ("machine.hydra=['=x']", "machine.hydra.0: '=x' is no setting; write it like"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, override: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        settings_of(tmp_path, override)
    assert told in str(caught.value)


def test_a_folder_of_another_run_is_refused_and_a_longer_run_is_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    launch._claim(settings_of(tmp_path), folder)
    launch._see_that_it_is_ours(settings_of(tmp_path, "grpo.steps=9", "machine.gpus=4"), folder)
    with pytest.raises(ManifestMismatch, match=r"a run with other settings \(grpo.kl: 0.01, now 0"):
        launch._see_that_it_is_ours(settings_of(tmp_path, "grpo.kl=0"), folder)


# -- rows ------------------------------------------------------------------------------------


@pytest.fixture
def here(tasks: list[Task], tmp_path: Path) -> Path:
    """A folder with a tokenizer and tasks: three that fit, a long one, a talkative one."""
    small.tokenizer(small.rendered(tasks)).save_pretrained(tmp_path / "model")
    long = replace(tasks[0].turns[0], user="please " * 2000)
    more = [
        replace(tasks[0], id="long", turns=(long,)),
        replace(
            tasks[1],
            id="talk",
            turns=(*tasks[1].turns, *([replace(tasks[1].turns[0], calls=())] * 5)),
        ),
    ]
    records.write_atomic(tmp_path / "tasks.jsonl", map(records.encode, [*tasks, *more]))
    return tmp_path


def prepared(folder: Path, *overrides: str) -> rows.Rows:
    told = [f"model.path={folder / 'model'}", "grpo.max_prompt_tokens=900", *overrides]
    settings, tasks = settings_of(folder, *told), folder / "tasks.jsonl"
    least = settings.grpo.prompts_per_step
    return rows.prepare(settings, tasks, folder / "t.parquet", lambda *_: None, least)


def test_rows_leave_out_what_does_not_fit_and_say_so(here: Path, tasks: list[Task]) -> None:
    import pyarrow.parquet as pq

    made = prepared(here, "grpo.prompts_per_step=3")
    assert made.kept == 3
    assert made.left_out == {
        "more user turns than max_user_turns": 1,
        "more prompt tokens than max_prompt_tokens": 1,
    }
    table = pq.read_table(made.path).to_pylist()
    assert [row["extra_info"]["task_id"] for row in table] == [task.id for task in tasks]
    assert {row["agent_name"] for row in table} == {"provegym"}
    before = made.path.stat().st_mtime_ns
    assert prepared(here, "grpo.prompts_per_step=3") == made
    assert made.path.stat().st_mtime_ns == before


def test_a_curriculum_writes_the_rows_of_all_steps_with_short_tasks_first(
    here: Path, tasks: list[Task]
) -> None:
    import pyarrow.parquet as pq

    lone, *_ = tasks
    turns = (
        lone.turns[0],
        replace(
            lone.turns[0],
            calls=tuple(
                replace(call, id=f"again{n}") for n, call in enumerate(lone.turns[0].calls)
            ),
        ),
    )
    longer = replace(lone, id="longer", turns=turns)
    records.write_atomic(here / "tasks.jsonl", map(records.encode, [longer, *tasks]))
    made = prepared(here, "grpo.prompts_per_step=4")
    told = settings_of(here, "grpo.prompts_per_step=4", "grpo.steps=6", "grpo.curriculum=true")
    out = command.learnt(told)
    out.parent.mkdir()
    rows.arrange(told, made, out)
    order = [row["extra_info"]["task_id"] for row in pq.read_table(out).to_pylist()]
    assert len(order) == 4 * 6
    assert "longer" not in order[:12]
    assert "longer" in order[12:]
    assert {task.id for task in tasks} <= set(order[:3])
    again = settings_of(here, "grpo.curriculum=true")
    assert "data.shuffle=false" in command.command(again)
    assert f"data.train_files={out}" in command.command(again)
    assert "data.shuffle=true" in command.command(settings_of(here))
    launch._claim(again, here / "run")
    with pytest.raises(ManifestMismatch):  # another number of steps is another order
        launch._see_that_it_is_ours(
            settings_of(here, "grpo.curriculum=true", "grpo.steps=700"), here / "run"
        )


def test_rows_lost_to_a_kill_are_made_again(here: Path) -> None:
    made = prepared(here, "grpo.prompts_per_step=3")
    whole = made.path.read_bytes()
    made.path.unlink()  # killed between the two files
    records.manifest_path(made.path).unlink()
    assert prepared(here, "grpo.prompts_per_step=3") == made
    assert made.path.read_bytes() == whole


def test_too_few_tasks_and_models_without_a_tokenizer_are_refused(here: Path) -> None:
    with pytest.raises(InputError, match="3 tasks fit the limits, 4 are needed at least"):
        prepared(here, "grpo.prompts_per_step=4")
    with pytest.raises(InputError, match=r"model\.path: no tokenizer at"):
        prepared(here, f"model.path={here / 'nothing'}", "grpo.prompts_per_step=3")


# -- forms of calls ----------------------------------------------------------------------------


def parsed(form: str, text: str) -> tuple[str, list[tuple[str, str]]]:
    found = formats.FORMATS[form](text)
    return found.content, [(call.name, call.arguments_text) for call in found.calls]


@pytest.mark.parametrize("form", ["hermes", "granite"])
def test_both_forms_read_tags_and_drop_no_broken_call(form: str) -> None:
    whole = 'Two:\n<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>\n'
    content, calls = parsed(form, whole + '<tool_call>{"name": "b"')
    assert content == "Two:"
    assert calls == [("a", '{"x": 1}'), ("b", '{"name": "b"')]


@pytest.mark.parametrize("form", ["hermes", "granite"])
def test_what_no_server_would_read_as_a_call_is_none(form: str) -> None:
    assert parsed(form, '```json\n{"name": "a", "arguments": {}}\n```')[1] == []
    assert parsed(form, '{"name": "a", "arguments": {}}')[1] == []


@pytest.mark.parametrize("tag", ["<|tool_call|>", "<tool_call>"])
def test_granite_3_s_list_is_read_and_a_broken_one_is_one_broken_call(tag: str) -> None:
    one, two = '{"name": "a", "arguments": {"x": 1}}', '{"name": "b", "arguments": {}}'
    assert parsed("granite", f"{tag}[{one}, {two}]") == ("", [("a", '{"x": 1}'), ("b", "{}")])
    broken = f"{tag}[{one}, "
    assert parsed("granite", broken) == ("", [("", f"[{one},")])


# -- records of episodes ---------------------------------------------------------------------


def test_a_journal_tells_what_was_scored_and_what_was_lost(tmp_path: Path) -> None:
    journal = episodes.Journal(str(tmp_path))
    with journal.episode(episodes.Row("u-0", "k", 2)) as episode:
        episode.played(1.25, {"validity": 1.0}, "done")
    with pytest.raises(ConnectionError), journal.episode(episodes.Row("u-1", "k", 1)):
        raise ConnectionError("gone")
    with next(tmp_path.glob("*.jsonl")).open("a") as file:
        file.write('{"id": "half')  # a process that was killed while it wrote
    lost, scored = episodes.read(tmp_path)
    assert (scored.reward, scored.parts, scored.stop) == (1.25, {"validity": 1.0}, "done")
    assert (lost.id, lost.reward, lost.fault) == ("u-1", None, "ConnectionError: gone")


def test_an_episode_without_a_folder_is_recorded_nowhere(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with episodes.Journal("").episode(episodes.Row("u", "k", 0)) as episode:
        episode.played(0.0, {}, "done")
    assert list(tmp_path.iterdir()) == []
