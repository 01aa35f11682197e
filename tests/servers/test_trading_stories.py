"""What the brokerage tells of a world's stories."""

from __future__ import annotations

import pytest

from provegym.servers.trading.state import violations
from provegym.world.cast import cast
from provegym.world.fields import money
from provegym.world.stories import stories
from tests.servers.trading_desk import floor


@pytest.mark.parametrize("seed", range(12))
def test_the_told_deposit_is_the_last_one_of_one_portfolio_and_part_of_its_cash(seed: int) -> None:
    f, told = floor(seed), stories(cast(seed)).deposit
    shown = f.ok("list_portfolios", limit=50)["portfolios"]
    wanted = (money(told.amount), told.moved.date().isoformat())
    (item,) = [p for p in shown if (p["last_deposit"], p["deposited_on"]) == wanted]
    moves = f.desk.cash_movements.where(portfolio_id=item["id"])
    assert item["cash"] == money(sum(m.amount for m in moves))
    assert told.moved.isoformat() in [m.booked_at for m in moves if m.kind == "deposit"]
    assert list(violations(f.desk)) == []


def test_a_transfer_between_portfolios_is_no_deposit() -> None:
    f = floor()
    before = {p["id"]: p["last_deposit"] for p in f.ok("list_portfolios", limit=50)["portfolios"]}
    f.nudge()
    after = {p["id"]: p["last_deposit"] for p in f.ok("list_portfolios", limit=50)["portfolios"]}
    assert after == before
