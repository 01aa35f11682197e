"""The customer's address book."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated, Any

from msgspec import Struct

from provegym.servers.shopping.state import Address, AddressId, Shop, find
from provegym.servers.shopping.words import ADDRESS_NAMES, STREETS
from provegym.world.fields import Format, Limit, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool

MAX_ADDRESSES = 10


def _five_digits(text: str) -> bool:
    return re.fullmatch(r"[0-9]{5}", text) is not None


Postcode = Annotated[str, Format("postcode", 'Five digits, e.g. "60614".', _five_digits)]


class AddressView(Struct, frozen=True):
    """An address by the name the customer gave it."""

    address_id: AddressId
    name: str
    recipient: str
    street: str
    city: str
    postcode: str
    default: bool


class AddressPage(Struct, frozen=True):
    """Addresses, the default first."""

    addresses: list[AddressView]
    total: int
    next_cursor: str


def _view(a: Address) -> AddressView:
    return AddressView(a.id, a.name, a.recipient, a.street, a.city, a.postcode, a.default)


def _list_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    addresses = list(shop.addresses)
    if not addresses or rnd.random() > 0.3:
        return {}
    return {"city": rnd.choice(addresses).city}


@tool(
    "read",
    phrases=(
        "List my delivery addresses[ in {city}]",
        "Which addresses[ in {city}] can the shop deliver to",
        "Show the address book of my shop account[ for {city}]",
    ),
    sample=_list_sample,
)
def list_addresses(shop: Shop, city: str = "", limit: Limit = 5, cursor: str = "") -> AddressPage:
    """List the customer's delivery addresses, the default one first.

    Args:
        city: Only addresses in this city.
        limit: Addresses per page.
        cursor: next_cursor of the page before.
    """
    found = [a for a in shop.addresses if city.lower() in ("", a.city.lower())]
    found.sort(key=lambda a: (not a.default, a.name))
    rows, total, after = page(found, limit, cursor)
    return AddressPage([_view(a) for a in rows], total, after)


def _add_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    taken = {a.name for a in shop.addresses}
    names = [name for name in ADDRESS_NAMES if name not in taken] or list(ADDRESS_NAMES)
    friend = rnd.choice(shop.cast.others)
    given = {
        "name": rnd.choice(names),
        "street": f"{rnd.randrange(1, 400)} {rnd.choice(STREETS)}",
        "city": friend.city,
        "postcode": f"{rnd.randrange(10000, 99999)}",
    }
    return given | ({"recipient": friend.name} if rnd.random() < 0.3 else {})


@tool(
    "write",
    phrases=(
        "Add a delivery address called {name}: {street}, {city} {postcode}[, for {recipient}]",
        "Save {street}, {city} {postcode} as my {name} address[ with {recipient} as the recipient]",
        "Store a new shop address named {name} at {street}, {city}, postcode {postcode}"
        "[, recipient {recipient}]",
    ),
    refuses=("address_name_taken", "too_many_addresses"),
    sample=_add_sample,
)
def add_address(
    shop: Shop, name: Text, street: Text, city: Text, postcode: Postcode, recipient: str = ""
) -> AddressView:
    """Add an address to the customer's address book; it does not become the default.

    Args:
        name: Short name for it, as "Home".
        street: Number and street.
        city: City.
        postcode: Postcode.
        recipient: Who receives parcels there; without it, the customer.
    """
    if any(a.name.lower() == name.lower() for a in shop.addresses):
        refuse("address_name_taken", f"there is an address named {name!r} already", name=name)
    if len(shop.addresses) >= MAX_ADDRESSES:
        text = f"the address book holds {MAX_ADDRESSES} addresses, which is the most"
        refuse("too_many_addresses", text, limit=MAX_ADDRESSES)
    new, who = shop.addresses.new_id(), recipient or shop.cast.user.name
    return _view(shop.addresses.put(Address(new, name, who, street, city, postcode, False)))


def _default_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    others = shop.addresses.where(default=False)
    return {"address_id": rnd.choice(others).id} if others else {}


@tool(
    "write",
    phrases=(
        "Make {address_id} my default delivery address",
        "Send my future orders to {address_id} by default",
        "Set {address_id} as the default for shop deliveries",
    ),
    refuses=("not_found", "already_default"),
    sample=_default_sample,
)
def set_default_address(shop: Shop, address_id: AddressId) -> AddressView:
    """Make an address the one that orders go to when none is named.

    Args:
        address_id: The address.
    """
    address = find(shop.addresses, address_id, "address", "list_addresses")
    if address.default:
        refuse("already_default", f"the {address.name} address is the default already")
    for other in shop.addresses.where(default=True):
        shop.addresses.update(other, default=False)
    return _view(shop.addresses.update(address, default=True))
