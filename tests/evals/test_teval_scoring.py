"""The script that runs inside T-Eval's environment: what it embeds, and what it tells."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from provegym.errors import InfrastructureError
from provegym.evals import process
from provegym.evals.inside import teval as inside
from provegym.evals.teval import EMBEDDED


class Model:
    """Embeds a text as its length and its first letter; dies when it is asked for too many."""

    asked: list[str]
    most: float

    def __init__(self, path: str) -> None:
        pass

    def encode(self, texts: list[str], **options: Any) -> torch.Tensor:
        if len(Model.asked) + len(texts) > Model.most:
            raise KeyboardInterrupt
        Model.asked += texts
        return torch.tensor([[len(text), ord(text[0])] for text in texts], dtype=torch.float64)


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> Any:
    library: Any = ModuleType("sentence_transformers")
    library.SentenceTransformer = Model
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setattr(inside, "BATCH", 2)
    Model.asked, Model.most = [], float("inf")
    return inside.embedding().SentenceTransformer


def noted(remembering: Any) -> Any:
    """A model that was asked for five texts, two of them twice."""
    model = remembering("path")
    assert model.encode(["ccc", "a", "ccc"]).shape == (3, 1)  # a rehearsal, which embeds nothing
    model.encode(["dddd", "bb", "a", "eeeee"])
    return model


def test_texts_are_embedded_in_batches_of_like_length_and_none_twice(
    remembering: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = noted(remembering)
    model.learn(tmp_path)
    assert Model.asked == ["a", "bb", "ccc", "dddd", "eeeee"]
    assert model.encode(["bb", "a"]).tolist() == [[2, ord("b")], [1, ord("a")]]
    told = [tuple(map(int, found)) for found in EMBEDDED.findall(capsys.readouterr().out)]
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_embedding_goes_on_where_it_was_stopped(remembering: Any, tmp_path: Path) -> None:
    Model.most = 3
    with pytest.raises(KeyboardInterrupt):
        noted(remembering).learn(tmp_path)
    assert Model.asked == ["a", "bb"]
    Model.asked, Model.most = [], float("inf")
    model = noted(remembering)
    model.learn(tmp_path)
    assert Model.asked == ["ccc", "dddd", "eeeee"]
    assert model.encode("a").tolist() == [1, ord("a")]
    Model.most = 0
    noted(remembering).learn(tmp_path)  # all is known


def test_a_harness_that_was_killed_is_not_said_to_have_failed(tmp_path: Path) -> None:
    def run(code: str) -> None:
        command = [sys.executable, "-c", f"import os; print('half done', flush=True); {code}"]
        process.run(command, environment={}, folder=tmp_path, log=tmp_path / "log")

    with pytest.raises(InfrastructureError, match=r"was killed by SIGKILL: half done"):
        run("os.kill(os.getpid(), 9)")
    with pytest.raises(InfrastructureError, match=r"failed: half done"):
        run("exit(3)")
