"""Sampling over prefix trees computes what the model computes."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from provegym.train.engine import Engine, first_trainable
from provegym.train.learn import score_nodes
from provegym.train.models import train_top, with_lora
from provegym.train.sampler import Sampled, Sampler
from provegym.train.tree import ROOT, Tree

VOCABULARY = 40
END = 7
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "tie_word_embeddings": True,
    "initializer_range": 0.2,
}


def model(family: str) -> Any:
    torch.manual_seed(0)
    kind = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen3": (Qwen3Config, Qwen3ForCausalLM)}
    config, network = kind[family]
    return network(config(**SHAPE)).eval()


MODELS = {family: model(family) for family in ("llama", "qwen3")}
sequences = st.lists(st.integers(0, VOCABULARY - 1), min_size=2, max_size=12)


@pytest.mark.parametrize("family", MODELS)
@settings(max_examples=25)
@given(rows=st.lists(sequences, min_size=1, max_size=4), one_by_one=st.booleans())
def test_logits_in_a_shared_tree_equal_a_forward_pass_of_each_sequence(
    family: str, rows: list[list[int]], one_by_one: bool
) -> None:
    network = MODELS[family]
    engine = Engine(network)
    tree = engine.tree()
    paths = [tree.path(row) for row in rows]
    wanted = [(tree, path[-1]) for path in paths]
    for part in [[w] for w in wanted] if one_by_one else [wanted]:
        engine.compute(part)
    assert len(tree) <= sum(map(len, rows))
    for row, path in zip(rows, paths, strict=True):
        with torch.no_grad():
            expected = network(torch.tensor([row])).logits[0]
        torch.testing.assert_close(
            engine.logits([(tree, n) for n in path]), expected, atol=1e-4, rtol=1e-4
        )


def test_in_bfloat16_logits_stay_close_to_the_model_s() -> None:
    network = model("llama").to(torch.bfloat16)
    engine = Engine(network)
    tree = engine.tree()
    row = [1, 5, 9, 2, 30]
    engine.compute([(tree, tree.path(row)[-1])])
    with torch.no_grad():
        expected = network(torch.tensor([row])).logits[0, -1].float()
    # Eight bits of mantissa over three layers.
    torch.testing.assert_close(engine.logits([(tree, 4)])[0], expected, atol=0.1, rtol=0.05)


def test_a_cut_tree_keeps_its_lower_states_and_computes_the_rest_anew() -> None:
    network = with_lora(model("qwen3"), rank=2)
    train_top(network, 1)
    engine = Engine(network)
    tree = engine.tree()
    row = [1, 2, 3, 4, 5, 6]
    path = tree.path(row)
    tree.path([1, 2, 9, 9])
    engine.compute([(tree, path[-1]), (tree, len(tree) - 1)])
    randomize(network.base_model.model.model.layers[2])
    engine.refresh()
    tree.cut(len(row))
    assert len(tree) == 6
    assert all(tree.lower)
    assert not any(tree.done)
    again = tree.path([1, 2, 9, 9])
    assert again == [0, 1, 6, 7]
    engine.compute([(tree, path[-1]), (tree, 7)])
    for sequence, node in ((row, path[-1]), ([1, 2, 9, 9], 7)):
        with torch.no_grad():
            expected = network(torch.tensor([sequence])).logits[0, -1]
        found = engine.logits([(tree, node)])[0]
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@given(rows=st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=12), min_size=1, max_size=4))
def test_a_guess_repeats_what_followed_the_same_three_tokens(rows: list[list[int]]) -> None:
    tree = Tree(Engine(MODELS["llama"]).shape, torch.float32)
    ends = [tree.path(row)[-1] for row in rows]
    before = len(tree)
    for end in ends:
        guessed = tree.guess(end, 4)
        grown = len(tree) - before
        assert grown <= 4 * len(ends)
        while guessed != end:
            guessed = tree.parents[guessed]
            assert guessed != ROOT
    whole = Tree(Engine(MODELS["llama"]).shape, torch.float32)
    whole.path([0, 1, 2, 0, 1, 1])
    node = whole.path([5, 0, 1, 2])[-1]
    end = whole.guess(node, 2)
    assert [whole.tokens[whole.parents[end]], whole.tokens[end]] == [0, 1]


def test_a_draft_changes_nothing_that_is_sampled() -> None:
    engine = Engine(MODELS["qwen3"])

    def run(ahead: bool) -> list[list[int]]:
        sampler = Sampler(engine, end=END, temperature=1.0)
        tree = engine.tree()
        if ahead:
            path = tree.path([1, 2, 3, *likely])
            sampler.prepare(tree, path, path[2:])
        start = tree.path([1, 2, 3])[-1]

        async def everyone() -> list[Sampled]:
            jobs = (sampler.complete(tree, start, 8, Random(seed)) for seed in range(30))
            return await asyncio.gather(*jobs)

        found = asyncio.run(everyone())
        passes.append(sampler.steps)
        return [one.ids for one in found]

    passes: list[int] = []
    likely: list[int] = []
    likely = max(run(ahead=False), key=len)
    assert run(ahead=True) == run(ahead=False)


def test_a_tree_grows_past_its_capacity_without_losing_anything() -> None:
    network = MODELS["qwen3"]
    engine = Engine(network)
    tree = Tree(engine.shape, engine.dtype, capacity=4)
    row = [(3 * i) % VOCABULARY for i in range(30)]
    for stop in (3, 9, 30):
        engine.compute([(tree, tree.path(row[:stop])[-1])])
    with torch.no_grad():
        expected = network(torch.tensor([row])).logits[0, -1]
    torch.testing.assert_close(engine.logits([(tree, 29)])[0], expected, atol=1e-4, rtol=1e-4)


def test_equal_prefixes_are_one_node() -> None:
    tree = Engine(MODELS["llama"]).tree()
    assert tree.path([1, 2, 3]) == [0, 1, 2]
    assert tree.path([1, 2, 4]) == [0, 1, 3]
    assert tree.closure([3]) == [0, 1, 3]
    assert tree.child(ROOT, 1) == 0


def test_an_adapter_is_merged_and_lower_layers_are_taken_once() -> None:
    network = with_lora(model("llama"), rank=2)
    randomize(network)
    train_top(network, 1)
    engine = Engine(network)
    assert engine.middle_layer == first_trainable(network) == 2
    lower = engine.layers[0]
    randomize(network.base_model.model.model.layers[2])
    engine.refresh()
    assert engine.layers[0] is lower
    tree = engine.tree()
    row = [1, 5, 9, 2]
    engine.compute([(tree, tree.path(row)[-1])])
    with torch.no_grad():
        expected = network(torch.tensor([row])).logits[0, -1]
    torch.testing.assert_close(engine.logits([(tree, 3)])[0], expected, atol=1e-4, rtol=1e-4)


def randomize(network: Any) -> None:
    for name, parameter in network.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)


@pytest.mark.parametrize("top", [0, 1])
def test_gradients_in_a_tree_equal_those_of_each_rollout_by_itself(top: int) -> None:
    network = with_lora(model("qwen3"), rank=2)
    randomize(network)
    train_top(network, top)
    engine = Engine(network)
    tree = engine.tree()
    rows = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 8], [1, 2, 9, 4, 5, 6]]
    weights = [torch.arange(len(row) - 2) + 1.0 for row in rows]
    paths = [tree.path(row) for row in rows]
    engine.compute([(tree, path[-1]) for path in paths])

    nodes = [node for path in paths for node in path[2:]]
    scored = score_nodes(network, tree, nodes, engine.middle_layer, temperature=0.7)
    (scored.logprobs * torch.cat(weights)).sum().backward()  # type: ignore[no-untyped-call]
    ours = take_gradients(network)

    for row, weight in zip(rows, weights, strict=True):
        logits = network(torch.tensor([row])).logits[0, 1:-1] / 0.7
        logprobs = torch.log_softmax(logits, -1)[torch.arange(len(row) - 2), torch.tensor(row[2:])]
        (logprobs * weight).sum().backward()  # type: ignore[no-untyped-call]
    theirs = take_gradients(network)

    assert ours.keys() == theirs.keys()
    assert len(ours) == (14 if top else 42)
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], atol=1e-4, rtol=1e-3)


def take_gradients(network: Any) -> dict[str, torch.Tensor]:
    found = {n: p.grad.clone() for n, p in network.named_parameters() if p.grad is not None}
    network.zero_grad()
    return found


def sample(temperature: float, seeds: list[int], limit: int = 6) -> list[Sampled]:
    engine = Engine(MODELS["llama"])
    sampler = Sampler(engine, end=END, temperature=temperature)
    tree = engine.tree()
    start = tree.path([1, 2, 3])[-1]

    async def everyone() -> list[Sampled]:
        jobs = (sampler.complete(tree, start, limit, Random(seed)) for seed in seeds)
        return await asyncio.gather(*jobs)

    return asyncio.run(everyone())


def test_what_an_episode_samples_does_not_depend_on_its_company() -> None:
    together = sample(1.0, list(range(8)))
    alone = [sample(1.0, [seed])[0] for seed in range(8)]
    assert [one.ids for one in together] == [one.ids for one in alone]
    assert len({tuple(one.ids) for one in together}) > 4


def test_a_reply_ends_with_the_end_token_or_at_its_limit() -> None:
    for reply in sample(1.0, list(range(40)), limit=6):
        assert END not in reply.ids[:-1]
        assert reply.ids[-1] == END or len(reply.ids) == 6


def test_greedy_sampling_takes_the_likeliest_token() -> None:
    (reply,) = sample(0.0, [1], limit=4)
    row = [1, 2, 3]
    for token in reply.ids:
        with torch.no_grad():
            assert int(MODELS["llama"](torch.tensor([row])).logits[0, -1].argmax()) == token
        row.append(token)


def test_sampled_frequencies_and_log_probabilities_are_the_model_s() -> None:
    replies = sample(0.5, list(range(4000)), limit=1)
    with torch.no_grad():
        logits = MODELS["llama"](torch.tensor([[1, 2, 3]])).logits[0, -1]
    expected = torch.softmax(logits / 0.5, -1)
    counts = torch.bincount(torch.tensor([r.ids[0] for r in replies]), minlength=VOCABULARY)
    # 4,000 draws: a share's standard error is at most 0.008.
    assert float((counts / 4000 - expected).abs().max()) < 0.035
    first = replies[0]
    assert first.logprobs[0] == pytest.approx(float(expected[first.ids[0]].log()), abs=1e-4)


def test_a_fault_in_the_model_reaches_every_waiting_episode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Engine, wanted: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(Engine, "compute", broken)
    with pytest.raises(MemoryError, match="no room"):
        sample(1.0, [1, 2, 3])
