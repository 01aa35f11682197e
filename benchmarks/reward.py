"""Traces scored a second on one core, for a typical episode and for a policy that runs wild.

Run `python -m benchmarks.reward`, or `provegym bench`.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from provegym.rewards import score
from provegym.types import Call, GroundCall, Ref, Task, Trace, Turn

TARGET = 20_000
"""Traces a second a core for the typical episode."""

FROM, TO = {"id": "acc_17", "balance": 812.5}, {"id": "acc_42", "balance": 90.0}
PAYMENT: dict[str, Any] = {"from": "acc_17", "to": "acc_42", "amount": 120.0, "note": "rent"}


def typical() -> tuple[Task, Trace]:
    """Four chained ground-truth calls, two of one tool; five calls made, one of them needless."""
    truth = (
        GroundCall("g0", "find_account", {"owner": "Ada Diaz"}),
        GroundCall("g1", "find_account", {"owner": "Bo Lindqvist"}),
        GroundCall(
            "g2",
            "transfer_money",
            PAYMENT,
            after=("g0", "g1"),
            refs={"/from": Ref("g0", "/accounts/0/id"), "/to": Ref("g1", "/accounts/0/id")},
        ),
        GroundCall(
            "g3",
            "get_transfer",
            {"transfer_id": "tr_9"},
            ("g2",),
            {"/transfer_id": Ref("g2", "/id")},
        ),
    )
    calls = (
        _call(0, "find_account", {"owner": "Ada Diaz"}, {"accounts": [FROM]}),
        _call(1, "find_account", {"owner": "Bo Lindqvist"}, {"accounts": [TO]}),
        _call(2, "list_payees", {"account_id": "acc_17"}, {"payees": []}),
        _call(3, "transfer_money", PAYMENT, {"id": "tr_9", "status": "booked"}),
        _call(4, "get_transfer", {"transfer_id": "tr_9"}, {"id": "tr_9", "status": "booked"}),
    )
    changes: dict[str, Any] = {
        "banking.accounts": {"acc_17": {"balance": 692.5}, "acc_42": {"balance": 210.0}},
        "banking.transfers": {"+1": {**PAYMENT, "status": "booked"}},
    }
    task = Task("t", "workflow", (Turn("Pay my rent", truth),), final_changes=changes)
    return task, Trace("r", "t", calls, final_changes=changes)


def runaway() -> tuple[Task, Trace]:
    """Five ground-truth calls of one tool, which the policy then calls a thousand times."""
    truth = tuple(
        GroundCall(f"g{i}", "find_account", {"owner": f"owner {i}", "limit": 5}) for i in range(5)
    )
    calls = tuple(
        _call(i, "find_account", {"owner": f"owner {i % 3}", "limit": i % 7}, {"accounts": []})
        for i in range(1000)
    )
    return Task("t", "workflow", (Turn("Find them", truth),)), Trace("r", "t", calls)


def _call(step: int, name: str, arguments: dict[str, Any], result: object) -> Call:
    return Call(name, arguments, 0, step, "ok", result)


def rate(task: Task, trace: Trace, preset: str, count: int, repeats: int = 7) -> float:
    """Traces a second: the best of `repeats` runs over `count` scorings."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(count):
            score(task, trace, preset)
        seconds.append(perf_counter() - start)
    return count / min(seconds)


def measure() -> dict[str, float]:
    """Traces scored a second on one core, by case and preset."""
    return {
        "typical, paper": rate(*typical(), "paper", 2000),
        "typical, strict": rate(*typical(), "strict", 2000),
        "runaway of 1,000 calls, paper": rate(*runaway(), "paper", 5),
    }


if __name__ == "__main__":
    for case, per_second in measure().items():
        print(f"{case}: {per_second:,.0f} traces/s")
