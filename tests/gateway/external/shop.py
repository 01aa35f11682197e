"""A shop whose tools say nothing of themselves; their names have dots, or none with `--plain`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from mcp.server import MCPServer

PLAIN = {
    "shop.items.list": "list_items",
    "shop.items.get": "get_item",
    "shop.orders.create": "create_order",
    "shop.orders.list": "list_orders",
    "now.time": "time_now",
    "all.state": "all_state",
}
"""What each tool is called with `--plain`."""
ITEMS: dict[str, dict[str, Any]] = {
    f"itm-{i}": {"id": f"itm-{i}", "name": name, "stock": i}
    for i, name in enumerate(("Lamp", "Chair", "Desk"), 1)
}
ORDERS: list[dict[str, Any]] = []


def list_items(query: str | None = None, limit: int = 10) -> dict[str, Any]:
    """List items."""
    found = [i for i in ITEMS.values() if not query or query.lower() in i["name"].lower()]
    return {"items": found[:limit]}


def get_item(item_id: str) -> dict[str, Any]:
    """One item."""
    if item_id not in ITEMS:
        raise ValueError("no such item")
    return ITEMS[item_id]


def create_order(item_id: str, quantity: int = 1) -> dict[str, Any]:
    """Order an item."""
    if get_item(item_id)["stock"] < quantity:
        raise ValueError("out of stock")
    ITEMS[item_id]["stock"] -= quantity
    ORDERS.append({"order_id": f"ord-{len(ORDERS) + 1}", "item_id": item_id, "quantity": quantity})
    return ORDERS[-1]


def list_orders() -> dict[str, Any]:
    """List orders."""
    return {"orders": ORDERS}


def time_now() -> dict[str, Any]:
    """The time."""
    return {"now": time.time()}


def all_state() -> dict[str, Any]:
    """Everything."""
    return {"items": list(ITEMS.values()), "orders": ORDERS}


def start_over() -> str:
    """Everything as it was."""
    ORDERS.clear()
    for number, item in enumerate(ITEMS.values(), 1):
        item["stock"] = number
    return "done"


if __name__ == "__main__":
    server = MCPServer("shop")
    runs: tuple[Callable[..., Any], ...] = (
        *(list_items, get_item, create_order, list_orders, time_now, all_state),
    )
    for run, (dotted, plain) in zip(runs, PLAIN.items(), strict=True):
        server.tool(name=plain if "--plain" in sys.argv else dotted)(run)
    server.tool(name="start_over")(start_over)
    server.run()
