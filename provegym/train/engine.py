"""Inference for the laptop policies: a Llama or Qwen3 decoder that runs over prefix trees.

Written for a few CPU cores. Activations are kept feature-major, `W @ x` with x of [width, tokens]:
for the 8 to 64 tokens of a decoding step that is two to three times faster than `x @ W.T`, and
all trees' new nodes, whether one sampled token or a whole prompt, go through the matrices at once.
Adapters are merged into copies of the weights, so decoding pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from provegym.train.tree import Shape, Tree

FAMILIES = ("llama", "qwen3")
"""Architectures whose layers this engine computes; others are refused."""


@dataclass(frozen=True)
class Layer:
    """One decoder layer's merged weights."""

    before: Tensor
    qkv: Tensor
    out: Tensor
    after: Tensor
    gate_up: Tensor
    down: Tensor
    q_norm: Tensor | None
    k_norm: Tensor | None


@dataclass(frozen=True)
class Batch:
    """New nodes of one tree within a packed forward: columns `start` to `stop`."""

    tree: Tree
    nodes: list[int]
    start: int
    stop: int
    bias: Tensor


def base_model(model: Any) -> Any:
    """The transformers model under a PEFT wrapper, or the model itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def merged(linear: Any) -> Tensor:
    """The weight that a linear module applies, its active adapter included."""
    if not hasattr(linear, "base_layer"):
        return torch.as_tensor(linear.weight.detach())
    weight: Tensor = linear.base_layer.weight.detach()
    for name in linear.active_adapters:
        weight = weight + linear.get_delta_weight(name).detach().to(weight.dtype)
    return weight


def first_trainable(model: Any) -> int:
    """The lowest decoder layer with a trainable parameter; 0 if what is below them trains."""
    base = base_model(model).model
    if any(p.requires_grad for p in base.embed_tokens.parameters()):
        return 0
    for index, layer in enumerate(base.layers):
        if any(p.requires_grad for p in layer.parameters()):
            return index
    return len(base.layers)


class Engine:
    """Computes tree nodes and next-token logits with the weights that `refresh` last took."""

    def __init__(self, model: Any) -> None:
        config = base_model(model).config
        if config.model_type not in FAMILIES:
            raise ValueError(f"the engine runs {FAMILIES}, not {config.model_type!r}")
        self.model = model
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.eps = config.rms_norm_eps
        self.shape = Shape(config.num_hidden_layers, self.kv_heads, head_dim, config.hidden_size)
        self.middle_layer = first_trainable(model)
        self.layers: list[Layer] = []
        self.refresh()

    def refresh(self) -> None:
        """Take the model's weights again; layers below the first trainable one are kept."""
        base = base_model(self.model)
        low = min(self.middle_layer, len(self.layers))
        self.layers[low:] = [self._layer(layer) for layer in base.model.layers[low:]]
        self.embedding = base.model.embed_tokens.weight.detach()
        self.norm = base.model.norm.weight.detach()
        self.head = base.lm_head.weight.detach()
        self.rotary = base.model.rotary_emb
        self.dtype = self.embedding.dtype

    @staticmethod
    def _layer(layer: Any) -> Layer:
        attention, mlp = layer.self_attn, layer.mlp
        qkv = [merged(part) for part in (attention.q_proj, attention.k_proj, attention.v_proj)]
        return Layer(
            before=layer.input_layernorm.weight.detach(),
            qkv=torch.cat(qkv),
            out=merged(attention.o_proj),
            after=layer.post_attention_layernorm.weight.detach(),
            gate_up=torch.cat([merged(mlp.gate_proj), merged(mlp.up_proj)]),
            down=merged(mlp.down_proj),
            q_norm=attention.q_norm.weight.detach() if hasattr(attention, "q_norm") else None,
            k_norm=attention.k_norm.weight.detach() if hasattr(attention, "k_norm") else None,
        )

    def tree(self) -> Tree:
        """An empty tree for this model."""
        return Tree(self.shape, self.dtype)

    @torch.no_grad()
    def compute(self, wanted: Sequence[tuple[Tree, int]]) -> None:
        """Give every wanted node its state, computing what it and its ancestors lack."""
        lacking: dict[Tree, set[int]] = {}
        for tree, node in wanted:
            lacking.setdefault(tree, set()).update(tree.missing(node))
        self._lower({t: [n for n in nodes if not t.lower[n]] for t, nodes in lacking.items()})
        self._upper({tree: list(nodes) for tree, nodes in lacking.items()})

    def _lower(self, lacking: dict[Tree, list[int]]) -> None:
        """Run the layers that do not learn, up to `middle`."""
        batches = self._batches(lacking)
        if not batches:
            return
        tokens = torch.tensor([b.tree.tokens[n] for b in batches for n in b.nodes])
        h = self._run(range(self.middle_layer), self.embedding[tokens].t().contiguous(), batches)
        for batch in batches:
            batch.tree.middle[batch.nodes] = h[:, batch.start : batch.stop].t()
            for node in batch.nodes:
                batch.tree.lower[node] = True

    def _upper(self, lacking: dict[Tree, list[int]]) -> None:
        """Run the layers from `middle` to the end."""
        batches = self._batches(lacking)
        if not batches:
            return
        h = torch.cat([b.tree.middle[b.nodes] for b in batches]).t().contiguous()
        h = self._run(range(self.middle_layer, len(self.layers)), h, batches)
        h = self._rms(h, self.norm)
        for batch in batches:
            batch.tree.hidden[batch.nodes] = h[:, batch.start : batch.stop].t()
            for node in batch.nodes:
                batch.tree.done[node] = True

    def _run(self, layers: range, h: Tensor, batches: list[Batch]) -> Tensor:
        depths = torch.tensor([[b.tree.depths[n] for b in batches for n in b.nodes]])
        cos, sin = (part[0].t() for part in self.rotary(self.embedding[:1], depths))
        for index in layers:
            layer = self.layers[index]
            h = h + layer.out @ self._attend(index, layer, h, cos, sin, batches)
            gate, up = (layer.gate_up @ self._rms(h, layer.after)).chunk(2)
            h = h + layer.down @ (torch.nn.functional.silu(gate) * up)
        return h

    def _batches(self, lacking: dict[Tree, list[int]]) -> list[Batch]:
        batches, start = [], 0
        for tree, nodes in lacking.items():
            if nodes:
                order = sorted(nodes)
                stop = start + len(order)
                batches.append(Batch(tree, order, start, stop, self._bias(tree, order)))
                start = stop
        return batches

    def _bias(self, tree: Tree, nodes: list[int]) -> Tensor:
        """Added to attention scores, [repeats * nodes, all nodes]: 0 for ancestors, else -inf."""
        sees = tree.sees[nodes, : len(tree)]
        bias = torch.zeros(sees.shape, dtype=torch.float32).masked_fill_(~sees, float("-inf"))
        return bias.repeat(self.heads // self.kv_heads, 1)

    def _rms(self, h: Tensor, weight: Tensor) -> Tensor:
        wide = h.float()
        scale = torch.rsqrt(wide.square().mean(dim=0, keepdim=True) + self.eps)
        return (wide * scale).to(h.dtype) * weight[:, None]

    def _attend(
        self, index: int, layer: Layer, h: Tensor, cos: Tensor, sin: Tensor, batches: list[Batch]
    ) -> Tensor:
        size = self.shape.head_dim
        qkv = (layer.qkv @ self._rms(h, layer.before)).view(-1, size, h.shape[1])
        q, k, v = torch.split(qkv, [self.heads, self.kv_heads, self.kv_heads])
        q = _rotate(self._head_norm(q, layer.q_norm), cos, sin)
        k = _rotate(self._head_norm(k, layer.k_norm), cos, sin)
        mixed = torch.empty_like(q)
        for batch in batches:
            columns = slice(batch.start, batch.stop)
            tree = batch.tree
            tree.keys[index][:, batch.nodes] = k[:, :, columns].transpose(1, 2)
            tree.values[index][:, batch.nodes] = v[:, :, columns].transpose(1, 2)
            mixed[:, :, columns] = self._one(index, tree, q[:, :, columns], batch.bias)
        return mixed.view(-1, h.shape[1])

    def _head_norm(self, x: Tensor, weight: Tensor | None) -> Tensor:
        if weight is None:
            return x
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + self.eps)
        return (wide * scale).to(x.dtype) * weight[:, None]

    def _one(self, index: int, tree: Tree, q: Tensor, bias: Tensor) -> Tensor:
        """Attention of one tree's new nodes, [heads, dim, nodes], over all nodes they see."""
        heads, size, count = q.shape
        rows = q.transpose(1, 2).reshape(self.kv_heads, -1, size)
        keys, values = tree.keys[index][:, : len(tree)], tree.values[index][:, : len(tree)]
        scores = (rows @ keys.transpose(1, 2)).float() * size**-0.5 + bias
        mixed = torch.softmax(scores, dim=-1).to(q.dtype) @ values
        return mixed.view(heads, count, size).transpose(1, 2)

    @torch.no_grad()
    def logits(self, places: Sequence[tuple[Tree, int]]) -> Tensor:
        """Next-token logits after each computed place, [places, vocabulary], float32."""
        hidden = torch.stack([tree.hidden[node] for tree, node in places])
        return torch.matmul(self.head, hidden.t()).float().t()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of [heads, dim, tokens] by angles of [dim, tokens]."""
    low, high = x.chunk(2, dim=1)
    return x * cos + torch.cat([-high, low], dim=1) * sin
