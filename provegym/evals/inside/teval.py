"""T-Eval's own evaluators over predictions, item by item.

Run by the interpreter of T-Eval's environment: SOURCE (the folder that holds `evaluators`), JOB
(JSON: evaluator, options, fields, embedder, embeddings, items) and OUT. Writes for each item what
the evaluator says of it alone: the score of a file is the mean over these, as T-Eval computes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

BATCH = 64
"""Texts that are embedded together."""
TOLD = "embedded {done} of {of} texts\n"
"""What is printed after each batch."""


def main(source: Path, job: Path, out: Path) -> None:
    """Score the items of one job."""
    asked = json.loads(job.read_text("utf-8"))
    evaluators = load(source, embeds=bool(asked["embedder"]))
    options = {**asked["options"], "bert_score_model": asked["embedder"]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "item.json"
        evaluator = getattr(evaluators, asked["evaluator"])(str(file), **options)
        if asked["embedder"]:
            scores(evaluator, file, asked)  # a rehearsal, for the texts that will be compared
            evaluator.sentence_model.learn(Path(asked["embeddings"]))
        found = scores(evaluator, file, asked)
    out.write_text(json.dumps(found), "utf-8")


def scores(evaluator: Any, file: Path, asked: dict[str, Any]) -> dict[str, dict[str, float]]:
    """What the evaluator says of each item."""
    found = {}
    for name, item in asked["items"].items():
        file.write_text(json.dumps({name: item}), "utf-8")
        told = evaluator.evaluate()
        found[name] = {field: float(told[field]) for field in asked["fields"]}
    return found


def load(source: Path, *, embeds: bool) -> Any:
    """The evaluators, without what surrounds them: the package's own start needs its whole zoo."""
    package = ModuleType("teval")
    package.__path__ = [str(source)]
    sys.modules["teval"] = package
    for unused in ("evaluate", "termcolor"):
        sys.modules.setdefault(unused, stand_in(unused))
    sys.modules["sentence_transformers"] = embedding() if embeds else stand_in("none")
    import teval.evaluators

    return teval.evaluators


def stand_in(name: str) -> ModuleType:
    """A module with the names that are imported and not used."""
    module = ModuleType(name)
    module.colored = module.util = None  # type: ignore[attr-defined]
    module.SentenceTransformer = lambda path: None  # type: ignore[attr-defined]
    return module


def embedding() -> Any:
    """`sentence_transformers`, whose models note what is asked of them until they `learn` it, in
    batches of like length and no text twice.
    """
    import sentence_transformers
    import torch

    class Remembering(sentence_transformers.SentenceTransformer):  # type: ignore[misc]
        def __init__(self, path: str) -> None:
            super().__init__(path)
            self.known: dict[str, Any] = {}

        def encode(self, texts: str | list[str], **options: Any) -> Any:
            if isinstance(texts, str):
                return self.known.setdefault(texts, torch.ones(1))
            return torch.stack([self.encode(text) for text in texts])

        def learn(self, kept: Path) -> None:
            """Each embedding is kept in a file of that folder, so that a killed run goes on."""
            kept.mkdir(parents=True, exist_ok=True)
            places = {text: kept / hashlib.sha256(text.encode()).hexdigest() for text in self.known}
            new = sorted((text for text in places if not places[text].exists()), key=len)
            for start in range(0, len(new), BATCH):
                some = new[start : start + BATCH]
                found = super().encode(some, convert_to_tensor=True, show_progress_bar=False)
                for text, vector in zip(some, found.float().cpu(), strict=True):
                    write(places[text], vector.numpy().tobytes())
                sys.stdout.write(TOLD.format(done=start + len(some), of=len(new)))
                sys.stdout.flush()
            self.known = {
                text: torch.frombuffer(bytearray(place.read_bytes()), dtype=torch.float32)
                for text, place in places.items()
            }

    sentence_transformers.SentenceTransformer = Remembering
    return sentence_transformers


def write(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
