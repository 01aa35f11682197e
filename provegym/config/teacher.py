"""`[teacher]`: the language model that writes tasks, and those known by a short name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from provegym.config.section import AtOnce, Count, Natural, Positive, Section, endpoint_url
from provegym.config.toml import read_toml
from provegym.errors import UnknownName

PRESETS = Path(__file__).parents[1] / "llm" / "presets"
"""A file for each teacher that is known by a short name."""


class Prices(Section):
    """US dollars for a million tokens, from the price list of who runs the endpoint."""

    prompt: Annotated[float, Field(ge=0)] = 0.0
    completion: Annotated[float, Field(ge=0)] = 0.0
    cached: Annotated[float, Field(ge=0)] | None = None
    """Prompt tokens that the endpoint read from its own cache; as others, where not given."""


class Preset(Section):
    """A teacher that is known by a short name; its file says where the values come from."""

    launch: str
    """The command that serves it at http://127.0.0.1:8000/v1."""
    teacher: dict[str, Any]
    """Settings of a `Teacher`."""


def presets() -> list[str]:
    """The short names."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def preset(name: str) -> Preset:
    """The teacher of that short name. Raises `UnknownName`."""
    if name not in presets():
        raise UnknownName("teacher preset", name, presets())
    return Preset.model_validate(read_toml(PRESETS / f"{name}.toml"))


class Teacher(Section):
    """The language model that writes tasks, behind an endpoint of OpenAI's protocol (defaults are
    ours, but for `timeout` and `retries`, which are the `openai` client's).
    """

    preset: str = ""
    """The short name of a teacher: its model, its sampling and whether it thinks (filled in by
    `parse`); what else is set here wins."""
    model: str = ""
    """As the endpoint names it; empty means the offline teacher, which is none."""
    base_url: Annotated[str, AfterValidator(endpoint_url)] = ""
    """Empty means the variable OPENAI_BASE_URL, else OpenAI's own endpoint."""
    mode: Literal["tools", "json"] = "tools"
    """`json` describes the tools in the prompt, for endpoints without tool calls."""
    temperature: Annotated[float, Field(ge=0)] = 0.7
    max_tokens: Count = 4096
    """Of one answer, reasoning included."""
    extra: dict[str, Any] = Field(default={})
    """Further fields of each request, as they are: `top_p`, or vLLM's `chat_template_kwargs`."""
    timeout: Positive = 600.0
    """Seconds that one request may take."""
    concurrency: AtOnce = 256
    """Requests under way at once."""
    retries: Natural = 2
    """How often a request is made again that was sent and not answered (a time-out, a cut
    connection, a broken answer), or that fails while others are answered."""
    patience: Annotated[float, Field(ge=0)] = 600.0
    """Seconds for which an endpoint is waited for that is busy or not there."""
    prices: Prices = Prices()
    budget_usd: Annotated[float, Field(ge=0)] = 0.0
    """The most that all requests may cost, those in `cache` included; 0 sets no limit."""
    budget_tokens: Natural = 0
    """The most tokens that they may read and write; 0 sets no limit."""
    cache: str = ""
    """File of the answers; empty means one beside the tasks."""
    languages: Annotated[tuple[str, ...], Field(min_length=1)] = ("English",)
    """What users write in; each task takes one of them."""
    refresh_context: Count = 20
    """Tasks about one server for which users speak of the same sample of each world."""
    critique: bool = False
    """Let the model read each conversation that passed everything else, and reject it."""

    @model_validator(mode="after")
    def _money_has_prices(self) -> Teacher:
        if self.budget_usd and not (self.prices.prompt or self.prices.completion):
            raise ValueError("budget_usd needs prices (US dollars for a million tokens)")
        return self

    def identity(self) -> dict[str, Any]:
        """What shapes the answers. How the model is reached and paid for may change in a run."""
        shaping = {"model", "mode", "temperature", "max_tokens", "extra"}
        shaping |= {"languages", "refresh_context", "critique"}
        return self.model_dump(mode="json", include=shaping)
