"""The rules that keep the parts apart, held over the syntax trees of all source files.

Which part may import which, who may use which library, what the deterministic parts must not
touch, and how long files and functions may grow.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

CORE = {"types", "errors", "ground", "seeding", "differences", "records", "pairs"}
EPISODE = CORE | {"world", "worlds", "servers", "rollout"}
ANY = {
    *(
        "types",
        "errors",
        "ground",
        "seeding",
        "differences",
        "records",
        "pairs",
        "config",
        "scoring",
        "worlds",
        "loops",
    ),
    *("learning", "runs", "tables", "options", "terminal", "bench", "play"),
    *("cli_servers", "cli_dataset", "cli_graph", "cli_synth", "cli_serve", "cli_add", "cli_train"),
    *("cli_benchmark", "cli_eval", "cli_rollout", "cli_view", "contestants"),
    *("showing", "names", "ablation"),
    *("world", "servers", "gateway", "graph", "llm", "rollout", "synth", "dataset"),
    *("rewards", "train", "evals", "report", "viewer"),
}

MAY_IMPORT: dict[str, set[str]] = {
    "__init__": {"gateway"},  # `provegym.connect`, imported when it is called
    "types": set(),
    "errors": set(),
    "seeding": set(),
    "differences": set(),
    "ground": {"types", "errors"},
    "records": {"types", "errors", "ground", "seeding", "differences"},  # no task is read unsound
    "pairs": {"types", "errors", "records"},
    "world": CORE,
    "servers": CORE | {"world"},
    "servers/*": {"world", "types", "seeding"},  # and its own folder, never another server
    # errors: an unknown preset is refused; ground: nothing is scored against what cannot be
    "rewards": {"types", "errors", "ground"},
    "graph": CORE | {"world"},
    "llm": CORE | {"rollout", "config"},  # a policy implements the loop's protocol
    "rollout": CORE
    | {"loops", "world", "servers"},  # a policy is a coroutine, so neither llm nor rewards
    "gateway": EPISODE | {"rewards"},  # tasks' tools are those of the loop; scores on request
    "dataset": CORE | {"rollout"},  # an export shows the prompt and tools that the loop shows
    "synth": EPISODE | {"loops", "config", "graph", "llm", "rewards", "dataset"},
    # gateway: verl's workers, too, know the servers outside
    "train": EPISODE | {"loops", "config", "llm", "rewards", "dataset", "evals", "gateway"},
    "evals": EPISODE | {"loops", "config", "llm", "rewards", "dataset"},  # never synth or train
    "report": CORE | {"config", "rewards", "evals", "dataset"},
    "config": {"errors", "types", "records"},  # records: files are read there
    # graph: the picture and its evidence; gateway: one way to serve, and to refuse strangers
    "loops": set(),
    "viewer": EPISODE | {"rewards", "graph", "gateway"},
    "worlds": CORE | {"world", "servers"},
    "scoring": ANY,  # the orchestration over the parts
    "ablation": ANY,  # many runs over one set of tasks
    "learning": EPISODE | {"config", "train", "llm"},  # a checkpoint is served as a policy
    "runs": ANY,
    "terminal": set(),
    "options": {"types"},  # the greatest seed
    "tables": ANY,
    "play": {"errors", "world"},
    "bench": {"errors"},  # what it runs lies in benchmarks/
    "names": {"servers", "config", "rewards", "errors", "llm"},  # llm: where a teacher is asked
    "showing": ANY,  # one tool beside its graph and its phrases
    "cli_servers": ANY,
    "cli_dataset": ANY,
    "cli_graph": ANY,
    "cli_synth": ANY,
    "cli_serve": ANY,
    "cli_add": ANY,
    "cli_benchmark": ANY,
    "contestants": ANY,  # models, agents over the gateway, policies that training wrote
    "cli_view": ANY,
    "cli_train": ANY,
    "cli_eval": ANY,
    "cli_rollout": ANY,
    "cli": ANY | {"entry"},
    "entry": {"cli"},  # imported once Ctrl-C has its way to end the process
}
"""What a part may import of the project, besides itself."""

SDK_ERRORS = tuple(f"gateway/{n}.py" for n in ("face", "external/strays", "external/mistakes"))
LOCAL_MODEL = ("train/", "llm/local.py")
ONLY_IN: dict[str, tuple[str, ...]] = {
    "torch": (*LOCAL_MODEL, "learning.py", "evals/inside/"),
    "transformers": LOCAL_MODEL,
    "peft": LOCAL_MODEL,
    "gguf": LOCAL_MODEL,
    "jinja2": ("llm/local.py",),  # comes with the templates of transformers
    "tokenizers": LOCAL_MODEL,
    "safetensors": LOCAL_MODEL,
    "accelerate": LOCAL_MODEL,
    "trl": ("train/",),
    "verl": ("train/",),
    "hydra": ("train/verl/checks.py",),  # comes with verl
    "openenv": ("train/openenv.py",),  # other people's trainers: a file for each
    "verifiers": ("train/verifiers.py",),
    "nemo_gym": ("train/nemo_gym.py",),
    "resources_servers": ("train/nemo_gym.py",),  # comes with it
    "fastapi": ("train/nemo_gym.py",),
    "skyrl_gym": ("train/skyrl.py",),
    "datasets": ("train/", "dataset/"),
    "pyarrow": ("dataset/",),
    "datasketch": ("dataset/",),
    "py3langid": ("dataset/",),
    "ray": ("train/", "synth/", "gateway/ray_fleet.py"),
    "mcp": ("gateway/",),
    "anyio": ("gateway/",),  # what mcp runs on
    "mcp_types": ("gateway/",),  # comes with mcp
    "openai": ("llm/",),
    "httpx": ("llm/", "gateway/"),
    "httpx2": ("llm/", "gateway/external/"),  # mcp's own client, for a token in its headers
    "requests": ("llm/",),
    "aiohttp": ("llm/",),
    "prometheus_client": ("gateway/",),
    "jsonschema": ("gateway/sound.py",),
    "starlette": ("gateway/", "viewer/", "llm/serving.py"),
    "uvicorn": ("gateway/", "viewer/"),
    "uvloop": ("gateway/",),
    "httptools": ("gateway/",),
    "typer": (
        *("cli.py", "cli_servers.py", "cli_dataset.py", "cli_graph.py", "cli_synth.py"),
        *("cli_serve.py", "cli_add.py", "cli_benchmark.py", "cli_view.py", "cli_train.py"),
        *("cli_eval.py", "cli_rollout.py", "options.py"),
    ),
    "rich": ("terminal.py",),
    "faker": ("servers/", "world/"),
    "dateutil": ("servers/",),
    "networkx": ("servers/", "graph/"),
    "pydantic": (
        *("records/", "config/", "world/", "train/verl/settings.py"),
        *SDK_ERRORS,
    ),
    "numpy": ("train/", "evals/", "report/", "ablation/"),
    "scipy": ("evals/",),
    "bfcl_eval": ("evals/inside/",),  # scripts that a harness's own interpreter runs
    "teval": ("evals/inside/",),
    "sentence_transformers": ("evals/inside/",),
}
"""Where a library may be used. The standard library and msgspec are free to all, others to none."""

LAZY = {"ray"}
"""Libraries imported inside functions only: they cost seconds or start processes."""

DETERMINISTIC = ("world", "servers", "servers/*", "rewards", "graph")
BANNED_MODULES = {
    *("time", "socket", "ssl", "http", "urllib", "asyncio.streams", "secrets", "uuid"),
}
BANNED_NAMES = (
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"),
    *("datetime.date.today", "os.environ", "os.environb", "os.getenv", "os.urandom"),
)

FILE_LINES = 500
SERVER_FILE_LINES = 800  # a server's tools*.py and seed.py: a list of tools is long, not deep
FUNCTION_LINES = 60


class Source(NamedTuple):
    """A file by its path from the repository's root, and its text."""

    path: str
    text: str


def unit(path: str) -> str:
    """The row of `MAY_IMPORT` for a path inside provegym/."""
    first, *rest = path.removesuffix(".py").split("/")
    if first == "servers" and len(rest) > 1:
        return "servers/*"
    return first


def imported(tree: ast.AST, path: str) -> Iterator[tuple[ast.stmt, str]]:
    """Every import statement with the dotted names it brings in, `from a import b` as a.b."""
    package = path.removesuffix(".py").split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from ((node, f"{base}.{alias.name}") for alias in node.names)


def aliases(tree: ast.AST) -> dict[str, str]:
    """Local names of imported things, each with its full dotted name."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node: ast.AST, names: dict[str, str]) -> str:
    """The full name of an expression like `dt.datetime.now`, "" if it is not one."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, names)
        return f"{base}.{node.attr}" if base else ""
    return ""


def internal(path: str, tree: ast.AST) -> Iterator[str]:
    """Imports of a part of the project that this part may not know."""
    inside = path.removeprefix("provegym/")
    here = unit(inside)
    for node, name in imported(tree, path):
        parts = name.split(".")
        if parts[0] != "provegym" or parts[1:] in ([], ["__version__"]) or own(inside, parts[1:]):
            continue
        if parts[1] not in MAY_IMPORT[here]:
            yield f"{path}:{node.lineno}: {here} may not import {name}"


def own(inside: str, target: list[str]) -> bool:
    """Whether `target` lies in the same part as the file `inside`."""
    if unit(inside) == "servers/*":
        return target[:2] == inside.split("/")[:2]
    return target[0] == unit(inside)


def libraries(path: str, tree: ast.Module) -> Iterator[str]:
    """Uses of a library outside its place, or at the top of a file where it must be lazy."""
    inside = path.removeprefix("provegym/")
    for node, name in imported(tree, path):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names or top in {"provegym", "msgspec"}:
            continue
        if not any(inside.startswith(place) for place in ONLY_IN.get(top, ())):
            yield f"{path}:{node.lineno}: {top} may not be used here"
        if top in LAZY and node in tree.body:
            yield f"{path}:{node.lineno}: {top} must be imported inside a function"


def nondeterminism(path: str, tree: ast.AST) -> Iterator[str]:
    """Wall clock, environment, network and global randomness in the deterministic parts."""
    if unit(path.removeprefix("provegym/")) not in DETERMINISTIC:
        return
    for node, name in imported(tree, path):
        if any(name == module or name.startswith(f"{module}.") for module in BANNED_MODULES):
            yield f"{path}:{node.lineno}: {name} is not deterministic"
    names = aliases(tree)
    for part in ast.walk(tree):
        name = dotted(part, names)
        if name.startswith(BANNED_NAMES) or (name.startswith("random.") and name[7:8].islower()):
            yield f"{path}:{getattr(part, 'lineno', 0)}: {name} is not deterministic"
        if isinstance(part, ast.Call) and dotted(part.func, names).startswith("random."):
            yield f"{path}:{part.lineno}: randomness comes from provegym.seeding.rng"


def lengths(path: str, tree: ast.AST, text: str) -> Iterator[str]:
    """Files and functions that have grown too long."""
    lines = text.count("\n")
    long_list = re.fullmatch(r"provegym/servers/\w+/(tools\w*|seed)\.py", path)
    limit = SERVER_FILE_LINES if long_list else FILE_LINES
    if lines > limit:
        yield f"{path}: {lines} lines, over {limit}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {length} lines, over {FUNCTION_LINES}"


def violations(source: Source) -> list[str]:
    """Everything wrong with one file."""
    tree = ast.parse(source.text)
    found = [*lengths(source.path, tree, source.text)]
    if source.path.startswith("provegym/"):
        found += [
            *internal(source.path, tree),
            *libraries(source.path, tree),
            *nondeterminism(source.path, tree),
        ]
    return found


def repository() -> list[Source]:
    folders = ("provegym", "tests", "benchmarks", "examples")
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]


def test_the_repository_keeps_every_rule() -> None:
    sources = repository()
    assert len(sources) > 20
    assert [line for source in sources for line in violations(source)] == []


def test_every_part_of_the_package_has_a_row() -> None:
    parts = {
        unit(source.path.removeprefix("provegym/"))
        for source in repository()
        if source.path.startswith("provegym/")
    }
    assert parts <= MAY_IMPORT.keys()


REFUSED = [
    ("provegym/types.py", "from provegym.errors import InputError"),
    ("provegym/records/store.py", "import provegym.config"),
    ("provegym/world/table.py", "from provegym.servers import banking"),
    ("provegym/world/table.py", "from provegym import rewards"),
    ("provegym/world/table.py", "def f():\n    from provegym.graph.edges import edge"),
    ("provegym/world/table.py", "from ..servers import SERVERS"),
    ("provegym/servers/banking/tools.py", "from provegym.servers.calendar.state import Event"),
    ("provegym/servers/banking/tools.py", "from ..calendar import state"),
    ("provegym/servers/banking/tools.py", "from provegym import servers"),
    ("provegym/servers/banking/tools.py", "from provegym.records import read"),
    ("provegym/rewards/name.py", "from provegym.world import Session"),
    ("provegym/rollout/loop.py", "from provegym.rewards import total"),
    ("provegym/rollout/loop.py", "from provegym.llm.client import Client"),
    ("provegym/evals/run.py", "from provegym.train import sft"),
    ("provegym/evals/run.py", "import provegym.synth.pipeline as p"),
    ("provegym/rollout/loop.py", "import torch.nn as nn"),
    ("provegym/llm/client.py", "from transformers import AutoModel"),
    ("provegym/llm/local.py", "import trl"),
    ("provegym/world/world.py", "from mcp import types"),
    ("provegym/rollout/loop.py", "import openai"),
    ("provegym/train/grpo.py", "import rich"),
    ("provegym/train/verl/loop.py", "import ray"),
    ("provegym/report/page.py", "import some_unknown_library"),
    ("provegym/world/session.py", "import time"),
    ("provegym/graph/edges.py", "from time import monotonic"),
    ("provegym/servers/x/seed.py", "import urllib.request"),
    ("provegym/servers/x/seed.py", "from datetime import datetime as d\nx = d.now()"),
    ("provegym/servers/x/seed.py", "import datetime as d\nx = d.datetime.utcnow()"),
    ("provegym/servers/x/tools.py", "from datetime import date\nx = date.today"),
    ("provegym/rewards/state.py", "import random\nx = random.choice([1])"),
    ("provegym/rewards/state.py", "from random import shuffle as s\ns([1])"),
    ("provegym/world/world.py", "from random import Random\nx = Random(7)"),
    ("provegym/world/world.py", "import os\nx = os.environ['HOME']"),
    ("provegym/world/world.py", "from os import getenv\nx = getenv('HOME')"),
    ("provegym/world/world.py", "import uuid\nx = uuid.uuid4()"),
    ("provegym/world/world.py", "from socket import socket"),
    ("provegym/world/world.py", "x = 1\n" * 501),
    ("provegym/servers/x/state.py", "x = 1\n" * 501),
    ("provegym/servers/x/tools.py", "x = 1\n" * 801),
    ("tests/test_x.py", "x = 1\n" * 501),
    ("tests/test_x.py", "def f():\n" + "    x = 1\n" * 60),
    ("provegym/cli.py", "class A:\n  async def f():\n" + "    x = 1\n" * 60),
]

ALLOWED = [
    ("provegym/records/store.py", "import msgspec, pydantic\nfrom provegym.types import Task"),
    ("provegym/world/table.py", "from provegym.world.tool import tool\nfrom . import session"),
    ("provegym/servers/banking/tools.py", "from .state import Account\nimport faker"),
    ("provegym/servers/banking/tools.py", "from provegym.servers.banking import state"),
    ("provegym/servers/__init__.py", "from provegym.servers.banking import server"),
    (
        "provegym/servers/x/seed.py",
        "from random import Random\ndef f(r: Random) -> None: r.random()",
    ),
    ("provegym/servers/x/tools.py", "from datetime import datetime, time\nx = datetime(1, 1, 1)"),
    ("provegym/servers/x/tools.py", "def f(session):\n    return session.now()"),
    ("provegym/train/grpo.py", "import torch, trl, time\ndef f():\n    import ray"),
    ("provegym/llm/local.py", "import transformers"),
    ("provegym/llm/client.py", "import openai, time, os\nx = os.environ"),
    ("provegym/cli.py", "import typer\nfrom provegym.synth import pipeline"),
    ("provegym/servers/x/tools.py", "x = 1\n" * 800),
    ("provegym/servers/x/tools_cart.py", "x = 1\n" * 800),
    ("tests/test_x.py", "def f():\n" + "    x = 1\n" * 59),
    ("tests/test_x.py", "import time, torch, socket"),
]


@pytest.mark.parametrize(("path", "text"), REFUSED)
def test_a_breach_is_caught(path: str, text: str) -> None:
    assert violations(Source(path, text)), text


@pytest.mark.parametrize(("path", "text"), ALLOWED)
def test_what_the_rules_allow_is_let_through(path: str, text: str) -> None:
    assert violations(Source(path, text)) == []
