"""A small real server on the real engine, and tasks over it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from provegym.rollout.reply import Reply, ToolCall
from provegym.types import GroundCall, Ref, Task, Turn
from provegym.types import Tool as ToolSchema
from provegym.world.cast import Cast
from provegym.world.server import Seeds, Server, State, collect
from provegym.world.session import Session
from provegym.world.table import Row, table
from provegym.world.tool import refuse, tool
from provegym.world.world import World

T = TypeVar("T")


class Order(Row, frozen=True):
    """An order at the kiosk."""

    item: str
    count: int
    paid: bool = False


class Kiosk(State):
    """Sells things."""

    server = "kiosk"
    orders = table(Order, "ord")


@tool("read", phrases=("Show my orders",))
def list_orders(kiosk: Kiosk, limit: int = 10) -> list[Order]:
    """List the orders.

    Args:
        limit: How many at most.
    """
    return list(kiosk.orders)[:limit]


@tool("write", phrases=("Order {count} {item}",))
def place_order(kiosk: Kiosk, item: str, count: int) -> Order:
    """Place an order.

    Args:
        item: What to order.
        count: How many.
    """
    return kiosk.orders.put(Order(kiosk.orders.new_id(), item, count))


@tool("write", phrases=("Pay {order_id}",), refuses=("not_found",))
def pay_order(kiosk: Kiosk, order_id: str) -> Order:
    """Pay an order.

    Args:
        order_id: The order, e.g. "ord_1".
    """
    order = kiosk.orders.get(order_id)
    if order is None:
        refuse("not_found", f"no order {order_id!r}")
    return kiosk.orders.update(order, paid=True)


@tool("write", phrases=("Break it",))
def jam(kiosk: Kiosk) -> bool:
    """Jam the kiosk: its body has a bug."""
    raise ZeroDivisionError("jammed")


def _seed(cast: Cast, rnd: Random) -> Seeds:
    return {"orders": [Order("ord_1", "tea", 2), Order("ord_2", "cake", 1)]}


TOOLS = collect(SimpleNamespace(a=list_orders, b=place_order, c=pay_order, d=jam))
KIOSK = Server("kiosk", "Kiosk", Kiosk, TOOLS, _seed, lambda state: ())


@dataclass
class Scripted:
    """A policy that says the given replies in order, and remembers what it was shown."""

    replies: list[Reply | Exception]

    def __post_init__(self) -> None:
        self.seen: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = []
        self.closed = 0

    async def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        self.seen.append((messages, tools))
        reply = self.replies[len(self.seen) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def aclose(self) -> None:
        self.closed += 1


def schema(*names: str) -> tuple[ToolSchema, ...]:
    return tuple(TOOLS[name].schema for name in names)


def calling(*calls: tuple[str, str]) -> Reply:
    return Reply(calls=tuple(ToolCall("", *call) for call in calls), form="native")


def make_task(task_id: str = "t", turns: Iterable[Turn] = (), **fields: Any) -> Task:
    kiosk = ("list_orders", "place_order", "pay_order")
    given = {"tools": schema(*kiosk), "servers": ("kiosk",), **fields}
    turns = tuple(turns) or (Turn(user="Hello?"),)
    return Task(id=task_id, kind="workflow", turns=turns, **given)


def chain_task(task_id: str = "chain") -> Task:
    """Order cakes and pay them, then list; the recorded order id is of another world."""
    recorded = {"id": "ord_recorded", "item": "cake", "count": 3, "paid": False}
    place = GroundCall("g0", "place_order", {"item": "cake", "count": 3}, result=recorded)
    pay = GroundCall(
        "g1",
        "pay_order",
        {"order_id": "ord_recorded"},
        after=("g0",),
        refs={"/order_id": Ref("g0", "/id")},
    )
    first = Turn(user="Order three cakes and pay them.", calls=(place, pay), reply="Paid.")
    second = Turn(user="What did I order?", calls=(GroundCall("g2", "list_orders"),), reply="Cake.")
    return make_task(task_id, (first, second), reference_time="2026-03-02T09:00:00+00:00")


def open_session(task: Task) -> Session:
    return World(task.seed, [KIOSK]).open()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


@pytest.fixture
def kiosk() -> SimpleNamespace:
    """What the tests of this folder share."""
    return SimpleNamespace(
        calling=calling,
        chain_task=chain_task,
        make_task=make_task,
        open=open_session,
        run=run,
        schema=schema,
        Scripted=Scripted,
    )
