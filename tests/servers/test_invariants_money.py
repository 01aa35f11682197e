"""Where money and goods move: what must hold after every call, counted anew from the rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, datetime
from typing import Any

from provegym.servers.trading.venues import is_open
from tests.servers.walked import changes, moments, states, stretches

# -- banking -------------------------------------------------------------------------------------


def test_banking_money_is_conserved_every_transfer_is_two_postings_that_sum_to_0() -> None:
    for bank in states("banking"):
        halves: dict[frozenset[str], list[int]] = defaultdict(list)
        for posting in bank.transactions:
            halves[frozenset((posting.id, posting.counter_id))].append(posting.amount)
        assert {len(pair) for pair in halves.values()} == {2}
        assert {sum(pair) for pair in halves.values()} == {0}
        assert sum(account.balance for account in bank.accounts) == 0
    transfers = changes("banking", "transfer_between_accounts", "pay_payee")
    assert len(transfers) > 5
    assert {len(c.made("transactions")) for c in transfers} == {2}


def test_banking_a_balance_is_the_sum_of_its_postings() -> None:
    for bank in states("banking"):
        sums = Counter[str]()
        for posting in bank.transactions:
            sums[posting.account_id] += posting.amount
        assert {a.id: a.balance for a in bank.accounts} == {a.id: sums[a.id] for a in bank.accounts}


def test_banking_no_account_is_below_its_overdraft_limit() -> None:
    for bank in states("banking"):
        held = [a for a in bank.accounts if a.kind != "internal"]
        assert min(a.balance + a.overdraft_limit for a in held) >= 0


# -- trading -------------------------------------------------------------------------------------


def test_trading_a_position_is_the_sum_of_its_fills() -> None:
    for desk in states("trading"):
        sums = Counter[tuple[str, str]]()
        for f in desk.fills:
            sums[f.portfolio_id, f.instrument_id] += f.quantity * (1 if f.side == "buy" else -1)
        held = {(p.portfolio_id, p.instrument_id): p.quantity for p in desk.positions}
        assert len(held) == len(desk.positions)
        assert held == {key: n for key, n in sums.items() if n}


def test_trading_cash_and_the_cost_of_fills_are_conserved() -> None:
    """Only a deposit could change their sum, and no tool makes one."""

    def total(desk: Any) -> int:
        cost = sum(
            f.quantity * f.price * (1 if f.side == "buy" else -1) + f.fee for f in desk.fills
        )
        return int(sum(p.cash for p in desk.portfolios) + cost)

    assert any(len(after.fills) > len(before.fills) for before, after in stretches("trading"))
    for before, after in stretches("trading"):
        assert total(before) == total(after)


def test_trading_the_life_cycle_of_an_order_only_moves_forward() -> None:
    moved = 0
    for before, after in stretches("trading"):
        for old in before.orders:
            new = after.orders[old.id]
            assert new.filled >= old.filled
            assert old.status == "working" or new == old
            moved += new.status != old.status
    assert moved > 0


def test_trading_limit_orders_rest_until_the_price_crosses() -> None:
    filled = 0
    for change in changes("trading"):
        for f in change.made("fills"):
            order = change.after.orders[f.order_id]
            if order.order_type == "limit":
                # a call that changes the price first matches what was due at the one before
                known = change.of("orders").get(order.id) or order
                least = (min if f.side == "sell" else max)(order.price, known.price)
                assert (f.price - least) * (1 if f.side == "sell" else -1) >= 0, f
                filled += 1
    assert filled > 0
    for desk in states("trading"):
        limits = {o.id: o for o in desk.orders if o.order_type == "limit"}
        resting = [o for o in limits.values() if o.status == "working"]
        assert resting
        for order in resting:
            listed = desk.instruments[order.instrument_id]
            quote = next(q for q in desk.quotes if q.instrument_id == listed.id)
            step = next(iter(desk.market)).step
            last = quote.mids[min(max(step - 18, 0), len(quote.mids) - 1)]  # from 09:00 UTC on
            if listed.status == "trading" and is_open(listed.exchange, desk.moment(step)):
                gap = last + quote.half_spread - order.price
                if order.side == "sell":
                    gap = order.price - (last - quote.half_spread)
                assert gap > 0, order


# -- payments ------------------------------------------------------------------------------------


def test_payments_refunds_of_a_payment_never_exceed_it() -> None:
    for office in states("payments"):
        back = Counter[str]()
        for refund in office.refunds:
            back[refund.payment_id] += refund.amount
        assert back
        for payment in office.payments:
            assert back[payment.id] == payment.refunded
            assert back[payment.id] <= (payment.amount if payment.status == "succeeded" else 0)


def test_payments_an_invoice_is_paid_iff_payments_cover_it() -> None:
    """When it comes to be paid they cover it; a refund after that leaves it paid."""

    def net(office: Any, invoice: Any) -> int:
        rows = (
            p for p in office.payments if p.invoice_id == invoice.id and p.status == "succeeded"
        )
        return sum(p.amount - p.refunded for p in rows)

    for office in states("payments"):
        unpaid = [i for i in office.invoices if i.status != "paid"]
        assert all(net(office, i) < i.total for i in unpaid)
    paid = 0
    for change in changes("payments", "charge_invoice"):
        for old, new in change.kept("invoices"):
            if old.status != new.status:
                assert (new.status, net(change.after, new)) == ("paid", new.total)
                paid += 1
    assert paid > 0


def _told(change: Any) -> Counter[tuple[str, str, str, str]]:
    """What a call changed: type of event, invoice, payment and refund."""
    names = {"open": "finalized", "paid": "paid", "void": "voided"}
    seen = Counter[tuple[str, str, str, str]]()
    for i in change.made("invoices"):
        seen["invoice.created", i.id, "", ""] += 1
        seen["invoice.finalized", i.id, "", ""] += i.status == "open"
    for old, new in change.kept("invoices"):
        if old.status != new.status:
            seen[f"invoice.{names.get(new.status, new.status)}", new.id, "", ""] += 1
    for p in change.made("payments"):
        seen[f"payment.{p.status}", p.invoice_id, p.id, ""] += 1
    for r in change.made("refunds"):
        invoice = change.after.payments[r.payment_id].invoice_id
        seen["payment.refunded", invoice, r.payment_id, r.id] += 1
    return +seen


def test_payments_each_state_change_emits_one_event_per_subscribed_webhook() -> None:
    told = 0
    for change in changes("payments"):
        due = Counter(
            (s.webhook_id, *what)
            for what in _told(change).elements()
            for s in change.of("subscriptions")
            if s.active and s.event_type == what[0]
        )
        events = change.made("events")
        found = Counter(
            (e.webhook_id, e.event_type, e.invoice_id, e.payment_id, e.refund_id) for e in events
        )
        assert found == due, change.step
        told += len(events)
    assert told > 0


# -- shopping ------------------------------------------------------------------------------------


def test_shopping_stock_is_never_negative_and_conserved_over_cart_order_and_return() -> None:
    bins = ("available", "reserved", "sold", "returning", "written_off")
    for before, after in stretches("shopping"):
        received = {s.variant_id: s.received for s in before.stock}
        in_cart = Counter[str]()
        for line in after.cart_lines:
            in_cart[line.variant_id] += line.quantity
        kept = Counter[str]()
        for item in after.order_lines:
            if after.orders[item.order_id].status != "cancelled":
                kept[item.variant_id] += item.quantity - item.returned
        for stock in after.stock:
            counts = [getattr(stock, name) for name in bins]
            assert min(counts) >= 0
            assert sum(counts) == stock.received == received[stock.variant_id]
            assert (stock.reserved, stock.sold) == (
                in_cart[stock.variant_id],
                kept[stock.variant_id],
            )


def test_shopping_an_order_total_is_lines_less_discounts_plus_tax_and_shipping() -> None:
    for shop in states("shopping"):
        sums = Counter[str]()
        for line in shop.order_lines:
            sums[line.order_id] += line.quantity * line.unit_price - line.discount + line.tax
        for order in shop.orders:
            assert order.total == sums[order.id] + order.shipping


# -- marketplace ---------------------------------------------------------------------------------


def test_marketplace_the_highest_bid_only_rises() -> None:
    bids = changes("marketplace", "place_bid")
    assert len(bids) > 5
    for change in bids:
        old = change.of("listings")[change.step.arguments["listing_id"]]
        new = change.after.listings[old.id]
        assert new.price >= old.price
    for before, after in stretches("marketplace"):
        assert all(after.listings[x.id].price >= x.price for x in before.listings)


def test_marketplace_a_sold_listing_has_one_buyer() -> None:
    for market in states("marketplace"):
        buyers = Counter(p.listing_id for p in market.purchases)
        sold = {x.id for x in market.listings if x.status == "sold"}
        assert buyers.keys() == sold
        assert set(buyers.values()) == {1}


def test_marketplace_the_sellers_proceeds_are_price_less_fee() -> None:
    """The fee is a tenth, half a cent rounded up, and 50.00 at most; a refund leaves nothing."""
    for market in states("marketplace"):
        for p in market.purchases:
            fee = min((p.price + 5) // 10, 50_00)
            assert (p.fee, p.proceeds) == ((0, 0) if p.refunded else (fee, p.price - fee))
        assert {p.refunded for p in market.purchases} == {True, False}


# -- retail chain --------------------------------------------------------------------------------


def test_retail_chain_units_in_stores_and_in_transit_change_by_sales_and_deliveries_alone() -> None:
    def units(chain: Any) -> Counter[str]:
        found = Counter[str]()
        for level in chain.stock_levels:
            found[level.product_id] += level.on_hand
        for t in chain.transfers:
            if t.status == "in_transit":
                found[chain.stock_levels[t.source_id].product_id] += t.quantity - t.received
        return found

    moves = transfers = 0
    for before, after in stretches("retail_chain"):
        expected = units(before)
        for m in after.movements:
            if m.id not in before.movements:
                sign = 1 if m.kind == "delivery" else -1
                expected[after.stock_levels[m.stock_level_id].product_id] += sign * m.quantity
                moves += 1
        assert units(after) == expected
        transfers += sum(
            t.id not in before.transfers or t != before.transfers[t.id] for t in after.transfers
        )
    assert moves > 0
    assert transfers > 0


# -- budget --------------------------------------------------------------------------------------


def test_budget_what_a_category_spent_is_the_sum_of_its_expenses() -> None:
    for home in states("budget"):
        sums = Counter[tuple[str, str]]()
        for e in home.expenses:
            if e.status == "counted":
                sums[e.budget_id, e.category_id] += e.amount
        spent = {(a.budget_id, a.category_id): a.spent for a in home.allocations}
        assert {key: n for key, n in spent.items() if n} == dict(+sums)


def test_budget_closing_a_month_is_final() -> None:
    tables = ("allocations", "expenses", "incomes", "contributions", "reports")
    for before, after in stretches("budget"):
        closed = {b.id for b in before.budgets if b.status == "closed"}
        assert closed
        assert all(after.budgets[b].status == "closed" for b in closed)
        for table in tables:
            old, new = (
                {row for row in getattr(home, table) if row.budget_id in closed}
                for home in (before, after)
            )
            assert old == new
        lines = {x for x in before.report_lines if before.reports[x.report_id].budget_id in closed}
        assert lines <= set(after.report_lines)


def test_budget_a_report_is_the_aggregation_of_its_month() -> None:
    for home in states("budget"):
        assert {r.budget_id for r in home.reports} == {
            b.id for b in home.budgets if b.status == "closed"
        }
        for report in home.reports:
            month, sums = report.budget_id, []
            for rows in (home.incomes, home.contributions):
                sums.append(sum(row.amount for row in rows if row.budget_id == month))
            counted = [e for e in home.expenses if (e.budget_id, e.status) == (month, "counted")]
            spent = sum(e.amount for e in counted)
            planned = sum(a.planned for a in home.allocations if a.budget_id == month)
            assert (report.income, report.saved) == tuple(sums)
            assert (report.spent, report.planned) == (spent, planned)


# -- food delivery -------------------------------------------------------------------------------

STEPS = ("placed", "preparing", "picked_up", "delivered")


def test_food_delivery_the_life_cycle_of_an_order_only_moves_forward_with_the_clock() -> None:
    def reached(app: Any, order: Any) -> tuple[str, ...]:
        rows = [t for t in app.tracking if t.order_id == order.id and t.at <= app.stamp]
        return tuple(sorted((t.step for t in rows), key=STEPS.index))

    moved = 0
    for before, after in stretches("food_delivery"):
        for old in before.orders:
            new, was, now = after.orders[old.id], reached(before, old), reached(after, old)
            assert STEPS[: len(was)] == was
            assert now[: len(was)] == was
            assert new.cancelled or not old.cancelled
            moved += len(now) > len(was)
            times = {t.id: t.at for t in before.tracking if t.order_id == old.id}
            assert all(after.tracking[key].at == at for key, at in times.items())
    assert moved > 0
    for moment in moments("food_delivery"):
        listed = moment.ok("list_food_orders", limit=50)["orders"]
        for shown in listed:
            order = moment.state.orders[shown["order_id"]]
            last = reached(moment.state, order)[-1]
            assert shown["status"] == ("cancelled" if order.cancelled else last)


def test_food_delivery_a_total_is_items_options_and_fees_less_promo_plus_tip() -> None:
    for app in states("food_delivery"):
        goods = Counter[str]()
        for line in app.order_lines:
            goods[line.order_id] += line.quantity * (line.price + line.extras)
        for o in app.orders:
            assert o.total == goods[o.id] + o.delivery_fee + o.service_fee - o.discount + o.tip


def test_food_delivery_there_is_one_restaurant_per_cart() -> None:
    filled = 0
    for moment in moments("food_delivery"):
        app = moment.state
        found = {app.menu_items[line.item_id].restaurant_id for line in app.cart_lines}
        assert found == ({app.cart.restaurant_id} if app.cart.restaurant_id else set())
        filled += bool(found)
    assert filled > 0


# -- travel booking ------------------------------------------------------------------------------


def _active(travel: Any) -> list[Any]:
    """Bookings that are paid, or held and not lapsed."""
    return [
        b
        for b in travel.bookings
        if b.status == "confirmed" or (b.status == "held" and b.hold_until >= travel.stamp)
    ]


def test_travel_booking_seats_and_room_nights_are_never_oversold() -> None:
    for travel in states("travel_booking"):
        active = {b.id: b for b in _active(travel)}
        sold = Counter(t.fare_id for t in travel.tickets if t.booking_id in active)
        assert sold
        assert all(sold[f.id] + f.others <= f.allotment for f in travel.fares)
        seats = Counter(t.seat_id for t in travel.tickets if t.seat_id)
        assert set(seats.values()) == {1}
        taken = Counter[tuple[str, int]]()
        for row in travel.room_nights:
            taken[row.room_id, date.fromisoformat(row.night).toordinal()] += row.others
        for b in active.values():
            if b.kind == "hotel":
                ends = (date.fromisoformat(day).toordinal() for day in (b.check_in, b.check_out))
                taken.update((b.room_id, night) for night in range(*ends))
        assert all(n <= travel.rooms[room].count for (room, _), n in taken.items())


FEES = {"standard": 60_00, "flex": 0, "business": 0}
"""Of a cancelled flight, for each passenger; a basic fare cannot be cancelled."""


def _flight_refund(travel: Any, booking: Any, charged: int) -> int:
    departs = datetime.fromisoformat(travel.flights[booking.flight_id].departs_at)
    booked = datetime.fromisoformat(booking.booked_at)
    early = (departs - booked).total_seconds() >= 7 * 86_400
    if early and (travel.now - booked).total_seconds() <= 86_400:
        return charged  # 14 CFR 259.5(b)(4)
    people = sum(t.booking_id == booking.id for t in travel.tickets)
    fee: int = FEES[travel.fares[booking.fare_id].name] * people
    return max(0, charged - fee)


def _stay_refund(travel: Any, booking: Any, charged: int) -> int:
    room = travel.rooms[booking.room_id]
    ahead = (date.fromisoformat(booking.check_in) - travel.now.date()).days
    if ahead >= {"flexible": 2, "moderate": 7}[room.policy]:
        return charged
    fee: int = room.price if room.policy == "flexible" else booking.total // 2
    return max(0, charged - fee)


def test_travel_booking_a_refund_follows_the_fare_rule() -> None:
    paid = 0
    for change in changes("travel_booking", "cancel_travel_booking"):
        travel, (end,) = change.before, change.made("cancellations")
        booking = travel.bookings[end.booking_id]
        charged = sum(p.amount for p in travel.payments if p.booking_id == booking.id)
        refund = _flight_refund if booking.kind == "flight" else _stay_refund
        expected = refund(travel, booking, charged) if charged else 0
        back = -sum(p.amount for p in change.made("payments"))
        assert (end.charged, end.refund, back) == (charged, expected, expected)
        paid += charged > 0
    assert paid > 0


def test_travel_booking_the_legs_of_an_itinerary_do_not_overlap() -> None:
    for travel in states("travel_booking"):
        spans: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for b in _active(travel):
            span = (b.check_in, b.check_out)
            if b.kind == "flight":
                flight = travel.flights[b.flight_id]
                span = (flight.departs_at, flight.arrives_at)
            spans[b.itinerary_id, b.kind].append(span)
        assert max(map(len, spans.values())) > 1
        for legs in spans.values():
            assert not [
                (one, two)
                for i, one in enumerate(legs)
                for two in legs[:i]
                if one[0] < two[1] and two[0] < one[1]
            ]
