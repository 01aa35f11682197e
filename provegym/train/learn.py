"""Log-probabilities, with gradients, of tokens in a prefix tree.

The same arithmetic as a forward pass over every rollout by itself, but each distinct prefix of a
group is computed once, layers below the first trainable one are taken from the tree, where
sampling left them, and the output matrix is applied at positions that are scored only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from provegym.train.engine import base_model
from provegym.train.tree import Tree


@dataclass(frozen=True)
class Scored:
    """For each scored node the log-probability of its token, and the entropy it was drawn at."""

    logprobs: Tensor
    entropies: Tensor


def score_nodes(
    model: Any, tree: Tree, nodes: Sequence[int], low: int = 0, temperature: float = 1.0
) -> Scored:
    """Score `nodes` (none of them the first of its path) given all that precedes each.

    The layers below `low` are not run: the tree must hold what enters layer `low`, computed by
    an engine whose `middle_layer` that is. With 0 only the tree's tokens are used.
    """
    parents = [tree.parents[node] for node in nodes]
    used = tree.closure(sorted(set(parents)))
    place = {node: i for i, node in enumerate(used)}
    unique = sorted(set(parents))
    hidden = _forward(model, tree, used, low)[0, [place[n] for n in unique]]
    logits = base_model(model).lm_head(hidden).float() / temperature
    row = {node: i for i, node in enumerate(unique)}
    rows = torch.tensor([row[parent] for parent in parents])
    tokens = torch.tensor([tree.tokens[node] for node in nodes])
    logprobs = torch.log_softmax(logits, dim=-1)
    return Scored(logprobs[rows, tokens], _entropy(logprobs)[rows])


@torch.no_grad()
def _entropy(logprobs: Tensor) -> Tensor:
    return -(logprobs.exp() * logprobs).sum(dim=-1)


def _forward(model: Any, tree: Tree, nodes: list[int], low: int) -> Tensor:
    """The last hidden states of `nodes`, which hold all their ancestors, [1, nodes, width]."""
    base = base_model(model).model
    positions = torch.tensor([[tree.depths[node] for node in nodes]])
    h = _entering(base, tree, nodes, low)
    angles = base.rotary_emb(h, positions)
    mask = _mask(tree, nodes, h.dtype)
    for layer in base.layers[low:]:
        h = layer(h, attention_mask=mask, position_ids=positions, position_embeddings=angles)
        h = h[0] if isinstance(h, tuple) else h
    return torch.as_tensor(base.norm(h))


def _entering(base: Any, tree: Tree, nodes: list[int], low: int) -> Tensor:
    if low == 0:
        tokens = torch.tensor([[tree.tokens[node] for node in nodes]])
        return torch.as_tensor(base.embed_tokens(tokens))
    return tree.middle[nodes][None]


def _mask(tree: Tree, nodes: list[int], dtype: torch.dtype) -> Tensor:
    sees = tree.sees[nodes][:, nodes]
    blocked = torch.finfo(dtype).min
    return torch.zeros(1, 1, *sees.shape, dtype=dtype).masked_fill_(~sees, blocked)
