"""The frozen records that stages exchange, in the pinned file formats (schema 1).

Outside tools read and write these, so every field that reward and replay do not need has a
default, and unknown fields are ignored on reading.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

SCHEMA = 1
"""Version of the record formats below; a newer one is refused on reading."""

MOST_SEED = 2**63 - 1
"""Greatest seed, so that any client can hold it."""

MOST_TASKS = 10_000_000
"""Of one file, and worlds of one synthesis (ours: larger numbers are slips)."""

MOST_TRIALS = 10_000
"""Episodes of one task; more are a slip of the finger."""

MOST_AT_ONCE = 1000
"""Most episodes, requests or processes at once: more connections the `openai` client does not
open, and more is a slip of the finger."""

Outcome = Literal[
    "ok", "tool_error", "invalid_arguments", "malformed", "unknown_tool", "infrastructure"
]
"""What became of one call; `infrastructure` is our failure and masks the episode."""
OUTCOMES: tuple[str, ...] = get_args(Outcome)

Kind = Literal["workflow", "clarification", "abstention"]
Information = Literal["complete", "missing_required", "minimal"]

StopReason = Literal[
    "done",  # every user turn was answered
    "max_steps",  # the limit of assistant messages in one user turn
    "max_tokens",  # the limit of tokens in the episode
    "infrastructure",  # our failure; the episode is masked
]

Changes = dict[str, dict[str, dict[str, Any] | None]]
"""`{table: {row: {field: value} | None}}`; None is a deleted row, `+n` a created one."""


class Function(Struct, frozen=True):
    """A function as OpenAI-style chat APIs describe it."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


class Tool(Struct, frozen=True):
    """One entry of the `tools` list that a policy is shown."""

    function: Function
    type: Literal["function"] = "function"


class Ref(Struct, frozen=True):
    """Where an argument came from: the JSON Pointer `path` in the result of `call`."""

    call: str
    path: str


class GroundCall(Struct, frozen=True, omit_defaults=False):
    """One call of the ground truth. `refs` maps JSON Pointers in `arguments` to their source."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    after: tuple[str, ...] = ()
    refs: dict[str, Ref] = {}
    result: Any = None


class Turn(Struct, frozen=True, omit_defaults=True):
    """A user turn, the calls a correct agent makes in it, and the teacher's reply.

    `tools` become available from this turn on (missing-function tasks).
    """

    user: str = ""
    calls: tuple[GroundCall, ...] = ()
    reply: str = ""
    tools: tuple[Tool, ...] = ()


class Perturbations(Struct, frozen=True):
    """What was done to the tool list and the query after the chain was chosen (paper 3.2)."""

    distractors: int = 0
    enum_stripped: bool = False
    missing_function: str | None = None
    irrelevant: bool = False


class Certificate(Struct, frozen=True):
    """Evidence that a task is sound; see `provegym.synth.certify`."""

    passed: bool = False
    digest: str = ""
    checks: dict[str, bool] = {}
    scores: dict[str, float] = {}


class Task(Struct, frozen=True):
    """One episode's worth of work over one world; a line of `tasks.jsonl`."""

    id: str
    kind: Kind
    turns: tuple[Turn, ...]
    servers: tuple[str, ...] = ()
    seed: int = 0
    reference_time: str = ""
    persona: str = ""
    tools: tuple[Tool, ...] = ()
    final_changes: Changes = {}
    perturbations: Perturbations = Perturbations()
    information: Information = "complete"
    teacher: str = ""
    certificate: Certificate = Certificate()
    schema: int = SCHEMA

    @property
    def ground_truth(self) -> tuple[tuple[int, GroundCall], ...]:
        """All ground-truth calls in order, each with the 0-based turn it belongs to."""
        return tuple([(i, call) for i, turn in enumerate(self.turns) for call in turn.calls])


Place = Annotated[int, Meta(ge=0, le=2**31)]
"""A number from 0 on."""


class Call(Struct, frozen=True):
    """A call the policy made. `turn` is the user turn, `step` the assistant message (0-based).

    `arguments` is the decoded object, or the raw text where the outcome is `malformed`.
    """

    name: str
    arguments: Any
    turn: Place
    step: Place
    outcome: Outcome
    result: Any = None


class Usage(Struct, frozen=True):
    """Tokens the policy read and wrote in one episode (0 where it does not say)."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Trace(Struct, frozen=True):
    """One episode as it went; a line of `traces.jsonl`. `messages` are OpenAI chat messages."""

    id: str
    task_id: str
    calls: tuple[Call, ...]
    policy: str = ""
    seed: int = 0
    messages: tuple[dict[str, Any], ...] = ()
    final_changes: Changes = {}
    stop_reason: StopReason = "done"
    usage: Usage = Usage()
    score: dict[str, Any] = field(default_factory=dict)


class Score(Struct, frozen=True):
    """The reward of one trace; a line of `scores.jsonl`. Masked rows have null numbers."""

    trace_id: str
    task_id: str
    preset: str
    validity: float | None
    coverage: float | None
    efficiency: float | None
    name: float | None
    argument: float | None
    state: float | None
    total: float | None
    max_total: float | None
    normalized: float | None
    masked: bool = False
