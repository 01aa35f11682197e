"""The rules that make the prices of a day."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Annotated, Any

from msgspec import Struct

from provegym.servers.retail_chain.prices import discounted, rank, rule_status
from provegym.servers.retail_chain.state import (
    Chain,
    Department,
    Goods,
    PriceRule,
    Product,
    ProductId,
    RuleId,
    RuleStatus,
    StoreId,
    find_product,
    find_store,
)
from provegym.servers.retail_chain.stock import level_at
from provegym.world.fields import Date, Limit, Money, Range, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Percent = Annotated[int, Range(0, 70)]
EVERYTHING, ALL_STORES = "everything", "all stores"


class RuleItem(Struct, frozen=True):
    """A price rule: percent off some goods at a store; the days count inclusively."""

    rule_id: RuleId
    goods: str
    store: str
    percent_off: int
    starts_on: str
    ends_on: Date
    status: RuleStatus


class RulePage(Struct, frozen=True):
    """Price rules, the narrowest first: those before others win."""

    rules: list[RuleItem]
    total: int
    next_cursor: str


class RuleReceipt(Struct, frozen=True):
    """A price rule as it is now, and the price that it makes of a single product."""

    rule_id: RuleId
    goods: str
    store: str
    percent_off: int
    starts_on: str
    ends_on: Date
    status: RuleStatus
    price: str


def _item(chain: Chain, r: PriceRule) -> RuleItem:
    goods = chain.products[r.product_id].product if r.product_id else r.department or EVERYTHING
    store = chain.stores[r.store_id].store if r.store_id else ALL_STORES
    status = rule_status(r, chain.today)
    return RuleItem(r.id, goods, store, r.percent_off, r.starts_on, r.ends_on, status)


# -- looking -------------------------------------------------------------------------------------


def _list_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    r = rnd.choice(list(chain.price_rules))
    given: dict[str, Any] = {}
    if rnd.random() < 0.5:
        given["status"] = rule_status(r, chain.today)
    if r.store_id and rnd.random() < 0.5:
        given["store_id"] = r.store_id
    if r.product_id and rnd.random() < 0.5:
        given["product_id"] = r.product_id
    elif r.department and rnd.random() < 0.5:
        given["department"] = r.department
    return given


@tool(
    "read",
    phrases=(
        "List the[ {status}] price rules[ that apply to {product_id}][ in {department}]"
        "[ at {store_id}]",
        "Which[ {status}] discount rules do we have[ on {product_id}][ for {department} goods]"
        "[ at {store_id}]",
        "Show our[ {status}] price rules[ for {product_id}][ for the {department} department]"
        "[ at {store_id}]",
    ),
    refuses=("not_found",),
    sample=_list_sample,
)
def list_price_rules(
    chain: Chain,
    product_id: ProductId = "",
    department: Department | None = None,
    store_id: StoreId = "",
    status: RuleStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> RulePage:
    """List price rules, the narrowest first: of the current ones the first that applies wins.

    Args:
        product_id: Only rules that apply to this product, broader ones included.
        department: Only rules that apply to this department.
        store_id: Only rules that apply at this store, chain-wide ones included.
        status: Only rules in this state.
        limit: Rules per page.
        cursor: next_cursor of the page before.
    """
    product = find_product(chain, product_id) if product_id else None
    store = find_store(chain, store_id).id if store_id else ""
    found = [
        r
        for r in chain.price_rules
        if _covers(r, product)
        and (not department or _is_about(chain, r, department))
        and (not store or r.store_id in ("", store))
        and status in (None, rule_status(r, chain.today))
    ]
    found.sort(key=rank, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return RulePage([_item(chain, r) for r in rows], total, after)


def _covers(r: PriceRule, product: Product | None) -> bool:
    """Whether a rule applies to a product."""
    if product is None or r.product_id:
        return product is None or r.product_id == product.id
    return r.department in ("", product.department)


def _is_about(chain: Chain, r: PriceRule, department: Department) -> bool:
    """Whether a rule applies to goods of a department."""
    if r.product_id:
        return chain.products[r.product_id].department == department
    return r.department in ("", department)


# -- setting -------------------------------------------------------------------------------------


def _set_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    day = date.fromisoformat(chain.today)
    last = day + timedelta(days=rnd.randint(8, 40))
    given: dict[str, Any] = {
        "ends_on": last.isoformat(),
        "percent_off": rnd.choice(range(5, 41, 5)),
    }
    level = chain.stock_levels[rnd.choice(chain.stock_levels.template.ids)]
    product, luck = chain.products[level.product_id], rnd.random()
    if luck < 0.55:
        most = (product.price - product.cost) * 100 // product.price
        given |= {"product_id": product.id, "percent_off": rnd.randint(1, most // 5) * 5}
    elif luck < 0.9:
        given["department"] = product.department
    if rnd.random() < 0.45:
        given["store_id"] = level.store_id
    if rnd.random() < 0.3:
        given["starts_on"] = (day + timedelta(days=rnd.randint(1, 7))).isoformat()
    return given


@tool(
    "write",
    phrases=(
        "Set a price rule of {percent_off} percent off[ {product_id}]"
        "[ everything in the {department} department][ at {store_id}][ from {starts_on}]"
        " until {ends_on}",
        "Take {percent_off} percent off[ {product_id}][ all {department} goods][ at {store_id}]"
        "[ starting on {starts_on}], ending on {ends_on}",
        "Discount[ {product_id}][ the {department} department][ at {store_id}]"
        " by {percent_off} percent[ from {starts_on}] through {ends_on}",
    ),
    refuses=("not_found", "not_stocked", "period_over", "below_cost", "no_change"),
    sample=_set_sample,
)
def set_price_rule(
    chain: Chain,
    percent_off: Percent,
    ends_on: Date,
    starts_on: Date = "",
    product_id: ProductId = "",
    department: Department | None = None,
    store_id: StoreId = "",
) -> RuleReceipt:
    """Set the discount on a product, a department or everything, at one store or at all.

    Replaces the rule for the same goods and store. The narrowest rule wins; 0 is the list price.

    Args:
        percent_off: Percent off the list price.
        ends_on: Last day.
        starts_on: First day; at once if left out.
        product_id: Only this product.
        department: Only this department; not together with product_id.
        store_id: Only at this store.
    """
    product = find_product(chain, product_id) if product_id else None
    store = find_store(chain, store_id) if store_id else None
    if product and department:
        refuse("invalid_target", "name either a product or a department, or neither")
    if product and store:
        level_at(chain, store, product)
    _check_days(chain, starts_on, ends_on)
    price = _check_cost(product, percent_off) if product else ""
    rule = _put(chain, (product_id, department or "", store_id), percent_off, starts_on, ends_on)
    now = _item(chain, rule)
    return RuleReceipt(
        *(now.rule_id, now.goods, now.store, now.percent_off, now.starts_on, now.ends_on),
        *(now.status, price),
    )


def _check_days(chain: Chain, starts_on: str, ends_on: str) -> None:
    if starts_on > ends_on:
        refuse("invalid_period", f"the rule would start on {starts_on}, after its end {ends_on}")
    if ends_on < chain.today:
        text = f"{ends_on} is over; today is {chain.today}, which is the earliest end"
        refuse("period_over", text, today=chain.today)


def _check_cost(product: Product, percent_off: int) -> Money:
    """The price that a percentage leaves; refused below the product's cost."""
    price = discounted(product, percent_off)
    if price < product.cost:
        most = (product.price - product.cost) * 100 // product.price
        text = (
            f"{percent_off} percent off makes {money(price)}, below its cost {money(product.cost)}"
        )
        refuse("below_cost", f"{text}; at most {most} percent", most=most)
    return money(price)


def _put(
    chain: Chain, target: tuple[str, Goods, str], percent: int, starts: str, ends: str
) -> PriceRule:
    """Write the rule of a target, over the one that is there."""
    product, department, store = target
    old = chain.price_rules.where(product_id=product, department=department, store_id=store)
    if not old:
        new = PriceRule(
            chain.price_rules.new_id(), product, department, store, percent, starts, ends
        )
        return chain.price_rules.put(new)
    if (old[0].percent_off, old[0].starts_on, old[0].ends_on) == (percent, starts, ends):
        refuse("no_change", f"that rule is set already: {percent} percent until {ends}")
    return chain.price_rules.update(old[0], percent_off=percent, starts_on=starts, ends_on=ends)
