"""The words that a town's restaurants are made of."""

from __future__ import annotations

from typing import NamedTuple

from provegym.servers.food_delivery.state import Cuisine, Diet, Group


class Dish(NamedTuple):
    """A dish with what is in it and the dollars it costs (at least, at most)."""

    name: str
    inside: str
    diet: Diet
    low: int
    high: int


class Kitchen(NamedTuple):
    """What restaurants of one cuisine are called and serve."""

    names: tuple[str, ...]
    mains: tuple[Dish, ...]
    lunch: tuple[Dish, ...]
    extras: tuple[tuple[str, int], ...]
    """Extras with their price in cents."""


KITCHENS: dict[Cuisine, Kitchen] = {
    "italian": Kitchen(
        ("Bella Roma", "Trattoria Lina", "Casa Toscana", "Forno Antico", "Il Gallo"),
        (
            Dish("Margherita Pizza", "tomato, mozzarella and basil", "vegetarian", 10, 14),
            Dish("Diavola Pizza", "spicy salami and chili oil", "meat", 12, 16),
            Dish("Lasagne", "beef ragu and bechamel", "meat", 13, 17),
            Dish("Mushroom Risotto", "porcini and parmesan", "vegetarian", 13, 17),
            Dish("Spaghetti Marinara", "tomato, garlic and olives", "vegan", 10, 14),
            Dish("Linguine with Clams", "white wine and parsley", "fish", 15, 20),
        ),
        (
            Dish("Caprese Panini", "mozzarella, tomato and pesto", "vegetarian", 8, 11),
            Dish("Minestrone", "beans, vegetables and small pasta", "vegan", 7, 9),
        ),
        (("Extra cheese", 150), ("Gluten-free dough", 250), ("Chili oil", 50), ("Olives", 120)),
    ),
    "japanese": Kitchen(
        ("Sakura House", "Umi Sushi", "Ramen Koji", "Little Osaka", "Tanuki Bar"),
        (
            Dish("Salmon Nigiri Set", "eight pieces with ginger", "fish", 14, 19),
            Dish("Tonkotsu Ramen", "pork broth, egg and noodles", "meat", 13, 17),
            Dish("Miso Ramen", "miso broth, corn and tofu", "vegan", 12, 15),
            Dish("Chicken Katsu Curry", "crisp chicken and curry sauce", "meat", 13, 16),
            Dish("Tuna Poke Bowl", "rice, tuna and edamame", "fish", 14, 18),
            Dish("Avocado Roll", "eight pieces with sesame", "vegan", 8, 11),
        ),
        (
            Dish("Bento Box", "teriyaki chicken, rice and salad", "meat", 11, 14),
            Dish("Udon Soup", "wheat noodles and spring onion", "vegan", 9, 12),
        ),
        (("Soft egg", 180), ("Extra noodles", 250), ("Wasabi", 60), ("Seaweed salad", 350)),
    ),
    "mexican": Kitchen(
        ("Casa Verde", "El Camino", "Taqueria Sol", "La Paloma", "Cantina Azul"),
        (
            Dish("Carnitas Tacos", "slow pork, onion and cilantro", "meat", 10, 14),
            Dish("Bean Burrito", "black beans, rice and salsa", "vegan", 9, 12),
            Dish("Chicken Quesadilla", "melted cheese and peppers", "meat", 10, 13),
            Dish("Fish Tacos", "crisp cod and lime slaw", "fish", 11, 15),
            Dish("Cheese Enchiladas", "red chili sauce", "vegetarian", 11, 14),
            Dish("Steak Fajitas", "grilled beef and peppers", "meat", 15, 19),
        ),
        (
            Dish("Taco Salad", "lettuce, beans and avocado", "vegan", 9, 12),
            Dish("Torta Milanesa", "breaded chicken in a roll", "meat", 10, 13),
        ),
        (("Guacamole", 220), ("Sour cream", 90), ("Jalapenos", 70), ("Double meat", 380)),
    ),
    "indian": Kitchen(
        ("Taj Garden", "Spice Route", "Masala Lane", "Bombay Corner", "Lotus Palace"),
        (
            Dish("Butter Chicken", "tomato, cream and fenugreek", "meat", 13, 17),
            Dish("Palak Paneer", "spinach and fresh cheese", "vegetarian", 12, 15),
            Dish("Chana Masala", "chickpeas and ginger", "vegan", 11, 14),
            Dish("Lamb Rogan Josh", "slow lamb and kashmiri chili", "meat", 15, 19),
            Dish("Vegetable Biryani", "saffron rice and cashews", "vegan", 12, 15),
            Dish("Goan Fish Curry", "coconut and tamarind", "fish", 14, 18),
        ),
        (
            Dish("Thali Plate", "dal, rice, pickle and bread", "vegetarian", 11, 14),
            Dish("Masala Dosa", "rice crepe and potatoes", "vegan", 9, 12),
        ),
        (("Garlic naan", 320), ("Raita", 250), ("Mango chutney", 150), ("Extra rice", 280)),
    ),
    "american": Kitchen(
        ("Burger Barn", "Smokey Joe's", "The Blue Plate", "Liberty Grill", "Route Nine Diner"),
        (
            Dish("Cheeseburger", "beef, cheddar and pickles", "meat", 10, 14),
            Dish("Veggie Burger", "black bean patty", "vegetarian", 10, 13),
            Dish("Pulled Pork Plate", "smoked pork and slaw", "meat", 14, 18),
            Dish("Buffalo Wings", "ten wings with celery", "meat", 11, 15),
            Dish("Mac and Cheese", "three cheeses and crumbs", "vegetarian", 9, 12),
            Dish("Grilled Salmon", "lemon butter and greens", "fish", 16, 21),
        ),
        (
            Dish("Club Sandwich", "turkey, bacon and tomato", "meat", 10, 13),
            Dish("Cobb Salad", "chicken, egg and avocado", "meat", 11, 14),
        ),
        (("Bacon", 200), ("Cheddar", 130), ("Fried onions", 110), ("Gluten-free bun", 180)),
    ),
    "thai": Kitchen(
        ("Bangkok Express", "Jade Elephant", "Thai Orchid", "Lemongrass Lane", "Chili Basil"),
        (
            Dish("Pad Thai", "rice noodles, egg and peanuts", "vegetarian", 11, 15),
            Dish("Green Curry", "chicken, coconut and basil", "meat", 12, 16),
            Dish("Massaman Curry", "beef, potato and peanuts", "meat", 13, 17),
            Dish("Tofu Basil Stir-fry", "holy basil and chili", "vegan", 11, 14),
            Dish("Tom Yum Soup", "prawns and lemongrass", "fish", 9, 13),
            Dish("Cashew Chicken", "roasted cashews and peppers", "meat", 12, 15),
        ),
        (
            Dish("Papaya Salad", "green papaya and lime", "vegan", 8, 11),
            Dish("Rice Bowl Satay", "grilled chicken and peanut sauce", "meat", 10, 13),
        ),
        (("Extra spicy", 0), ("Prawns", 400), ("Fried egg", 150), ("Extra tofu", 220)),
    ),
    "mediterranean": Kitchen(
        ("Olive Tree", "Cedar House", "Zaatar Kitchen", "Aegean Table", "Sultan's Grill"),
        (
            Dish("Falafel Plate", "hummus, pickles and pita", "vegan", 10, 14),
            Dish("Chicken Shawarma", "garlic sauce and fries", "meat", 11, 15),
            Dish("Lamb Kofta", "bulgur and mint yogurt", "meat", 14, 18),
            Dish("Moussaka", "aubergine, beef and bechamel", "meat", 13, 16),
            Dish("Grilled Sea Bass", "lemon and herbs", "fish", 17, 22),
            Dish("Spinach Pie", "feta in filo pastry", "vegetarian", 9, 12),
        ),
        (
            Dish("Mezze Box", "hummus, tabbouleh and olives", "vegan", 11, 14),
            Dish("Halloumi Wrap", "grilled cheese and salad", "vegetarian", 9, 12),
        ),
        (("Extra hummus", 200), ("Feta", 180), ("Pita bread", 120), ("Harissa", 60)),
    ),
    "bakery": Kitchen(
        ("Morning Crumb", "Flour & Stone", "Honey Oven", "The Daily Loaf", "Rosewood Bakery"),
        (
            Dish("Ham Croissant", "ham and gruyere", "meat", 6, 8),
            Dish("Quiche Lorraine", "bacon, egg and cream", "meat", 8, 11),
            Dish("Tomato Focaccia", "rosemary and sea salt", "vegan", 6, 9),
            Dish("Smoked Salmon Bagel", "cream cheese and dill", "fish", 9, 12),
            Dish("Leek Tart", "leek and goat cheese", "vegetarian", 8, 11),
            Dish("Turkey Baguette", "turkey, mustard and greens", "meat", 8, 11),
        ),
        (
            Dish("Soup of the Day", "with a slice of sourdough", "vegetarian", 6, 9),
            Dish("Nicoise Salad", "tuna, egg and green beans", "fish", 10, 13),
        ),
        (("Butter", 50), ("Jam", 80), ("Oat milk", 70), ("Toasted", 0)),
    ),
}
BREAKFAST = (
    Dish("Pancakes", "maple syrup and berries", "vegetarian", 8, 11),
    Dish("Avocado Toast", "sourdough, lime and chili", "vegan", 8, 11),
    Dish("Omelette", "herbs and cheese", "vegetarian", 8, 11),
    Dish("Granola Bowl", "yogurt and fruit", "vegetarian", 7, 9),
    Dish("Breakfast Wrap", "egg, bacon and beans", "meat", 8, 11),
)
DRINKS = (
    Dish("Lemonade", "fresh lemon and mint", "vegan", 3, 5),
    Dish("Iced Tea", "black tea and peach", "vegan", 3, 5),
    Dish("Orange Juice", "freshly pressed", "vegan", 4, 6),
    Dish("Cappuccino", "double shot", "vegetarian", 3, 5),
    Dish("Sparkling Water", "half a litre", "vegan", 2, 4),
    Dish("Mango Lassi", "yogurt and mango", "vegetarian", 4, 6),
)
DESSERTS = (
    Dish("Chocolate Cake", "dark chocolate and cream", "vegetarian", 5, 8),
    Dish("Fruit Salad", "what the season gives", "vegan", 5, 7),
    Dish("Cheesecake", "with berry sauce", "vegetarian", 5, 8),
    Dish("Rice Pudding", "cinnamon and raisins", "vegetarian", 4, 7),
    Dish("Sorbet", "two scoops of lemon", "vegan", 4, 6),
)
SIZES: tuple[tuple[Group, str, int], ...] = (("size", "Large", 350), ("size", "Family size", 900))
BIG_DRINK: tuple[tuple[Group, str, int], ...] = (("size", "Large", 150),)
ADDRESS_NAMES = ("Office", "Gym", "Studio", "Grandma", "Library", "Clinic", "Workshop", "Boathouse")
PROMO_WORDS = ("TASTY", "HUNGRY", "BITE", "FEAST", "CRAVING", "SNACK", "DINEIN", "YUMMY", "FRESH")
FREE_DELIVERY_CODES = ("FREERIDE", "NOFEE", "ZERODELIVERY")
NOTES = (
    *("leave it at the door", "ring twice", "call on arrival", "no cutlery please"),
    *("third floor, left", "hand it to reception", "extra napkins", "mind the dog"),
)
COMMENTS: dict[int, tuple[str, ...]] = {
    1: ("Cold and late", "Half of it was missing", "Never again"),
    2: ("Too salty for us", "Soggy when it came", "Small for the price"),
    3: ("Fine for a weekday", "Good food, slow delivery", "Nothing special"),
    4: ("Tasty and still warm", "Would order again", "Generous portions"),
    5: ("Best in town", "Arrived hot and early", "The whole family loved it"),
}
