"""What the marketplace tells of a world's stories."""

from __future__ import annotations

import pytest

from provegym.world.cast import cast
from provegym.world.fields import money
from provegym.world.stories import stories
from tests.servers.marketplace_desk import desk


@pytest.mark.parametrize("seed", range(12))
def test_the_told_purchase_is_found_by_its_title_with_price_day_and_seller(seed: int) -> None:
    d, sale = desk(seed), stories(cast(seed)).sale
    shown = d.ok("list_purchases", query=sale.title, side="buyer", limit=50)["purchases"]
    bought = {p["purchase_id"]: p for p in shown if p["amount"] == money(sale.price)}
    (row,) = [p for p in d.bought() if p.id in bought and sale.title in p.title]
    item = bought[row.id]
    assert (item["title"], item["bought_on"]) == (row.title, sale.bought.isoformat())
    listing = d.ok("get_listing", listing_id=row.listing_id)
    assert (listing["seller"], listing["status"]) == (sale.seller.name, "sold")
    assert listing["shipping"] == "0.00"


def test_its_seller_is_one_member_only() -> None:
    for seed in range(12):
        names = [s.seller for s in desk(seed).market.sellers]
        assert names.count(stories(cast(seed)).sale.seller.name) == 1


def test_no_other_listing_bears_its_title_in_other_letters() -> None:
    for seed in range(40):
        titles = [li.title.lower() for li in desk(seed).market.listings]
        assert len(set(titles)) == len(titles)
