"""What is kept of what a model writes: users in known languages who do not say the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from provegym.config import Information, Mix
from provegym.dataset.dedupe import dedupe_file
from provegym.errors import EndpointDown, InputError
from provegym.graph.edges import Graph
from provegym.llm.scripted import Json, Response, ScriptedServer, fails, says
from provegym.records import read
from provegym.synth.asker import prompt
from provegym.types import Task
from tests.synth.competent import Competent
from tests.synth.test_studio import FEW, SETTINGS, competent, files, made, run

Spoiler = Callable[[Json], Response | None]


def is_wish(request: Json) -> bool:
    return str(request["messages"][0]["content"]).startswith(prompt("user"))


def wish(words: str) -> Spoiler:
    """Say this as the user."""

    def spoil(request: Json) -> Response | None:
        value = {"goal": words, "withheld": "", "words": words}
        return says(json.dumps(value)) if is_wish(request) else None

    return spoil


def repeating(request: Json) -> Response | None:
    """Say again what was said before."""
    about = json.loads(request["messages"][1]["content"]) if is_wish(request) else {}
    said = about.get("conversation")
    return wish(said[0]["user"])(request) if said else None


GERMAN = "Überweise bitte hundert Euro vom Girokonto auf das Sparkonto meiner Schwester."


@pytest.mark.parametrize(
    ("spoil", "reason", "told"),
    [
        (wish("Please look up acc_y12026 for me."), "internal_id", "would know acc_y12026"),
        (wish(GERMAN), "other_language", "it has to be in English"),
        (wish("And so on. " * 200), "too_long_turn", "nobody writes 2200 characters"),
        (repeating, "repeated_turn", "the user said just this before"),
    ],
    ids=["id", "language", "length", "repetition"],
)
def test_words_that_no_user_would_say_are_asked_for_anew_and_then_rejected(
    spoil: Spoiler, reason: str, told: str, graph: Graph, tmp_path: Path
) -> None:
    script, left = competent(), [3]

    def answer(request: Json) -> Response:
        found = spoil(request) if left[0] else None
        left[0] -= found is not None
        return found or script(request)

    settings = FEW.model_copy(update={"information": PLAIN})
    summary, server = made(answer, graph, tmp_path / "tasks.jsonl", settings, concurrency=1)
    assert summary.rejected.get(reason) == 1
    assert summary.tasks == FEW.limit
    reminded = [body["messages"][0]["content"] for body in server.requests]
    assert sum(told in text for text in reminded) == 2


PLAIN = Information(complete=1.0, missing_required=0.0, minimal=0.0)


def test_a_language_that_nobody_can_check_is_refused_before_anything_is_asked(
    graph: Graph, tmp_path: Path
) -> None:
    with (
        ScriptedServer(competent()) as server,
        pytest.raises(InputError, match="unknown language 'Klingon'; known: "),
    ):
        run(server, graph, tmp_path / "tasks.jsonl", languages=("English", "Klingon"))
    assert server.requests == []


IDLE = SETTINGS.model_copy(
    update={"limit": 4, "mix": Mix(kinds={"workflow": 0, "clarification": 0, "abstention": 1})}
)


def monotonous(request: Json) -> Response | None:
    """Half of the people say nearly the same whatever is wanted."""
    if not is_wish(request) or len(json.loads(request["messages"][1]["content"])["persona"]) % 2:
        return None
    word = "".join(chr(97 + int(digit)) for digit in str(request["seed"]))
    words = (
        "Please do something quite nice for my old friends and for me today, "
        f"whatever comes to your mind when you think of us and of {word}."
    )
    return says(json.dumps({"goal": words, "withheld": "", "words": words}))


def declining(script: Competent) -> Callable[[Json], Response]:
    """A monotonous user, and an assistant that can do nothing."""

    def answer(request: Json) -> Response:
        if "tools" in request:
            return says("I have no tool for that.")
        found = monotonous(request)
        return found or script(request)

    return answer


def test_users_who_say_nearly_the_same_are_kept_once_also_after_an_interruption(
    graph: Graph, tmp_path: Path
) -> None:
    whole, out = tmp_path / "whole" / "tasks.jsonl", tmp_path / "cut" / "tasks.jsonl"
    for path in (whole, out):
        path.parent.mkdir()
    summary, server = made(declining(competent()), graph, whole, IDLE)
    assert summary.tasks == IDLE.limit
    assert summary.rejected["duplicate_turns"] >= 2
    assert dedupe_file(whole, tmp_path / "unique.jsonl").kept == IDLE.limit
    script, served = declining(competent()), [0]

    def mortal(request: Json) -> Response:
        served[0] += 1
        return fails(503) if served[0] > len(server.requests) // 2 else script(request)

    with ScriptedServer(mortal) as cut:
        with pytest.raises(EndpointDown):
            run(cut, graph, out, IDLE, patience=0.01)
        assert 0 < len(list(read(out, Task))) < IDLE.limit
        served[0] = -1_000_000
        run(cut, graph, out, IDLE)
    assert files(out) == files(whole)
