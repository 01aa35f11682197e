"""The shop's 23 tools, in the order in which a purchase goes."""

from __future__ import annotations

from provegym.servers.shopping.tools_addresses import (
    add_address,
    list_addresses,
    set_default_address,
)
from provegym.servers.shopping.tools_cart import (
    add_to_cart,
    apply_coupon,
    get_cart,
    list_coupons,
    remove_coupon,
    remove_from_cart,
    update_cart_line,
)
from provegym.servers.shopping.tools_catalog import (
    add_to_wishlist,
    get_product,
    list_product_reviews,
    list_wishlist,
    remove_from_wishlist,
    search_products,
    write_product_review,
)
from provegym.servers.shopping.tools_orders import (
    cancel_order,
    get_order,
    list_orders,
    list_returns,
    place_order,
    return_item,
)

__all__ = [
    "add_address",
    "add_to_cart",
    "add_to_wishlist",
    "apply_coupon",
    "cancel_order",
    "get_cart",
    "get_order",
    "get_product",
    "list_addresses",
    "list_coupons",
    "list_orders",
    "list_product_reviews",
    "list_returns",
    "list_wishlist",
    "place_order",
    "remove_coupon",
    "remove_from_cart",
    "remove_from_wishlist",
    "return_item",
    "search_products",
    "set_default_address",
    "update_cart_line",
    "write_product_review",
]
