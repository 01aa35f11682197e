"""Fine-tuning and GRPO on live lamps: they learn, mask and resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from provegym.errors import InfrastructureError, InputError
from provegym.records import read_rows
from provegym.rollout.run import SessionOpener
from provegym.train import curves, models, sft, smollm2, tiny
from provegym.train.policy import Limits
from provegym.train.transcript import Codec
from provegym.train.trl import GrpoConfig, Trainer, train
from provegym.types import Kind, Task

LIMITS = Limits(prompt=1000, completion=120, reply=40)
SHORT = GrpoConfig(
    steps=4, prompts_per_step=2, group_size=4, learning_rate=1e-3, max_steps=2, limits=LIMITS
)


class Stopped(Exception):
    """Stands for a kill at this place."""


def weights(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = models.load(folder)[0].state_dict()
    return state


def same(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return all(torch.equal(first[name], second[name]) for name in first)


def rows(path: Path) -> list[dict[str, Any]]:
    """Curves without the one column that depends on the machine."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in read_rows(path)]


@pytest.fixture(scope="session")
def data(tasks: list[Task], tokenizer: Any, open_session: SessionOpener) -> list[sft.Example]:
    return sft.examples(tasks, open_session, Codec(tokenizer))


@pytest.fixture(scope="session")
def warm(data: list[sft.Example], tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that knows the form of a call and not yet which lamp is meant."""
    config = sft.SftConfig(epochs=80, batch_size=3, learning_rate=3e-3, save_every=1000)
    out = tmp_path_factory.mktemp("warm")
    return sft.train(tiny.model(tokenizer, seed=0), tokenizer, data, config, out)


# -- supervised fine-tuning ----------------------------------------------------------------


def test_the_oracle_s_words_are_learnt_and_nothing_else(
    data: list[sft.Example], tokenizer: Any
) -> None:
    example = data[0]
    taught = [token for token, learn in zip(example.ids, example.mask, strict=True) if learn]
    assert tokenizer.decode(taught) == (
        '<tool_call>{"name":"set_lamp","arguments":{"room":"kitchen","level":4}}</tool_call>'
        "<|im_end|>Done.<|im_end|>"
    )
    assert '<tool_response>{"id":"kitchen","level":4}</tool_response>' in tokenizer.decode(
        example.ids
    )


def test_conversations_that_do_not_fit_are_left_out(
    tasks: list[Task], tokenizer: Any, open_session: SessionOpener, fresh: Any, tmp_path: Path
) -> None:
    none = sft.examples(tasks, open_session, Codec(tokenizer), Limits(prompt=10))
    assert none == []
    with pytest.raises(InputError, match="no conversation fits"):
        sft.train(fresh, tokenizer, none, sft.SftConfig(), tmp_path)


def test_where_the_limits_leave_out_long_tasks_every_kind_keeps_its_share(
    tokenizer: Any, tasks: list[Task], open_session: SessionOpener
) -> None:
    def made(kind: Kind, number: int, calls: int) -> Task:
        turn = msgspec.structs.replace(tasks[0].turns[0], calls=tasks[0].turns[0].calls * calls)
        return msgspec.structs.replace(tasks[0], id=f"{kind}{number}", kind=kind, turns=(turn,))

    several = [made("workflow", n, 1 if n < 4 else 3) for n in range(12)]
    several += [made("abstention", n, 0) for n in range(6)]
    whole = sft.examples(several, open_session, Codec(tokenizer), Limits(1000, 90), thin=False)
    assert len(whole) == 4 + 6
    thinned = sft.examples(several, open_session, Codec(tokenizer), Limits(1000, 90))
    assert [e.task_id for e in thinned] == [
        *("workflow0", "workflow1", "workflow2", "workflow3", "abstention0", "abstention1")
    ]


def test_unlearnt_tokens_leave_no_gradient(data: list[sft.Example], fresh: Any) -> None:
    example = data[0]
    inputs = fresh.model.embed_tokens(torch.tensor([example.ids])).detach().requires_grad_()
    fresh.model.embed_tokens.register_forward_hook(lambda *_: inputs)
    sft.token_losses(fresh, example).sum().backward()  # type: ignore[no-untyped-call]
    last = max(i for i, learn in enumerate(example.mask) if learn)
    # The last token to learn is predicted from the one before it; nothing after that matters.
    assert inputs.grad[0, :last].norm(dim=-1).min() > 0
    assert inputs.grad[0, last:].norm() == 0


def test_a_loss_per_learnt_token_equals_a_plain_forward_pass(
    data: list[sft.Example], fresh: Any
) -> None:
    example = data[1]
    with torch.no_grad():
        logprobs = torch.log_softmax(fresh(torch.tensor([example.ids])).logits[0], -1)
        losses = sft.token_losses(fresh, example)
    expected = [
        -float(logprobs[i - 1, token])
        for i, (token, learn) in enumerate(zip(example.ids, example.mask, strict=True))
        if learn
    ]
    assert losses.tolist() == pytest.approx(expected, abs=1e-4)


def test_fine_tuning_lowers_the_loss(warm: Path) -> None:
    losses = [row["loss"] for row in rows(warm.parent / "curves.jsonl")]
    assert len(losses) == 80
    assert losses[0] > 5
    assert sum(losses[-10:]) / 10 < 0.1


@pytest.mark.parametrize("stop", [1, 3, 4, 5])
def test_fine_tuning_that_was_stopped_ends_like_one_that_was_not(
    stop: int, data: list[sft.Example], tokenizer: Any, tmp_path: Path
) -> None:
    config = sft.SftConfig(epochs=4, batch_size=2, learning_rate=1e-3, save_every=2)

    def run(out: Path, progress: Callable[[int, Any], None] | None = None) -> Path:
        model = tiny.model(tokenizer, seed=3)
        return sft.train(model, tokenizer, data, config, out, progress)

    def stop_at(step: int, row: object) -> None:
        if step == stop:
            raise Stopped

    whole = run(tmp_path / "whole")
    with pytest.raises(Stopped):
        run(tmp_path / "parts", stop_at)
    parts = run(tmp_path / "parts")
    assert same(whole, parts)
    assert rows(tmp_path / "whole/curves.jsonl") == rows(tmp_path / "parts/curves.jsonl")


# -- GRPO ----------------------------------------------------------------------------------


def grpo(
    start: Path, tasks: list[Task], config: GrpoConfig, out: Path, open_session: SessionOpener
) -> list[dict[str, Any]]:
    model, tokenizer = models.load(start, trainable=True)
    train(model, tokenizer, tasks, config, out, open_session)
    return rows(out / "curves.jsonl")


def test_the_reward_rises_on_an_easy_task(
    warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    # Without demonstrations so small a policy may come to nothing, by how the machine rounds.
    config = replace(
        SHORT,
        steps=24,
        prompts_per_step=1,
        group_size=16,
        demonstrations=4,
        adam_epsilon=1e-4,
        save_every=100,
    )
    curve = grpo(warm, tasks[:1], config, tmp_path, open_session)
    rewards = [row["reward"] for row in curve]
    assert sum(rewards[-8:]) / 8 > sum(rewards[:8]) / 8 + 0.05


def test_a_row_holds_every_component_and_count(
    warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    curve = grpo(warm, tasks, replace(SHORT, steps=2), tmp_path, open_session)
    assert [row["step"] for row in curve] == [1, 2]
    row = curve[0]
    for name in (*curves.COMPONENTS, "reward", "total", "calls", "tokens", "loss", "grad_norm"):
        assert isinstance(row[name], float), name
    assert 0 < row["reward"] <= 1
    assert row["total"] == pytest.approx(2.2 * row["reward"])
    assert 0 <= row["zero_variance"] <= 1
    assert row["masked"] == 0
    assert len(row["tasks"]) == 2


@pytest.mark.parametrize("demonstrations", [0, 1])
def test_gradients_are_those_of_the_policy_gradient_written_out(
    demonstrations: int,
    warm: Path,
    tasks: list[Task],
    data: list[sft.Example],
    open_session: SessionOpener,
    tmp_path: Path,
) -> None:
    model, tokenizer = models.load(warm, trainable=True)
    config = replace(SHORT, steps=1, group_size=8, learning_rate=0.0, max_grad_norm=0.0)
    config = replace(config, demonstrations=demonstrations)
    pairs = list(zip(tasks, data, strict=True))
    trainer = Trainer(model, tokenizer, pairs, config, tmp_path, open_session)
    found = {}

    def keep(*_: object) -> None:
        found.update({n: p.grad.clone() for n, p in model.named_parameters()})

    trainer.create_optimizer().register_step_pre_hook(keep)
    with models.calm():
        trainer.train()
    model.zero_grad()
    _written_out(model, trainer).backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, atol=1e-5, rtol=1e-3)
    assert found["model.embed_tokens.weight"].norm() > 0.01


def _written_out(model: Any, trainer: Trainer) -> torch.Tensor:
    """GRPO's loss, episode by episode, over the tokens that the policy sampled."""
    rewards = torch.tensor([e.score.normalized for e in trainer.episodes]).view(2, -1)
    spread = rewards.std(dim=1, keepdim=True) + 1e-4
    advantages = ((rewards - rewards.mean(dim=1, keepdim=True)) / spread).flatten()
    scripts = [episode.policy.transcript for episode in trainer.episodes]
    sampled = sum(sum(script.mask) for script in scripts)
    loss = torch.tensor(0.0)
    for episode, script, advantage in zip(trainer.episodes, scripts, advantages, strict=True):
        ids, mask = torch.tensor(script.ids), torch.tensor(script.mask[1:])
        logprobs = torch.log_softmax(model(ids[None]).logits[0, :-1], -1)
        logprobs = logprobs[torch.arange(len(ids) - 1), ids[1:]]
        if episode.sampled:
            drawn = torch.tensor(script.logprobs[1:])
            torch.testing.assert_close(logprobs * mask, drawn * mask, atol=1e-3, rtol=0)
        loss = loss - advantage * (logprobs * mask).sum() / sampled
    return loss


def test_a_policy_that_solves_nothing_learns_from_demonstrations(
    fresh: Any,
    tokenizer: Any,
    tasks: list[Task],
    data: list[sft.Example],
    open_session: SessionOpener,
    tmp_path: Path,
) -> None:
    def surprise() -> float:
        with torch.no_grad():
            return sum(float(sft.token_losses(fresh, example).mean()) for example in data)

    before = surprise()
    config = replace(SHORT, demonstrations=1)
    pairs = list(zip(tasks, data, strict=True))
    trainer = Trainer(fresh, tokenizer, pairs, config, tmp_path, open_session)
    with models.calm():
        trainer.train()
    assert surprise() < before - 1
    shown = [e for e in trainer.episodes if not e.sampled]
    assert [trainer.episodes.index(e) for e in shown] == [3, 7]
    known = {example.task_id: example for example in data}
    for episode in shown:
        assert episode.score.normalized == 1
        assert episode.policy.transcript.ids == known[episode.task.id].ids
    row = rows(tmp_path / "curves.jsonl")[-1]
    assert row["reward"] < 1 / 8


def test_masked_episodes_are_counted_and_teach_nothing(
    warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    opened = []

    def lost(task: Task) -> Any:
        opened.append(task)
        if len(opened) > len(tasks):  # first the oracle plays every task once
            raise InfrastructureError("the server is gone")
        return open_session(task)

    before = weights(warm)
    curve = grpo(warm, tasks, replace(SHORT, steps=1), tmp_path, lost)
    assert curve[0]["masked"] == 8
    assert curve[0]["reward"] is None
    assert all(torch.equal(before[n], w) for n, w in weights(tmp_path / "policy").items())


def test_one_lost_episode_leaves_the_others_their_lesson(
    warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    opened = []

    def shaky(task: Task) -> Any:
        opened.append(task)
        if len(opened) == len(tasks) + 3:  # first the oracle plays every task once
            raise InfrastructureError("the server is gone")
        return open_session(task)

    curve = grpo(warm, tasks, replace(SHORT, steps=1), tmp_path, shaky)
    assert curve[0]["masked"] == 1
    assert curve[0]["reward"] > 0
    assert not same(warm, tmp_path / "policy")


def test_the_run_ends_at_the_first_step_past_its_time(
    warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    curve = grpo(warm, tasks, replace(SHORT, max_seconds=1e-6), tmp_path, open_session)
    assert len(curve) == 1
    assert models.is_policy(tmp_path / "policy")


def test_a_kl_term_holds_the_policy_near_its_start(
    warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    curve = grpo(warm, tasks, replace(SHORT, steps=3, beta=0.5), tmp_path, open_session)
    divergences = [row["kl"] for row in curve]
    assert divergences[0] == pytest.approx(0, abs=1e-5)
    assert all(d > 1e-6 for d in divergences[1:])


@pytest.fixture(scope="session")
def whole(
    warm: Path,
    tasks: list[Task],
    open_session: SessionOpener,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """An uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    grpo(warm, tasks, SHORT, out, open_session)
    return out


@pytest.mark.parametrize("places", [[1], [2, 4], [3, 3, 4]])
def test_a_run_stopped_between_row_and_checkpoint_ends_like_one_that_was_not(
    places: list[int],
    whole: Path,
    warm: Path,
    tasks: list[Task],
    open_session: SessionOpener,
    tmp_path: Path,
) -> None:
    for place in places:

        def stop(step: int, row: object, place: int = place) -> None:
            if step == place:
                raise Stopped

        model, tokenizer = models.load(warm, trainable=True)
        with pytest.raises(Stopped):
            train(model, tokenizer, tasks, SHORT, tmp_path, open_session, stop)
    assert grpo(warm, tasks, SHORT, tmp_path, open_session) == rows(whole / "curves.jsonl")
    assert same(whole / "policy", tmp_path / "policy")


def test_an_adapter_s_top_layers_learn_and_resume_and_what_is_below_stays(
    warm: Path,
    tasks: list[Task],
    open_session: SessionOpener,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(smollm2, "load", lambda *_: models.load(warm))
    base, tokenizer = models.load(warm)
    start = tmp_path / "start"
    models.save(models.with_lora(base, rank=4), tokenizer, start)
    config = replace(SHORT, steps=3, train_layers=1)
    whole = grpo(start, tasks, config, tmp_path / "whole", open_session)

    def stop(step: int, row: object) -> None:
        if step == 2:
            raise Stopped

    model, tokenizer = models.load(start, trainable=True)
    with pytest.raises(Stopped):
        train(model, tokenizer, tasks, config, tmp_path / "parts", open_session, stop)
    assert grpo(start, tasks, config, tmp_path / "parts", open_session) == whole
    assert same(tmp_path / "whole/policy", tmp_path / "parts/policy")
    before, after = weights(start), weights(tmp_path / "whole/policy")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(".layers.1." in name and "lora" in name for name in changed)


KILLED = """
import importlib.util, os, pathlib, signal, sys, warnings
warnings.simplefilter("ignore")
here, warm, out = map(pathlib.Path, sys.argv[1:])
def module(name):
    spec = importlib.util.spec_from_file_location(name, here / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made
lamps, test = module("conftest"), module("test_training")
from provegym.train import models, trl
fill = trl.Trainer._fill
def half(self, folder):
    fill(self, folder)
    if self.state.global_step == 2:
        (folder / "optimizer.pt").write_bytes(b"half")
        with (out / "curves.jsonl").open("a") as file:
            file.write('{"step": 3, "rew')
        os.kill(os.getpid(), signal.SIGKILL)
trl.Trainer._fill = half
tasks = [lamps.lamp_task(n, room, 4) for n, room in enumerate(lamps.ROOMS)]
model, tokenizer = models.load(warm, trainable=True)
trl.train(model, tokenizer, tasks, test.SHORT, out, lamps._open)
"""


def test_a_run_killed_while_it_writes_a_checkpoint_ends_like_one_that_was_not(
    whole: Path, warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(warm), str(tmp_path)]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert os.listdir(tmp_path / "checkpoints")
    assert grpo(warm, tasks, SHORT, tmp_path, open_session) == rows(whole / "curves.jsonl")
    assert same(whole / "policy", tmp_path / "policy")


def test_the_order_of_tasks_depends_on_the_seed_and_covers_all_before_repeating(
    tasks: list[Task],
) -> None:
    from provegym.train.trl import schedule

    config = replace(SHORT, steps=6, prompts_per_step=1)
    order = [task.id for task in schedule(tasks, config)]
    assert sorted(order[:3]) == sorted(order[3:]) == sorted(task.id for task in tasks)
    assert order == [task.id for task in schedule(tasks, config)]
    orders = {tuple(t.id for t in schedule(tasks, replace(config, seed=s))) for s in range(8)}
    assert len(orders) > 1


def test_the_first_tasks_are_learnt_from_again_and_again_if_asked_for(
    warm: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    config = replace(SHORT, steps=2, tasks=1, prompts_per_step=1)
    curve = grpo(warm, tasks, config, tmp_path, open_session)
    assert [set(row["tasks"]) for row in curve] == [{tasks[0].id}] * 2


def test_training_without_a_task_that_fits_is_refused(
    fresh: Any, tokenizer: Any, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    tight = replace(SHORT, limits=Limits(prompt=20))
    with pytest.raises(InputError, match=r"none of 3 tasks fits Limits\(prompt=20"):
        train(fresh, tokenizer, tasks, tight, tmp_path, open_session)
