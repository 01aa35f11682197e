"""A small model with a real chat template, and a server that says what a script says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from provegym import worlds
from provegym.dataset.conversation import opening
from provegym.rollout.loop import run_episode
from provegym.train import sft, tiny
from provegym.types import Task

HERE = Path(__file__).parent
QWEN = {"template": "qwen3.jinja", "special": ("<|endoftext|>", "<|im_start|>", "<|im_end|>")}
GRANITE = {
    "template": "granite.jinja",
    "special": ("<|pad|>", "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
}
MARKUP = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")


def tokenizer(corpus: Sequence[str], family: dict[str, Any] = QWEN, vocabulary: int = 700) -> Any:
    """A byte-level BPE; control tokens are single, and the last one ends a reply."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    special = list(family["special"])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(corpus, trainer)
    backend.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKUP])
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=special[-1], pad_token=special[0], padding_side="left"
    )
    made.chat_template = (HERE / family["template"]).read_text()
    return made


def rendered(known: Sequence[Task], family: dict[str, Any] = QWEN) -> list[str]:
    """The prompts of tasks as text, to train a tokenizer on."""
    plain = tokenizer([""], family)
    return [prompt(plain, task, tokenize=False) for task in known]


def prompt(tokenizer: Any, task: Task, *, tokenize: bool = True) -> Any:
    """What a policy reads first, by the chat template alone."""
    told = {"add_generation_prompt": True, "tokenize": tokenize, "return_dict": False}
    tools = msgspec.to_builtins(list(task.tools)) or None
    return tokenizer.apply_chat_template(opening(task), tools=tools, **told)


def save(folder: Path, tokenizer: Any) -> Path:
    """A model folder with random weights."""
    tiny.model(tokenizer, seed=1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def call(name: str, **arguments: Any) -> str:
    """A call as Qwen's template renders it."""
    told = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{told}\n</tool_call>"


class Scripted:
    """In place of verl's `LLMServerClient`: the replies of each episode, by its user turns.

    Keeps what it was asked and what it answered, by the episode's name.
    """

    def __init__(self, tokenizer: Any, say: Callable[[str, int], str | None]) -> None:
        """`say` gives the n-th reply to a prompt; None fails as a lost server does."""
        self.tokenizer, self.say = tokenizer, say
        self.asked: dict[str, list[tuple[list[int], list[int], list[float]]]] = {}

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        before = self.asked.setdefault(request_id, [])
        text = self.say(self.tokenizer.decode(prompt_ids), len(before))
        if text is None:
            return TokenOutput(token_ids=[], stop_reason="aborted")
        ids = [*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id]
        ids = ids[: sampling_params["max_tokens"]]
        logprobs = [-0.001 * (1 + len(before)) * (1 + place) for place in range(len(ids))]
        before.append((prompt_ids, ids, logprobs))
        told = {"global_steps": 7, "min_global_steps": 7, "max_global_steps": 7 + len(before)}
        return TokenOutput(
            token_ids=ids, log_probs=logprobs, stop_reason="completed", extra_fields=told
        )


def renamed(task: Task, name: str) -> Task:
    """The same task under another id."""
    return replace(task, id=name)


def lived(tokenizer: Any, task: Task, replies: Sequence[str]) -> sft.Example:
    """An episode with these replies, as the tokens that the agent loop would hand to verl."""
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    from provegym.train.verl.formats import hermes
    from provegym.train.verl.policy import Budget, ServedPolicy
    from provegym.train.verl.tokens import Tokens

    tokens = Tokens(tokenizer, create_continuous_token_builder(tokenizer, hf_model_type="qwen3"))
    server = Scripted(tokenizer, lambda prompt, n: replies[n])
    policy = ServedPolicy(server, task.id, {}, tokens, hermes, Budget(700, 600, 10))
    asyncio.run(run_episode(task, worlds.open_session(task), policy, trace_id=task.id))
    return sft.Example(task.id, tokens.ids, [0] * len(tokens.prompt) + tokens.mask)


def warm(folder: Path, tokenizer: Any, known: Sequence[Task], steps: int = 120) -> Path:
    """A model that writes calls, of which a third are right; what is better it has to find out."""
    examples = []
    for task in known:
        right = task.turns[0].calls[0]
        for first in (
            call("set_lamp", **right.arguments),
            call("get_lamp", room=right.arguments["room"]),
            '<tool_call>\n{"name": "set_lamp", "arguments": {"room"}}\n</tool_call>',
        ):
            examples.append(lived(tokenizer, task, [first, "Done."]))
        examples.append(lived(tokenizer, task, ["Done."]))
    model = tiny.model(tokenizer, seed=1)
    epochs = steps * 6 / len(examples)
    config = sft.SftConfig(epochs, batch_size=6, learning_rate=3e-3, save_every=steps)
    return sft.train(model, tokenizer, examples, config, folder)
