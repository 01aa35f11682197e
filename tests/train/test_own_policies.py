"""`provegym rollout --policy hf:PATH` on the folders that training writes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from provegym import cli, learning, records, worlds
from provegym.rollout.run import Job, play
from provegym.servers import world
from provegym.train import chat, models, sft, smollm2, tiny
from provegym.train.policy import Limits, LocalPolicies
from provegym.train.transcript import Codec
from provegym.types import GroundCall, Task, Trace, Turn

CALL = GroundCall("g0", "list_cards", {"status": "active"})
SAID = (Turn("Show my active cards.", (CALL,), "Done."), Turn("Thanks.", reply="Welcome."))


@pytest.fixture(scope="module")
def bank() -> Task:
    """A task over the bank, with one tool so that a small model reads little."""
    tools = [t for t in world(7, ("banking",)).open().tools() if t.function.name == CALL.name]
    return Task("t", "workflow", SAID, ("banking",), 7, tools=tuple(tools))


@pytest.fixture(scope="module")
def whole(bank: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny policy that has learnt the task."""
    tokenizer = tiny.tokenizer(sft.texts([bank], worlds.open_session))
    data = sft.examples([bank], worlds.open_session, Codec(tokenizer), Limits(2000, 2000))
    learnt = sft.SftConfig(epochs=60, batch_size=1, learning_rate=3e-3, save_every=1000)
    out = tmp_path_factory.mktemp("whole")
    return sft.train(tiny.model(tokenizer, seed=0), tokenizer, data, learnt, out)


@pytest.fixture
def adapter(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An adapter as training writes it, over that policy instead of SmolLM2."""
    monkeypatch.setattr(smollm2, "load", lambda *_: models.load(whole))
    base, tokenizer = models.load(whole)
    models.save(models.with_lora(base, rank=2), tokenizer, tmp_path / "adapter")
    return tmp_path / "adapter"


def rollout(bank: Task, folder: Path, place: Path, *options: str) -> int:
    records.write_atomic(place / "tasks.jsonl", [records.encode(bank)])
    files = [str(place / "tasks.jsonl"), "--out", str(place / "traces.jsonl")]
    return cli.call(["rollout", *files, "--policy", f"hf:{folder}", *options])


def played(bank: Task, folder: Path, place: Path, *options: str) -> Trace:
    assert rollout(bank, folder, place, *options) == 0
    return next(records.read(place / "traces.jsonl", Trace))


@pytest.mark.parametrize("kind", ["whole", "adapter"])
def test_a_policy_of_ours_plays_in_the_rendering_that_it_learnt(
    kind: str, bank: Task, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(kind)
    assert (folder / models.ADAPTER).exists() == (kind == "adapter")
    trace = played(bank, folder, tmp_path)
    assert [(c.name, c.arguments, c.outcome) for c in trace.calls] == [
        ("list_cards", {"status": "active"}, "ok")
    ]
    assert (trace.stop_reason, trace.policy) == ("done", f"hf:{folder}")
    model, tokenizer = models.load(folder)
    limits = Limits(2048, 2048, 512)  # the halves of what the model was built for
    trained = LocalPolicies(model, Codec(tokenizer), temperature=0.0, limits=limits)
    job = Job(bank, 0, trace.policy, 0)
    assert asyncio.run(play(job, worlds.open_session, trained)) == trace


def test_a_message_ends_at_the_limit_that_is_asked_for(
    bank: Task, whole: Path, tmp_path: Path
) -> None:
    trace = played(bank, whole, tmp_path, "--max-tokens", "3")
    answers = [m for m in trace.messages if m["role"] == "assistant"]
    assert 0 < trace.usage.completion_tokens <= 3 * len(answers)
    assert "ok" not in {call.outcome for call in trace.calls}  # three tokens are too few for one


def test_a_policy_that_is_drawn_from_is_drawn_from_by_the_seed(
    bank: Task, whole: Path, tmp_path: Path
) -> None:
    hot = ("--temperature", "3", "--max-tokens", "20")
    one, two, other = (
        played(bank, whole, tmp_path / name, *hot, "--seed", seed).messages
        for name, seed in (("one", "1"), ("two", "1"), ("other", "2"))
    )
    assert one == two != other


def test_a_policy_of_another_rendering_is_refused_in_one_line(
    bank: Task, adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (adapter / models.CARD).write_text(json.dumps({"chat": chat.CHAT_VERSION - 1}))
    assert rollout(bank, adapter, tmp_path) == 2
    told = capsys.readouterr().err
    assert f"error: {adapter} was trained on chat rendering" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "traces.jsonl").exists()


def test_an_adapter_of_somebody_else_is_refused_in_one_line(
    bank: Task, adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (adapter / models.CARD).unlink()
    assert rollout(bank, adapter, tmp_path) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: '{adapter}' holds an adapter and no whole model; merge it")
    assert told.count("\n") == 1


def test_only_folders_of_ours_are_taken_for_our_policies(tmp_path: Path) -> None:
    for name in ("oracle", "openai:m", f"hf:{tmp_path}", "hf:", "hf"):
        assert learning.own_policy(name, None, None) is None
