"""A local transformers checkpoint as a policy (`hf:PATH`).

`torch` and `transformers` are imported when something is built, never with this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provegym.errors import InputError, ProvegymError, Unrenderable
from provegym.llm.hermes import as_text, with_objects
from provegym.rollout.parse import parse
from provegym.rollout.reply import Reply
from provegym.types import Task, Usage

DEFAULT_NEW_TOKENS = 512


@dataclass(frozen=True)
class _Request:
    prompt: list[int]
    most: int
    answer: asyncio.Future[list[int]]


class BatchedGenerator:
    """Collects the requests of the episodes in one event loop and answers them in batches.

    The model runs when every live episode waits for an answer, so what is batched together
    depends on the episodes alone and never on timing: for a fixed order of requests and a seed
    given by `torch.manual_seed`, the answers are the same in every run. The event loop stands
    still while the model runs; nobody else has anything to do then.

        generator = BatchedGenerator(model, tokenizer, max_new_tokens=256, temperature=1.0)
        with generator.episode():
            answer = await generator.generate(prompt_ids)
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_new_tokens: int = DEFAULT_NEW_TOKENS,
        temperature: float = 0.0,
        max_batch: int = 16,
    ) -> None:
        """`temperature` 0 is greedy; otherwise plain sampling, without top-k or top-p."""
        self._model = model
        self._end = _end_tokens(model, tokenizer)
        self._pad = self._end[0] if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        self._max_batch = max_batch
        self._config = _generation_config(max_new_tokens, temperature, self._end, self._pad)
        self._live = 0
        self._waiting: list[_Request] = []

    @property
    def max_new_tokens(self) -> int:
        """The longest answer, in tokens."""
        return int(self._config.max_new_tokens)

    @property
    def context(self) -> int:
        """The longest prompt and answer together that the model was built for, in tokens."""
        return int(getattr(self._model.config, "max_position_embeddings", 0)) or 2**31

    @contextmanager
    def episode(self) -> Iterator[None]:
        """Count one episode as live: the model does not run until it waits or ends, too."""
        self._live += 1
        try:
            yield
        finally:
            self._live -= 1
            self._look_soon()

    async def generate(self, prompt_ids: list[int], most: int | None = None) -> list[int]:
        """The new tokens after `prompt_ids`, up to an end token, which is included.

        Without an end token the answer was cut at `max_new_tokens`, or at `most` where that is
        fewer. Call it inside `episode()`.
        """
        answer: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append(
            _Request(prompt_ids, min(most or self.max_new_tokens, self.max_new_tokens), answer)
        )
        self._look_soon()
        return await answer

    def without_end(self, new_ids: Sequence[int]) -> list[int]:
        """An answer without its end token."""
        return list(new_ids[:-1] if new_ids and new_ids[-1] in self._end else new_ids)

    def _look_soon(self) -> None:
        """Look whether all wait, once everything that can run now has run."""
        if self._waiting and len(self._waiting) >= self._live:
            self._waiting[0].answer.get_loop().call_soon(self._run_if_all_wait)

    def _run_if_all_wait(self) -> None:
        self._waiting = [request for request in self._waiting if not request.answer.done()]
        if len(self._waiting) < max(1, self._live):
            return
        requests, self._waiting = self._waiting, []
        requests.sort(key=lambda request: len(request.prompt))  # stable; little padding
        for start in range(0, len(requests), self._max_batch):
            self._answer(requests[start : start + self._max_batch])

    def _answer(self, batch: list[_Request]) -> None:
        try:
            prompts, longest = [r.prompt for r in batch], max(r.most for r in batch)
            answers = self._run_model(prompts, longest)
        except Exception as error:  # noqa: BLE001 - a callback has no caller: the waiters are told
            for request in batch:
                request.answer.set_exception(error)
            return
        for request, answer in zip(batch, answers, strict=True):
            request.answer.set_result(answer[: request.most])

    def _run_model(self, prompts: list[list[int]], most: int) -> list[list[int]]:
        import torch

        config = copy(self._config)
        config.max_new_tokens = most
        width = max(map(len, prompts))
        ids = torch.tensor([[self._pad] * (width - len(p)) + p for p in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        device = self._model.device
        with torch.no_grad():
            rows = self._model.generate(
                input_ids=ids.to(device),
                attention_mask=mask.to(device),
                generation_config=config,
            )
        return [self._cut(row) for row in rows[:, width:].tolist()]

    def _cut(self, new_ids: list[int]) -> list[int]:
        for position, token in enumerate(new_ids):
            if token in self._end:
                return new_ids[: position + 1]
        return new_ids


def _end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """The tokenizer's end token and those of the model's generation settings."""
    configured = model.generation_config.eos_token_id
    several = configured if isinstance(configured, list) else [configured]
    return [t for t in dict.fromkeys([tokenizer.eos_token_id, *several]) if t is not None]


def _generation_config(new_tokens: int, temperature: float, end: list[int], pad: int) -> Any:
    from transformers import GenerationConfig

    sampled = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
    return GenerationConfig(
        max_new_tokens=new_tokens,
        eos_token_id=end,
        pad_token_id=pad,
        repetition_penalty=1.0,
        **(sampled if temperature > 0 else {"do_sample": False}),
    )


def hf_policy(
    path: str,
    *,
    temperature: float = 0.0,
    max_new_tokens: int = DEFAULT_NEW_TOKENS,
    max_batch: int = 16,
    lenient: bool = True,
    seed: int = 0,
) -> LocalPolicies:
    """Load the checkpoint in folder `path` (nothing is downloaded) as a policy factory.

    It runs on a GPU where there is one, in the precision it is stored in. Greedy answers are the
    same in every run; sampled ones are for the same episodes and `seed` (a resumed run has fewer
    episodes). Raises `InputError` for a folder without a loadable model or a chat template.
    """
    if not Path(path).is_dir():
        raise InputError(f"no checkpoint at {path!r}: hf: takes the folder of a saved model")
    if (Path(path) / "adapter_config.json").is_file():
        raise InputError(f"{path!r} holds an adapter and no whole model; merge it into its base")
    import torch

    model, tokenizer = _load(path)
    torch.manual_seed(seed)
    model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    generator = BatchedGenerator(
        model,
        tokenizer,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        max_batch=max_batch,
    )
    return LocalPolicies(generator, tokenizer, lenient=lenient)


class LocalPolicies:
    """A policy factory over one generator."""

    def __init__(self, generator: BatchedGenerator, tokenizer: Any, *, lenient: bool) -> None:
        self._generator, self._tokenizer, self._lenient = generator, tokenizer, lenient
        self._knows_tools = "tools" in str(tokenizer.chat_template)

    def __call__(self, task: Task, seed: int) -> LocalPolicy:
        """The policy of one episode, live from now on. `seed` is not used: batches share one."""
        return LocalPolicy(self)

    def prompt_ids(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[int]:
        """The conversation as the model reads it, up to where it is to go on.

        A chat template that knows no tools gets them as text. Raises `Unrenderable`.
        """
        from jinja2 import TemplateError  # comes with transformers' templates

        known = self._knows_tools
        shown = with_objects(messages) if known else as_text(messages, tools)
        try:
            ids = self._tokenizer.apply_chat_template(
                shown,
                tools=(tools or None) if known else None,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=False,
            )
        except (TemplateError, TypeError) as error:  # a template may add a text to a number
            told = " ".join(str(error).split())[:300]
            roles = ", ".join(message["role"] for message in messages[:8])
            raise Unrenderable(
                f"the model's chat template refuses a conversation of {roles}: {told}"
            ) from error
        return list(ids)

    def reply(self, read: int, new_ids: list[int]) -> Reply:
        """The message in the tokens that the model wrote after a prompt of `read` tokens."""
        said = self._generator.without_end(new_ids)
        text = self._tokenizer.decode(said)
        parsed = parse(text, lenient=self._lenient)
        return Reply(
            content=parsed.content,
            calls=parsed.calls,
            usage=Usage(read, len(new_ids)),
            raw=text,
            form=parsed.form,
            reasoning=parsed.reasoning,
            cut=len(said) == len(new_ids),
        )

    @property
    def chat_template(self) -> str:
        """The Jinja text that renders conversations."""
        return str(self._tokenizer.chat_template)

    @property
    def generator(self) -> BatchedGenerator:
        """What the policies of this factory share."""
        return self._generator


class LocalPolicy:
    """One episode's policy. It counts as live from its making to `aclose`."""

    def __init__(self, shared: LocalPolicies) -> None:
        self._shared = shared
        self._most = shared.generator.max_new_tokens
        self._stay = ExitStack()
        self._stay.enter_context(shared.generator.episode())

    async def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """Generate the next message; `overflow` where the model's context cannot hold it."""
        generator = self._shared.generator
        prompt = self._shared.prompt_ids(messages, tools)
        if len(prompt) + self._most > generator.context:
            return Reply(overflow=True)
        return self._shared.reply(len(prompt), await generator.generate(prompt, self._most))

    def limit(self, tokens: int) -> None:
        """Write messages of at most so many tokens; never more than all may have."""
        self._most = min(tokens, self._shared.generator.max_new_tokens)

    async def aclose(self) -> None:
        """The episode is over: the others no longer wait for it."""
        self._stay.close()


PARTS: Mapping[str, Sequence[str]] = {
    "config.json": ("config.json",),
    "weights": ("*.safetensors", "*.bin"),
    "tokenizer": ("tokenizer*", "vocab*", "*.model"),
}
"""What a checkpoint consists of, and names of files that hold it."""


def _load(path: str) -> tuple[Any, Any]:
    """Model and tokenizer of a local folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if lacks := [what for what, names in PARTS.items() if not _holds(Path(path), names)]:
        raise InputError(
            f"{path!r} is no checkpoint of transformers: it has no {lacks[0]}; give the folder "
            "that `save_pretrained` of a model and its tokenizer wrote"
        )
    with loading(path):
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype="auto")
    if not tokenizer.chat_template:
        raise InputError(f"the checkpoint {path!r} has no chat template; add one to its tokenizer")
    return model, tokenizer


@contextmanager
def loading(path: str) -> Iterator[None]:
    """Raise `InputError`, in one line, for whatever the libraries raise over a broken file."""
    try:
        yield
    except (ProvegymError, ModuleNotFoundError):
        raise
    except Exception as error:  # safetensors, tokenizers and torch raise their own
        told = " ".join(str(error).split())[:300]
        if not isinstance(error, OSError | ValueError):  # whose text alone says nothing
            told = f"a broken file, or one of another kind ({type(error).__name__}: {told})"
        raise InputError(f"cannot load the checkpoint {path!r}: {told}") from error


def _holds(folder: Path, names: Sequence[str]) -> bool:
    """Whether a file of one of the names lies in the folder."""
    return any(path.is_file() for name in names for path in folder.glob(name))
