"""Which price rule holds: the narrowest goods first, then the store's own before the chain's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from provegym.servers.retail_chain.state import Chain, PriceRule, Product, RuleStatus


class Price(NamedTuple):
    """What a unit costs in cents, and the percent that the rule in force takes off."""

    amount: int
    percent_off: int


def rule_status(rule: PriceRule, today: str) -> RuleStatus:
    """Whether a rule holds on that day, will, or did."""
    if rule.ends_on < today:
        return "ended"
    return "upcoming" if rule.starts_on > today else "current"


def rank(rule: PriceRule) -> tuple[bool, bool, bool]:
    """How narrow a rule is: by product, by department, by store."""
    return rule.product_id != "", rule.department != "", rule.store_id != ""


def in_force(chain: Chain, store_id: str, product: Product) -> PriceRule | None:
    """The rule that makes today's price of a product at a store, if any."""
    today = chain.today
    found = [r for r in _about(chain, product) if r.store_id in ("", store_id)]
    current = [r for r in found if rule_status(r, today) == "current"]
    return max(current, key=rank, default=None)


def _about(chain: Chain, product: Product) -> Iterable[PriceRule]:
    yield from chain.price_rules.where(product_id=product.id)
    for rule in chain.price_rules.where(product_id=""):
        if rule.department in ("", product.department):
            yield rule


def discounted(product: Product, percent_off: int) -> int:
    """The list price less the percentage, rounded half up to a cent."""
    return (product.price * (100 - percent_off) + 50) // 100


def price_at(chain: Chain, store_id: str, product: Product) -> Price:
    """Today's price at a store; a broad rule never brings it below the product's cost."""
    rule = in_force(chain, store_id, product)
    percent = rule.percent_off if rule else 0
    return Price(max(discounted(product, percent), product.cost), percent)
