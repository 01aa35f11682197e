"""Policies by the name a user gives."""

from __future__ import annotations

from provegym.errors import InputError, UnknownName
from provegym.rollout.policies import POLICIES
from provegym.rollout.reply import PolicyFactory


def policy_factory(
    name: str,
    *,
    base_url: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    timeout: float = 120.0,
    retries: int = 5,
    lenient: bool = True,
    concurrency: int = 16,
    seed: int = 0,
) -> PolicyFactory:
    """The factory of `oracle`, `noop`, `random`, `openai:MODEL` or `hf:PATH`.

    `temperature` None is the endpoint's own default, and greedy for a local checkpoint;
    `max_tokens` limits one message. Raises `UnknownName` for any other name and `InputError`
    where a library, a key or a checkpoint is missing.
    """
    if name in POLICIES:
        return POLICIES[name]
    kind, _, target = name.partition(":")
    if kind not in ("openai", "hf") or not target:
        raise UnknownName("policy", name, [*POLICIES, "openai:MODEL", "hf:PATH"])
    if kind == "openai":
        return _openai(target, base_url, temperature, max_tokens, timeout, retries, lenient)
    return _local(target, temperature, max_tokens, concurrency, lenient, seed)


def _openai(
    model: str,
    base_url: str | None,
    temperature: float | None,
    max_tokens: int | None,
    timeout: float,
    retries: int,
    lenient: bool,
) -> PolicyFactory:
    try:
        from provegym.llm.client import Sampling, openai_policy
    except ModuleNotFoundError as error:
        raise _not_installed(error, "llm") from error
    sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
    return openai_policy(
        model, base_url, sampling=sampling, timeout=timeout, retries=retries, lenient=lenient
    )


def _local(
    path: str,
    temperature: float | None,
    max_tokens: int | None,
    concurrency: int,
    lenient: bool,
    seed: int,
) -> PolicyFactory:
    try:
        from provegym.llm.local import DEFAULT_NEW_TOKENS, hf_policy

        return hf_policy(
            path,
            temperature=temperature or 0.0,
            max_new_tokens=max_tokens or DEFAULT_NEW_TOKENS,
            max_batch=concurrency,
            lenient=lenient,
            seed=seed,
        )
    except ModuleNotFoundError as error:
        raise _not_installed(error, "train") from error


def _not_installed(error: ModuleNotFoundError, extra: str) -> InputError:
    return InputError(f"{error.name} is not installed; run: pip install 'provegym[{extra}]'")
