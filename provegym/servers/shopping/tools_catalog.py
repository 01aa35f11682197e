"""Finding goods: search, product pages, reviews and the wishlist."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, Literal

from msgspec import Struct

from provegym.servers.shopping.state import (
    CategoryName,
    Product,
    ProductId,
    Review,
    Shop,
    Today,
    VariantId,
    Wish,
    find,
)
from provegym.servers.shopping.words import NOTES, REVIEWS
from provegym.world.fields import Limit, Money, Range, Text, cents, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Stars = Annotated[int, Range(1, 5)]


class ProductSummary(Struct, frozen=True):
    """A product in a list; `rating` is 0 where nobody has rated it."""

    product_id: ProductId
    title: str
    category: str
    price_from: Money
    rating: float
    in_stock: bool


class ProductPage(Struct, frozen=True):
    """Products found."""

    products: list[ProductSummary]
    total: int
    next_cursor: str


class VariantView(Struct, frozen=True):
    """A version that can be bought."""

    variant_id: VariantId
    title: str
    option: str
    price: Money
    available: int


class ProductView(Struct, frozen=True):
    """A product page; `return_days` is 0 where it may not be returned."""

    product_id: ProductId
    title: str
    category: str
    description: str
    rating: float
    review_count: int
    return_days: int
    limit_per_customer: int
    express_delivery: bool
    discontinued: bool
    variants: list[VariantView]


class ReviewView(Struct, frozen=True):
    """One review."""

    author: str
    stars: int
    text: str
    written_on: Today


class ReviewPage(Struct, frozen=True):
    """Reviews of one product, newest first."""

    reviews: list[ReviewView]
    total: int
    next_cursor: str


class ReviewReceipt(Struct, frozen=True):
    """The review as published and the product's rating with it."""

    product_id: ProductId
    title: str
    stars: int
    text: str
    rating: float
    review_count: int


class WishView(Struct, frozen=True):
    """A product on the wishlist."""

    product_id: ProductId
    title: str
    note: str
    price_from: Money
    in_stock: bool


class WishPage(Struct, frozen=True):
    """The wishlist, or the part of it asked for."""

    items: list[WishView]
    total: int
    next_cursor: str


class WishReceipt(Struct, frozen=True):
    """What was put on or taken off the wishlist, and how long it is now."""

    product_id: ProductId
    title: str
    note: str
    wishlist_size: int


def get(shop: Shop, product_id: str) -> Product:
    """The product, or a `not_found` refusal."""
    return find(shop.products, product_id, "product", "search_products")


def rating(product: Product) -> float:
    """Mean stars to one place, 0 without reviews."""
    return round(product.stars / product.reviews, 1) if product.reviews else 0.0


def in_stock(shop: Shop, product: Product) -> bool:
    """Whether some variant can be bought now."""
    if product.discontinued:
        return False
    variants = shop.variants.where(product_id=product.id)
    return any(shop.stock_of(v.id).available for v in variants)


def _summary(shop: Shop, p: Product) -> ProductSummary:
    category = shop.categories[p.category_id].name
    return ProductSummary(p.id, p.title, category, money(p.price), rating(p), in_stock(shop, p))


def noun(title: str) -> str:
    """What a person would search for: the title without its product line."""
    return title.split(" ", 1)[1].lower()


def some_product(shop: Shop, rnd: Random) -> Product:
    """A product still sold."""
    return rnd.choice([p for p in shop.products if not p.discontinued])


def _search_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    product = some_product(shop, rnd)
    found: dict[str, Any] = {"query": rnd.choice((noun(product.title), product.title.lower()))}
    if rnd.random() < 0.3:
        found["category"] = shop.categories[product.category_id].name
    if rnd.random() < 0.3:
        found["max_price"] = money((product.price // 1000 + 1 + rnd.randrange(4)) * 1000)
    if rnd.random() < 0.15 and product.reviews:
        found["min_rating"] = max(1, int(rating(product)))
    if rnd.random() < 0.3:
        found["sort"] = rnd.choice(("price", "rating"))
    return found


@tool(
    "read",
    phrases=(
        "Search the shop for {query}[ in the {category} category][ up to {max_price}]"
        "[ with at least {min_rating} stars][, sorted by {sort}]",
        "Find {query} that I can buy[ in {category}][ for at most {max_price}]"
        "[ rated {min_rating} stars or better][, ordered by {sort}]",
        "Look up {query} in the store[, category {category}][, no more than {max_price}]"
        "[, minimum {min_rating} stars][, sort by {sort}]",
    ),
    sample=_search_sample,
)
def search_products(
    shop: Shop,
    query: Text,
    category: CategoryName | None = None,
    max_price: Money | None = None,
    min_rating: Stars | None = None,
    sort: Literal["relevance", "price", "rating"] = "relevance",
    limit: Limit = 5,
    cursor: str = "",
) -> ProductPage:
    """Search the shop's products by words of their title, description or category.

    Args:
        query: Words that must all occur.
        category: Only products of this category.
        max_price: Highest price to show.
        min_rating: Fewest stars on average.
        sort: Best match, lowest price or highest rating first.
        limit: Products per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    top = cents(max_price) if max_price else None
    found = _holding(_sold_in(shop, category), words)
    if top is not None:
        found = [p for p in found if p.price <= top]
    if min_rating is not None:
        found = [p for p in found if rating(p) >= min_rating]
    found.sort(key=lambda p: _rank(p, words, sort))
    rows, total, after = page(found, limit, cursor)
    return ProductPage([_summary(shop, p) for p in rows], total, after)


def _sold_in(shop: Shop, category: str | None) -> list[Product]:
    if category is None:
        return shop.products.where(discontinued=False)
    home = shop.categories.where(name=category)[0]
    return shop.products.where(category_id=home.id, discontinued=False)


def _holding(products: list[Product], words: list[str]) -> list[Product]:
    for word in words:
        products = [p for p in products if word in p.words]
    return products


def _rank(p: Product, words: list[str], sort: str) -> tuple[float, float, str]:
    """The title stands first in what is searched, so the earlier a word occurs, the better."""
    if sort == "price":
        return p.price, 0, p.title
    stars = -p.stars / p.reviews if p.reviews else 0
    return (stars if sort == "rating" else p.words.find(words[0])), stars, p.title


@tool(
    "read",
    phrases=(
        "Show me the product page of {product_id}",
        "Which versions of {product_id} are there and what do they cost",
        "Get the details of {product_id}",
    ),
    refuses=("not_found",),
)
def get_product(shop: Shop, product_id: ProductId) -> ProductView:
    """Show a product with its variants, their prices and the units available.

    Args:
        product_id: The product.
    """
    p = get(shop, product_id)
    category = shop.categories[p.category_id]
    return ProductView(
        product_id=p.id,
        title=p.title,
        category=category.name,
        description=p.description,
        rating=rating(p),
        review_count=p.reviews,
        return_days=category.return_days,
        limit_per_customer=p.most,
        express_delivery=not p.bulky,
        discontinued=p.discontinued,
        variants=[
            VariantView(v.id, v.title, v.option, money(v.price), shop.stock_of(v.id).available)
            for v in shop.variants.where(product_id=p.id)
        ],
    )


def _reviews_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    review = rnd.choice(list(shop.reviews))
    stars = {"stars": review.stars} if rnd.random() < 0.3 else {}
    return {"product_id": review.product_id, **stars}


@tool(
    "read",
    phrases=(
        "Show the reviews of {product_id}[ with {stars} stars]",
        "What do buyers say about {product_id}[ in their {stars}-star reviews]",
        "Read me the[ {stars}-star] customer reviews of {product_id}",
    ),
    refuses=("not_found",),
    sample=_reviews_sample,
)
def list_product_reviews(
    shop: Shop,
    product_id: ProductId,
    stars: Stars | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ReviewPage:
    """List what buyers wrote about a product, newest first.

    Args:
        product_id: The product.
        stars: Only reviews with exactly this many stars.
        limit: Reviews per page.
        cursor: next_cursor of the page before.
    """
    found = shop.reviews.where(product_id=get(shop, product_id).id)
    found = [r for r in found if stars in (None, r.stars)]
    found.sort(key=lambda r: (r.written_on, r.author), reverse=True)
    rows, total, after = page(found, limit, cursor)
    views = [ReviewView(r.author, r.stars, r.text, r.written_on) for r in rows]
    return ReviewPage(views, total, after)


def received(shop: Shop, product_id: str) -> bool:
    """Whether the customer has had the product delivered."""
    lines = shop.order_lines.where(product_id=product_id)
    return any(shop.orders[line.order_id].status == "delivered" for line in lines)


def _own_review(shop: Shop, product_id: str) -> Review | None:
    return next(iter(shop.reviews.where(product_id=product_id, mine=True)), None)


def _write_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    stars = rnd.choice((1, 2, 3, 4, 4, 5, 5))
    words = {"stars": stars, "text": rnd.choice(REVIEWS[stars])}
    bought = dict.fromkeys(line.product_id for line in shop.order_lines)
    open_ = [p for p in bought if received(shop, p) and not _own_review(shop, p)]
    return {"product_id": rnd.choice(open_), **words} if open_ else words


@tool(
    "write",
    phrases=(
        'Leave a {stars}-star review of {product_id} saying "{text}"',
        'Rate {product_id} {stars} stars and write "{text}"',
        'Post a product review for {product_id}: {stars} stars, "{text}"',
    ),
    refuses=("not_found", "not_purchased", "already_reviewed"),
    sample=_write_sample,
)
def write_product_review(
    shop: Shop, product_id: ProductId, stars: Stars, text: Text
) -> ReviewReceipt:
    """Publish the customer's review of a product that was delivered to them.

    Args:
        product_id: The product.
        stars: From 1 (poor) to 5 (excellent).
        text: What to say about it.
    """
    p = get(shop, product_id)
    if not received(shop, p.id):
        refuse("not_purchased", f"{p.title} was never delivered to you, so you cannot review it")
    own = _own_review(shop, p.id)
    if own:
        text = f"you reviewed {p.title} on {own.written_on} with {own.stars} stars"
        refuse("already_reviewed", text, stars=own.stars, written_on=own.written_on)
    author, today = shop.cast.user.name, shop.today.isoformat()
    shop.reviews.put(Review(shop.reviews.new_id(), p.id, author, stars, text, True, today))
    p = shop.products.update(p, stars=p.stars + stars, reviews=p.reviews + 1)
    return ReviewReceipt(p.id, p.title, stars, text, rating(p), p.reviews)


# -- the wishlist ------------------------------------------------------------------------------


def _wish(shop: Shop, product_id: str) -> Wish | None:
    return next(iter(shop.wishlists.where(product_id=product_id)), None)


def _wishlist_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    wishes = list(shop.wishlists)
    if not wishes or rnd.random() > 0.4:
        return {}
    return {"query": noun(shop.products[rnd.choice(wishes).product_id].title)}


@tool(
    "read",
    phrases=(
        "Show my wishlist[, only the {query}]",
        "What is on my wishlist[ that matches {query}]",
        "List the things I saved to my wishlist[ with {query} in the name]",
    ),
    sample=_wishlist_sample,
)
def list_wishlist(shop: Shop, query: str = "", limit: Limit = 5, cursor: str = "") -> WishPage:
    """List the customer's wishlist, newest first, with current prices.

    Args:
        query: Words that must occur in the title.
        limit: Products per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    wishes = [(w, shop.products[w.product_id]) for w in shop.wishlists]
    wishes.sort(key=lambda pair: (pair[0].added_on, pair[1].title), reverse=True)
    found = [(w, p) for w, p in wishes if all(word in p.title.lower() for word in words)]
    rows, total, after = page(found, limit, cursor)
    views = [WishView(p.id, p.title, w.note, money(p.price), in_stock(shop, p)) for w, p in rows]
    return WishPage(views, total, after)


def _wish_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    open_ = [p.id for p in shop.products if not (p.discontinued or _wish(shop, p.id))]
    note = {"note": rnd.choice(NOTES)} if rnd.random() < 0.3 else {}
    return {"product_id": rnd.choice(open_), **note} if open_ else note


@tool(
    "write",
    phrases=(
        'Put {product_id} on my wishlist[ with the note "{note}"]',
        'Save {product_id} to my wishlist[, noting "{note}"]',
        'Add {product_id} to the wishlist[ and note "{note}"]',
    ),
    refuses=("not_found", "discontinued", "already_on_wishlist"),
    sample=_wish_sample,
)
def add_to_wishlist(shop: Shop, product_id: ProductId, note: str = "") -> WishReceipt:
    """Save a product to the customer's wishlist.

    Args:
        product_id: The product.
        note: A reminder to keep with it.
    """
    p = get(shop, product_id)
    if p.discontinued:
        refuse("discontinued", f"{p.title} is no longer sold")
    if _wish(shop, p.id):
        refuse("already_on_wishlist", f"{p.title} is on the wishlist already")
    today = shop.today.isoformat()
    shop.wishlists.put(Wish(shop.wishlists.new_id(), p.id, note, today))
    return WishReceipt(p.id, p.title, note, len(shop.wishlists))


def _unwish_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    wishes = list(shop.wishlists)
    return {"product_id": rnd.choice(wishes).product_id} if wishes else {}


@tool(
    "write",
    phrases=(
        "Take {product_id} off my wishlist",
        "Remove {product_id} from my wishlist",
        "Delete {product_id} from the wishlist, I no longer want it",
    ),
    refuses=("not_found", "not_on_wishlist"),
    sample=_unwish_sample,
)
def remove_from_wishlist(shop: Shop, product_id: ProductId) -> WishReceipt:
    """Take a product off the customer's wishlist.

    Args:
        product_id: The product.
    """
    p = get(shop, product_id)
    wish = _wish(shop, p.id)
    if wish is None:
        refuse("not_on_wishlist", f"{p.title} is not on the wishlist; see list_wishlist")
    shop.wishlists.delete(wish.id)
    return WishReceipt(p.id, p.title, wish.note, len(shop.wishlists))
