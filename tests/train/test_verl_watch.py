"""What is seen of a run through verl while it goes: curves, alarms, the best checkpoint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from provegym import records
from provegym.errors import InfrastructureError
from provegym.train.verl import launch
from provegym.train.verl.episodes import Row
from provegym.train.verl.watch import Watch, curves, kept_step


class Run:
    """The files of a run, as verl and our agent loop write them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.checkpoints = folder, folder / "checkpoints"
        self.notes: list[str] = []
        self.watch = Watch(folder, self.checkpoints, self.notes.append)

    def log(self, start: int, first: int, *rewards: float) -> None:
        """What verl logs from a start on, a step a reward."""
        lines = [
            records.encode(
                {"step": step, "data": {"critic/score/mean": reward, "actor/kl_loss": 0.1}}
            )
            for step, reward in enumerate(rewards, start=first)
        ]
        records.write_atomic(self.folder / "metrics" / f"{start:04d}.jsonl", lines)

    def save(self, step: int) -> None:
        """A checkpoint, of which verl keeps the last two."""
        (self.checkpoints / f"global_step_{step}" / "actor").mkdir(parents=True)
        (self.checkpoints / f"global_step_{step}" / "actor" / "weights").write_text(str(step))
        (self.checkpoints / "latest_checkpointed_iteration.txt").write_text(str(step))

    def kept(self) -> str:
        """The weights that are kept as the best."""
        (found,) = (self.folder / "good").rglob("weights")
        return found.read_text()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_row_tells_reward_kl_and_groups_that_teach_nothing(run: Run) -> None:
    run.log(0, 1, 0.5)
    rewards = {"a-0": 1.0, "a-1": 1.0, "b-0": 0.0, "b-1": 1.0}
    played = [Row(name, "t", 1, reward=r, parts={"calls": 4 * r}) for name, r in rewards.items()]
    played.append(Row("b-2", "t", 1, fault="ConnectionError: gone"))
    played.append(Row("v-0", "t", 1, learnt=False, reward=0.0, parts={"calls": 9.0}))
    records.write_atomic(run.folder / "episodes" / "one.jsonl", map(records.encode, played))
    (row,) = curves(run.folder)
    assert (row["reward"], row["kl"], row["entropy"]) == (0.5, 0.1, None)
    assert (row["zero_variance"], row["abstention"], row["calls"]) == (0.5, 0.25, 3.0)
    assert row["masked"] == 1
    run.watch.look()
    assert records.read_rows(run.folder / "curves.jsonl") == [row]


def test_steps_that_a_kill_took_back_count_as_they_were_made_last(run: Run) -> None:
    run.log(0, 1, 0.1, 0.2, 0.3)
    run.log(1, 3, 0.9)
    assert [(row["step"], row["reward"]) for row in curves(run.folder)] == [
        (1, 0.1),
        (2, 0.2),
        (3, 0.9),
    ]


def test_the_checkpoint_before_which_most_was_earned_stays_when_verl_removes_it(run: Run) -> None:
    run.watch.look()
    assert run.notes == []
    run.log(0, 1, *[0.5] * 5)
    run.save(5)
    run.watch.look()
    assert run.kept() == "5"
    run.log(0, 1, *[0.5] * 5, *[0.9] * 5)
    run.save(10)
    run.watch.look()
    assert (run.kept(), kept_step(run.folder)) == ("10", 10)
    run.log(0, 1, *[0.5] * 5, *[0.9] * 5, *[0.6] * 5)
    run.save(15)
    run.watch.look()
    assert run.kept() == "10"
    for old in run.checkpoints.glob("global_step_*/actor/weights"):
        old.unlink()
    assert run.kept() == "10"
    assert run.notes == []


def test_a_collapse_is_told_once_with_the_best_checkpoint(run: Run) -> None:
    run.log(0, 1, *[0.8] * 5)
    run.save(5)
    run.watch.look()
    run.log(0, 1, *[0.8] * 5, *[0.2] * 6)
    run.save(10)
    run.watch.look()
    run.watch.look()
    (note,) = run.notes
    assert note == (
        "step 10: the reward fell to 0.200 from 0.800; "
        f"the best checkpoint, of step 5, is in {run.folder / 'good'}"
    )
    assert run.kept() == "5"


def test_a_checkpoint_that_verl_removes_meanwhile_is_no_fault(run: Run) -> None:
    run.save(5)
    run.log(0, 1, *[0.5] * 5)
    (run.checkpoints / "global_step_5" / "actor" / "weights").unlink()
    (run.checkpoints / "global_step_5" / "actor").rmdir()
    (run.checkpoints / "global_step_5").rmdir()
    run.watch.look()
    assert kept_step(run.folder) == 0


def test_a_run_is_looked_at_while_it_goes_and_at_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(launch, "LOOK_EVERY", 0.01)
    seen: list[bool] = []
    done = tmp_path / "done"
    code = (
        "import pathlib, sys, time\n"
        "while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
        "pathlib.Path(sys.argv[2]).touch()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "go"), str(done)]

    def look() -> None:
        seen.append(done.exists())
        (tmp_path / "go").touch()

    launch._run(command, {}, "it", look)
    assert (seen[0], seen[-1]) == (False, True)
    with pytest.raises(InfrastructureError, match="it ended with exit code 3"):
        launch._run([sys.executable, "-c", "exit(3)"], {}, "it", look)


def test_a_look_that_fails_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "LOOK_EVERY", 0.01)
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(real(*arguments, **options))  # type: ignore[call-overload]
        return started[-1]

    def look() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(KeyboardInterrupt):
        launch._run([sys.executable, "-c", "input()"], {}, "it", look)
    assert started[0].poll() is not None


def test_what_is_trained_ends_with_a_launcher_that_is_killed() -> None:
    training = "import time; print(1, flush=True); time.sleep(20); print('still here')"
    code = (
        "import os, sys; from provegym.train.verl import launch; "
        "launch._run([sys.executable, '-c', sys.argv[1]], dict(os.environ), 'it')"
    )
    command = [sys.executable, "-c", code, training]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as launcher:
        assert launcher.stderr
        assert launcher.stderr.readline() == b"1\n"
        launcher.kill()
        assert launcher.stderr.read() == b""  # it ends once nobody holds the other end
