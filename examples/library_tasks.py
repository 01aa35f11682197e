"""The whole pipeline over a server of your own: graph, certified tasks, a policy, its score.

python examples/library_tasks.py runs/library
"""

from __future__ import annotations

import sys
from pathlib import Path

from provegym import servers, worlds
from provegym.config import Synth
from provegym.graph.build import build
from provegym.rollout.policies import oracle
from provegym.rollout.run import rollout_file
from provegym.scoring import score_files
from provegym.synth.make import Plan
from provegym.synth.pipeline import synthesize

servers.SERVERS["library"] = "library_server"  # the folder beside this file


def main(folder: Path) -> None:
    """Make 20 tasks about the library, solve them by their ground truth, and score that."""
    tasks, traces = folder / "tasks.jsonl", folder / "traces.jsonl"
    graph = build([servers.load("library")])
    plan = Plan(7, servers=("library",), others=("library", "calendar"))  # some distract
    made = synthesize(plan, Synth(limit=20), graph, tasks)
    rollout_file(tasks, "oracle", traces, open_session=worlds.open_session, make_policy=oracle)
    scored = score_files(tasks, traces, "strict", folder / "scores.jsonl")
    print(f"{len(graph.edges)} edges, {made.tasks} certified tasks of {made.candidates} candidates")
    print(f"the oracle earns {scored.means['normalized']:.0%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
