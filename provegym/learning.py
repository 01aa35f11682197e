"""The training part of a run: from settings to policies on disk, and a policy to play with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provegym import worlds
from provegym.config import RunConfig
from provegym.errors import InputError
from provegym.records import content_hash, read_rows
from provegym.rollout.loop import Limits as LoopLimits
from provegym.rollout.reply import Policy
from provegym.types import Task

if TYPE_CHECKING:
    from provegym.train.policy import Limits, LocalPolicies
    from provegym.train.sft import SftConfig

OWN_REPLY = 512
"""Most tokens of one message of a policy of our own, where nothing else is asked for."""

Show = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


def see_start(config: RunConfig) -> None:
    """Raise `InputError` where the config names a start that is no policy."""
    from provegym.train import models

    start = config.run.start
    if start and start != "shipped" and not models.is_policy(Path(start)):
        raise InputError(
            f"run.start: {start!r} holds no policy of provegym ({models.CARD} is missing); give a "
            "folder that a run wrote, or shipped"
        )


def starting_policy(config: RunConfig, tasks: list[Task], show: Show) -> Path:
    """The policy that training starts from; made by fine-tuning where the config names none."""
    if config.run.start == "shipped":
        from provegym.train import warmstart

        return warmstart.shipped()
    if config.run.start:
        return Path(config.run.start)
    return fine_tune(config, tasks, None, config.run.folder / "warm", show)


def fine_tune(
    config: RunConfig, tasks: list[Task], start: Path | None, out: Path, show: Show
) -> Path:
    """Teach the ground truth of `tasks` to the policy at `start`, or to a new one."""
    from provegym.train import models

    if models.is_policy(out / "policy"):
        return out / "policy"
    from provegym.train import sft

    _steady(config)
    model, tokenizer = _trainable(config, tasks, start)
    codec = _codec(config, tokenizer)
    data = sft.examples(tasks, worlds.open_session, codec, token_limits(config))
    settings = _sft_settings(config)
    steps = ceil(max(1, round(settings.epochs * len(data))) / settings.batch_size)
    with show(f"fine-tune {out.name}") as advance:
        return sft.train(
            model, tokenizer, data, settings, out, lambda done, _: advance(done, steps)
        )


def baseline(config: RunConfig, tasks: list[Task], start: Path, out: Path, show: Show) -> Path:
    """Fine-tune the policy at `start` on the tasks that `optimize` would learn from."""
    from provegym.train import models

    if models.is_policy(out / "policy"):
        return out / "policy"
    from provegym.train import baseline, sft

    _steady(config)
    model, tokenizer = models.load(start, trainable=True)
    codec, within = _codec(config, tokenizer), token_limits(config)
    data = sft.examples(tasks, worlds.open_session, codec, within, thin=False)
    data = data[: config.grpo.tasks or None]
    settings = _sft_settings(config)
    steps = ceil(settings.epochs * ceil(len(data) / settings.batch_size))
    with show(f"fine-tune {out.name}") as advance:
        return baseline.train(
            model, tokenizer, data, settings, out, lambda done, _: advance(done, steps)
        )


def _sft_settings(config: RunConfig) -> SftConfig:
    from provegym.train.sft import SftConfig

    return SftConfig(
        epochs=config.sft.epochs,
        batch_size=config.sft.batch_size,
        learning_rate=config.sft.learning_rate,
        warmup=config.sft.warmup,
        seed=config.run.seed,
    )


def optimize(config: RunConfig, tasks: list[Task], start: Path, show: Show) -> Path:
    """Train the policy at `start` by GRPO on `tasks`."""
    from provegym.train import models

    out, wanted = config.run.folder / "grpo", config.grpo
    if models.is_policy(out / "policy"):
        return out / "policy"
    from provegym.train import trl

    _steady(config)
    model, tokenizer = models.load(start, trainable=True)
    settings = trl.GrpoConfig(
        steps=wanted.steps,
        tasks=wanted.tasks,
        prompts_per_step=wanted.prompts_per_step,
        demonstrations=wanted.demonstrations,
        resample=wanted.resample,
        curriculum=wanted.curriculum,
        group_size=wanted.group_size,
        learning_rate=wanted.learning_rate,
        beta=wanted.beta,
        temperature=wanted.temperature,
        scale_rewards=wanted.scale_rewards,
        preset=wanted.preset,
        seed=config.run.seed,
        train_layers=wanted.train_layers,
        max_response_tokens=wanted.max_result_tokens,
        max_steps=wanted.max_steps,
        limits=token_limits(config),
        max_seconds=wanted.max_seconds,
    )
    with show("train") as advance:
        return trl.train(
            model,
            tokenizer,
            tasks,
            settings,
            out,
            worlds.open_session,
            lambda done, _: advance(done, wanted.steps),
        )


def rewards(folder: Path) -> list[float]:
    """The normalized training reward of each GRPO step of the run in `folder`."""
    rows = read_rows(folder / "grpo" / "curves.jsonl")
    return [row["reward"] for row in rows if row["reward"] is not None]


class Player:
    """A policy factory that loads its weights when the first episode starts.

    A file of traces that is complete needs none, and loading takes seconds.
    """

    def __init__(self, config: RunConfig, policy: Path) -> None:
        self._config, self._path = config, policy
        self._loaded: LocalPolicies | None = None

    def __call__(self, task: Task, seed: int) -> Policy:
        """The greedy policy of one episode."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded(task, seed)

    def _load(self) -> LocalPolicies:
        from provegym.train import models
        from provegym.train.policy import LocalPolicies

        _steady(self._config)
        model, tokenizer = models.load(self._path)
        codec = _codec(self._config, tokenizer)
        return LocalPolicies(model, codec, temperature=0.0, limits=token_limits(self._config))


def own_policy(
    name: str, temperature: float | None, max_tokens: int | None
) -> LocalPolicies | None:
    """The policies of `hf:PATH` where PATH is a folder that a run or `warmstart` wrote: an adapter
    over SmolLM2, or a whole model. They read and write the rendering that they were trained on, in
    as many tokens as the model was built for. None for any other name.

    `temperature` None is greedy; `max_tokens` limits one message. Raises `InputError` for a policy
    of another rendering.
    """
    from provegym.train import models

    kind, _, path = name.partition(":")
    if kind != "hf" or not models.is_policy(Path(path)):
        return None
    from provegym.train.engine import base_model
    from provegym.train.policy import Limits, LocalPolicies
    from provegym.train.transcript import Codec

    model, tokenizer = models.load(Path(path))
    half = base_model(model).config.max_position_embeddings // 2
    limits = Limits(prompt=half, completion=half, reply=max_tokens or OWN_REPLY)
    return LocalPolicies(model, Codec(tokenizer), temperature=temperature or 0.0, limits=limits)


def served_policy(path: Path, temperature: float, max_tokens: int | None) -> tuple[Any, str]:
    """The policies of a checkpoint for a server, which reads each conversation as one prompt, and
    the hash of how it renders them.

    Raises `InputError` for a folder without a loadable model.
    """
    own = own_policy(f"hf:{path}", temperature, max_tokens)
    if own is None:
        from provegym.llm.factory import policy_factory

        made: Any = policy_factory(f"hf:{path}", temperature=temperature, max_tokens=max_tokens)
        return made, hashlib.sha256(made.chat_template.encode()).hexdigest()
    from provegym.train import chat
    from provegym.train.engine import base_model
    from provegym.train.policy import Limits

    reply = own.limits.reply
    window = base_model(own.engine.model).config.max_position_embeddings
    own.limits = Limits(prompt=window - reply, completion=reply, reply=reply)
    rendering = f"provegym {chat.CHAT_VERSION}\n{chat.CHAT_TEMPLATE}"
    return own, hashlib.sha256(rendering.encode()).hexdigest()


def token_limits(config: RunConfig) -> Limits:
    """How many tokens an episode may have."""
    from provegym.train.policy import Limits

    return Limits(
        prompt=config.synth.max_prompt_tokens,
        completion=config.grpo.max_completion_tokens,
        reply=config.grpo.max_reply_tokens,
    )


def loop_limits(config: RunConfig) -> LoopLimits:
    """How many messages an episode may have."""
    return LoopLimits(max_steps=config.grpo.max_steps)


def weights_hash(policy: Path) -> str:
    """SHA-256, in hex, over the files of a policy folder. Raises `InputError` for a damaged one."""
    from provegym.train import models

    models.see_whole(policy)
    files = sorted(path for path in policy.iterdir() if path.is_file())
    text = "\n".join(f"{path.name} {content_hash(path)}" for path in files)
    return hashlib.sha256(text.encode()).hexdigest()


def _trainable(config: RunConfig, tasks: list[Task], start: Path | None) -> tuple[Any, Any]:
    from provegym.train import models, sft, smollm2, tiny

    if start is not None:
        return models.load(start, trainable=True)
    if config.run.policy == "tiny":
        tokenizer = tiny.tokenizer(sft.texts(tasks, worlds.open_session))
        return tiny.model(tokenizer, config.run.seed), tokenizer
    base, tokenizer = smollm2.load()
    return models.with_lora(base, config.sft.lora_rank, config.run.seed), tokenizer


def _codec(config: RunConfig, tokenizer: Any) -> Any:
    from provegym.train.transcript import Codec

    return Codec(tokenizer, config.grpo.max_result_tokens)


def _steady(config: RunConfig) -> None:
    """One thread for `tiny`: it is faster so, and gives the same bits on every run."""
    import torch

    from provegym.train import models

    models.quiet()
    if config.run.policy == "tiny":
        torch.set_num_threads(1)
