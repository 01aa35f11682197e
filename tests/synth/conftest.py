"""Candidates over the four servers, made once for all tests of the package."""

from __future__ import annotations

import pytest

from provegym import servers
from provegym.config import Synth
from provegym.graph.build import build
from provegym.graph.edges import Graph
from provegym.synth.make import Candidate, Maker, Plan, Rejection

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
SETTINGS = Synth(limit=24, world_seeds=3, tools_per_task=8)
COUNT = 360


@pytest.fixture(scope="session")
def graph() -> Graph:
    return build([servers.load(name) for name in NAMES], worlds=1, tries=1)


@pytest.fixture(scope="session")
def outcomes(graph: Graph) -> list[Candidate | Rejection]:
    maker = Maker(PLAN, SETTINGS, graph)
    return [maker.make(i) for i in range(COUNT)]


@pytest.fixture(scope="session")
def candidates(outcomes: list[Candidate | Rejection]) -> list[Candidate]:
    return [o for o in outcomes if isinstance(o, Candidate)]
