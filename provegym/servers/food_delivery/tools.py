"""The service's 17 tools, in the order in which a meal comes about."""

from __future__ import annotations

from provegym.servers.food_delivery.tools_cart import (
    add_dish_to_cart,
    apply_food_promo,
    clear_food_cart,
    get_food_cart,
    list_food_promos,
    update_cart_dish,
)
from provegym.servers.food_delivery.tools_orders import (
    cancel_food_order,
    get_food_order,
    list_delivery_addresses,
    list_food_orders,
    place_food_order,
    rate_food_order,
    track_food_order,
)
from provegym.servers.food_delivery.tools_restaurants import (
    get_dish,
    get_restaurant,
    search_dishes,
    search_restaurants,
)

__all__ = [
    "add_dish_to_cart",
    "apply_food_promo",
    "cancel_food_order",
    "clear_food_cart",
    "get_dish",
    "get_food_cart",
    "get_food_order",
    "get_restaurant",
    "list_delivery_addresses",
    "list_food_orders",
    "list_food_promos",
    "place_food_order",
    "rate_food_order",
    "search_dishes",
    "search_restaurants",
    "track_food_order",
    "update_cart_dish",
]
