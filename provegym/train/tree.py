"""A prefix tree of token sequences, with the transformer's state at every node.

The rollouts of a group start from one prompt and often go on alike. Each distinct prefix is one
node here: it is computed once, however many rollouts run through it, when sampling and again when
training. A node attends to its ancestors and itself, which is exactly causal attention along each
path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

ROOT = -1


class Row(NamedTuple):
    """A next-token distribution: log-probabilities and their running sum as probabilities."""

    logprobs: torch.Tensor
    ladder: torch.Tensor


@dataclass(frozen=True)
class Shape:
    """What a tree must hold per node."""

    layers: int
    kv_heads: int
    head_dim: int
    width: int


class Tree:
    """Nodes in order of creation; parents always come before their children.

    `keys` and `values` are [layer, head, node, dim], `hidden` the normed output of the last layer
    and `middle` the residual stream entering the first trainable layer, both [node, width]. A node
    is `lower` once its state below that layer is there, and `done` once all of it is.
    """

    def __init__(self, shape: Shape, dtype: torch.dtype, capacity: int = 256) -> None:
        self.shape, self.dtype = shape, dtype
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.depths: list[int] = []
        self.lower: list[bool] = []
        self.done: list[bool] = []
        self.rows: dict[int, Row] = {}
        """What may follow a node, where that was computed ahead of its being asked for."""
        self._children: dict[tuple[int, int], int] = {}
        self._first_child: list[int] = []
        self._seen_before: dict[tuple[int, ...], int] = {}
        self._allocate(capacity)

    def _allocate(self, capacity: int) -> None:
        s = self.shape
        self.capacity = capacity
        self.keys = torch.zeros(s.layers, s.kv_heads, capacity, s.head_dim, dtype=self.dtype)
        self.values = torch.zeros_like(self.keys)
        self.hidden = torch.zeros(capacity, s.width, dtype=self.dtype)
        self.middle = torch.zeros(capacity, s.width, dtype=self.dtype)
        self.sees = torch.zeros(capacity, capacity, dtype=torch.bool)

    def _grow(self) -> None:
        old, n = (self.keys, self.values, self.hidden, self.middle, self.sees), self.capacity
        self._allocate(2 * n)
        self.keys[:, :, :n], self.values[:, :, :n] = old[0], old[1]
        self.hidden[:n], self.middle[:n] = old[2], old[3]
        self.sees[:n, :n] = old[4]

    def __len__(self) -> int:
        return len(self.tokens)

    def child(self, parent: int, token: int) -> int:
        """The node of `token` after `parent` (`ROOT` for the first token), made if it is new."""
        known = self._children.get((parent, token))
        return self._add(parent, token) if known is None else known

    def _add(self, parent: int, token: int) -> int:
        node = len(self.tokens)
        if node == self.capacity:
            self._grow()
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(0 if parent == ROOT else self.depths[parent] + 1)
        self.lower.append(False)
        self.done.append(False)
        self._first_child.append(ROOT)
        self.sees[node] = False
        if parent != ROOT:
            self.sees[node] = self.sees[parent]
            self._remember(parent, node)
        self.sees[node, node] = True
        self._children[parent, token] = node
        return node

    def _remember(self, parent: int, child: int) -> None:
        if self._first_child[parent] == ROOT:
            self._first_child[parent] = child
        self._seen_before[self._ending(parent)] = parent

    def _ending(self, node: int) -> tuple[int, ...]:
        """The last three tokens up to a node, latest first."""
        ending: list[int] = []
        while node != ROOT and len(ending) < 3:
            ending.append(self.tokens[node])
            node = self.parents[node]
        return tuple(ending)

    def guess(self, node: int, length: int) -> int:
        """The end of a guessed path from `node`: what once followed the same three tokens.

        Calls repeat ids, names and phrases of the prompt and of other rollouts, so such guesses
        are often right. They only say what is worth computing now, never what is sampled.
        """
        source = self._seen_before.get(self._ending(node), ROOT)
        for _ in range(length):
            source = ROOT if source == ROOT else self._first_child[source]
            if source == ROOT:
                break
            node = self.child(node, self.tokens[source])
        return node

    def cut(self, size: int) -> None:
        """Drop all but the first `size` nodes, and of those all that lies above `middle`.

        What is left acts bit for bit like a fresh tree of those nodes.
        """
        for node in range(size, len(self.tokens)):
            del self._children[self.parents[node], self.tokens[node]]
        for column in (self.tokens, self.parents, self.depths, self.lower):
            del column[size:]
        # Guesses decide what is computed together, so they must be those of a fresh tree.
        self._first_child, self._seen_before = [ROOT] * size, {}
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                self._remember(parent, node)
        self.done = [False] * size
        self.rows.clear()

    def path(self, tokens: Iterable[int], parent: int = ROOT) -> list[int]:
        """The nodes along `tokens` from `parent`, made where they are new."""
        nodes = []
        for token in tokens:
            parent = self.child(parent, token)
            nodes.append(parent)
        return nodes

    def missing(self, node: int) -> list[int]:
        """`node` and its ancestors that have no state yet."""
        nodes = []
        while node != ROOT and not self.done[node]:
            nodes.append(node)
            node = self.parents[node]
        return nodes

    def closure(self, nodes: Sequence[int]) -> list[int]:
        """The nodes and all their ancestors, in order."""
        if not nodes:
            return []
        seen = self.sees[list(nodes)].any(dim=0)
        return [int(i) for i in torch.nonzero(seen).flatten()]
