"""Two real MCP servers of other people, end to end: listed, certified tasks, a policy, its score.

The knowledge graph of the MCP project (npm) and its git server (PyPI) are installed into the folder
and taken in by `provegym add`; then the ordinary verbs do the rest. Needs npm and git.

python examples/external_server.py runs/external memory
python examples/external_server.py runs/external git
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from provegym import cli

MEMORY = "@modelcontextprotocol/server-memory@2026.8.31"
GIT = "mcp-server-git==2026.10.19"
GRAPH = Path(__file__).with_name("memory.jsonl").resolve()
"""What the memory server is to remember at the start."""
COMMITS = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in {
        "NAME": "Ann",
        "EMAIL": "ann@example.com",
        "DATE": "2026-03-02T10:00:00Z",
    }.items()
}
"""A commit's hash holds who made it, and when; so it is the same in each session."""
VALUES = """
[servers.git.values]
repo_path = ["/session/repo"]
files = ["README.md", "notes.txt"]
branch_name = ["feature", "main", "fix", "docs"]
base_branch = ["main", "feature"]
revision = ["HEAD", "feature"]
target = ["HEAD", "feature"]
branch_type = ["local"]
"""
"""The git server's results are plain text, so the user says what its parameters may take."""


def memory() -> list[str]:
    """Install the memory server, and give it something to remember; how to add it."""
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", "node", MEMORY)
    Path("world").mkdir(exist_ok=True)
    shutil.copy(GRAPH, "world")
    command = "node {home}/node/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    env = "MEMORY_FILE_PATH={folder}/memory.jsonl"
    settings = ("--files", "world", "--reset", "files", "--snapshot", "read_graph")
    return ["--command", command, "--env", env, *settings]


def git() -> list[str]:
    """Install the git server, and make it a repository; how to add it."""
    run(sys.executable, "-m", "venv", "python")
    run("python/bin/pip", "install", "--quiet", "--disable-pip-version-check", GIT)
    repository = Path("start/repo")
    repository.mkdir(parents=True, exist_ok=True)
    in_it = ("git", "-C", str(repository))
    run(*in_it, "init", "--quiet", "--initial-branch", "main", "--template=")
    (repository / "README.md").write_text("one\n")
    run(*in_it, "add", ".")
    run(*in_it, "commit", "--quiet", "--message", "First")
    run(*in_it, "branch", "feature")
    (repository / "README.md").write_text("one\ntwo\n")
    (repository / "notes.txt").write_text("buy tea\n")
    command = "{home}/python/bin/mcp-server-git --repository {folder}/repo"
    env = [part for name, value in COMMITS.items() for part in ("--env", f"{name}={value}")]
    settings = ("--files", "start", "--reset", "files", "--snapshot", "files")
    return ["--command", command, *env, *settings]


def run(*command: str) -> None:
    """Run a command that must succeed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, env=env | COMMITS)


SERVERS: dict[str, Callable[[], list[str]]] = {"memory": memory, "git": git}


def main(folder: Path, name: str) -> None:
    """Install the server, add it, make 10 tasks, solve them by their ground truth, score that."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    provegym("add", name, *SERVERS[name]())
    if name == "git":
        with Path("provegym.toml").open("a") as file:
            file.write(VALUES)
    provegym("graph", "--servers", name, "--out", f"{name}-graph.json")
    tasks, traces = f"{name}.jsonl", f"{name}-traces.jsonl"
    provegym("synth", "--servers", name, "--limit", "10", "--seed", "7", "--out", tasks)
    provegym("certify", tasks)
    provegym("rollout", tasks, "--policy", "oracle", "--out", traces)
    files = ("--tasks", tasks, "--traces", traces, "--out", f"{name}-scores.jsonl")
    provegym("score", *files, "--preset", "strict")


def provegym(*arguments: str) -> None:
    """Run a verb of the command line in this process."""
    print("$ provegym", *arguments[:2])
    if code := cli.call(arguments):
        sys.exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
