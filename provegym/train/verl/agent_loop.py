"""verl's agent loop over the project's own: one live session an episode, rewarded while it lives.

verl makes one object of it for each episode, and tells the two apart: the policy's faults are
scored, ours are raised, so that verl drops the episode instead of learning from a reward of 0.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput

from provegym.rewards.total import score
from provegym.rollout.loop import Limits, run_episode
from provegym.train.adapter import components, see_unmasked
from provegym.train.sessions import opener
from provegym.train.verl.episodes import Journal, Row
from provegym.train.verl.formats import FORMATS
from provegym.train.verl.policy import Budget, ServedPolicy
from provegym.train.verl.tokens import Tokens
from provegym.types import Task, Trace


class ProvegymAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Plays the task of one row; the keys of the launcher's file arrive as arguments.

    That file alone registers it: verl's decorator would put a bare entry in the place of its own
    once this module is imported, which is at the first episode.
    """

    def __init__(
        self,
        *args: Any,
        calls: str = "hermes",
        preset: str = "paper",
        max_assistant_turns: int = 10,
        max_result_chars: int = 65_536,
        sessions: str = "",
        journal: str = "",
        **kwargs: Any,
    ) -> None:
        """`sessions` is the URL of a gateway, `journal` the folder of the episodes' records."""
        super().__init__(*args, **kwargs)
        rollout = self.rollout_config
        self._budget = Budget(rollout.prompt_length, rollout.response_length, max_assistant_turns)
        self._limits = Limits(max_steps=max_assistant_turns, max_result_chars=max_result_chars)
        self._parse, self._preset, self._url = FORMATS[calls], preset, sessions
        self._journal = Journal(journal)

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play, score and hand over the tokens. Raises `InfrastructureError` for our faults."""
        task = msgspec.json.decode(row["extra_info"]["task"], type=Task)
        name, began = f"{row['uid']}-{row.get('session_id', 0)}", time.perf_counter()
        tokens = Tokens(self.tokenizer, self.continuous_token_builder)
        policy = ServedPolicy(
            self.server_manager, name, sampling_params, tokens, self._parse, self._budget
        )
        learnt = sampling_params.get("temperature") != 0  # verl validates greedily
        record = Row(name, task.id, int(row.get("global_steps", 0)), learnt)
        with self._journal.episode(record) as episode:
            trace = await self._play(task, policy, name)
            judged = score(task, trace, self._preset)
            see_unmasked(trace, judged)
            assert judged.total is not None
            parts = {**components(task, trace, judged), "replies": float(policy.replies)}
            episode.played(judged.total, parts, trace.stop_reason)
        seconds = time.perf_counter() - began
        return self._output(policy, len(trace.messages) - 1, judged.total, parts, seconds)

    async def _play(self, task: Task, policy: ServedPolicy, name: str) -> Trace:
        """One episode over a session of its own, which is closed at the end."""
        open_session = opener(self._url)
        opened = asyncio.to_thread(open_session, task) if self._url else None
        session = await opened if opened else open_session(task)
        return await run_episode(task, session, policy, limits=self._limits, trace_id=name)

    def _output(
        self,
        policy: ServedPolicy,
        turns: int,
        total: float,
        parts: dict[str, float],
        seconds: float,
    ) -> AgentLoopOutput:
        tokens, (first, last) = policy.tokens, policy.versions
        return AgentLoopOutput(
            prompt_ids=tokens.prompt,
            response_ids=tokens.response,
            response_mask=tokens.mask,
            response_logprobs=tokens.logprobs,
            reward_score=total,
            num_turns=turns,
            metrics={
                "generate_sequences": policy.seconds,
                "tool_calls": seconds - policy.seconds,
            },
            extra_fields={
                "reward_extra_info": parts,
                "turn_scores": [],
                "tool_rewards": [],
                "min_global_steps": first,
                "max_global_steps": last,
            },
        )
