"""The budget at the start of an episode: seven months of a household's money and one to come."""

from __future__ import annotations

from calendar import monthrange
from collections import defaultdict
from datetime import date
from random import Random

from msgspec.structs import replace

from provegym.servers.budget.books import STEPS
from provegym.servers.budget.state import (
    Allocation,
    Budget,
    Category,
    Contribution,
    Expense,
    Frequency,
    Goal,
    Income,
    LimitKind,
    RecurringItem,
    Report,
    ReportLine,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds
from provegym.world.stories import Dues, stories

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
PAST, CLOSED = 6, 4
"""Months before the present one, and how many of them are closed."""

CATEGORIES: tuple[tuple[str, LimitKind, int, tuple[str, ...]], ...] = (
    ("Housing", "soft", 1500, ()),
    ("Utilities", "soft", 260, ()),
    ("Groceries", "soft", 420, ("Greenway Market", "Sunrise Foods", "Harvest Farm Shop")),
    ("Dining", "hard", 240, ("Blue Fig Cafe", "Noodle House", "Luigi's Trattoria")),
    ("Transport", "soft", 130, ("Metro Transit", "Swift Cabs", "Northside Fuel")),
    ("Health", "soft", 110, ("City Pharmacy", "Lakeside Dental")),
    ("Fitness", "hard", 90, ()),
    ("Subscriptions", "hard", 70, ()),
    ("Clothing", "hard", 150, ("Urban Outfit", "Shoe Corner")),
    ("Household", "soft", 190, ("Home and Hearth", "Brightway Hardware")),
    ("Gifts", "soft", 70, ("Paper Lantern", "Bloom Florist")),
    ("Entertainment", "soft", 100, ("Cinema Lux", "Ticket Barn")),
    ("Travel", "soft", 230, ("Skyline Airways", "Harbor View Hotel")),
    ("Books", "soft", 50, ("Paperback Books", "Second Chapter")),
    ("Pets", "soft", 60, ("Happy Paws", "Riverside Vet")),
    ("Insurance", "soft", 140, ()),
    ("Student Loan", "soft", 0, ()),
    ("Old Car", "soft", 0, ()),
)
"""Name, limit, dollars planned a month, and where it is spent; the last two are archived."""
DUES = "Dues"
ARCHIVED = ("Student Loan", "Old Car")
RENAMES = ("Going Out", "Home", "Wellness", "Leisure", "Commuting", "Presents", "Weekend Fun")

BILLS: tuple[tuple[str, str, Frequency, int, int], ...] = (
    ("Rent", "Housing", "monthly", 3, 1150),
    ("Electricity", "Utilities", "monthly", 26, 74),
    ("Water", "Utilities", "quarterly", 9, 48),
    ("Internet", "Utilities", "monthly", 6, 39),
    ("Phone plan", "Utilities", "monthly", 31, 22),
    ("Gym membership", "Fitness", "monthly", 1, 36),
    ("Music streaming", "Subscriptions", "monthly", 14, 11),
    ("Film streaming", "Subscriptions", "monthly", 19, 15),
    ("Cloud storage", "Subscriptions", "yearly", 8, 24),
    ("House cleaning", "Household", "weekly", 5, 28),
    ("Car insurance", "Insurance", "quarterly", 17, 96),
    ("Home insurance", "Insurance", "monthly", 11, 33),
    ("Newspaper", "Subscriptions", "monthly", 4, 9),
    ("Yoga class", "Fitness", "weekly", 2, 12),
)
"""Name, category, how often, about which day of the month, about how many dollars."""
PAUSED, ENDED = "Newspaper", "Yoga class"
LATE = ("Electricity", "Phone plan")
"""Not posted since the month before the present one began."""
WAITING = ("Gym membership", "Music streaming", "Home insurance", "House cleaning")
"""Of which the last one so far is not posted."""

GOALS = (
    *(("Japan trip", 3200), ("Emergency fund", 6000), ("New laptop", 1400), ("Garden sofa", 800)),
    *(("Wedding gift", 400), ("City bicycle", 650), ("Piano lessons", 500), ("Camera", 1100)),
)
SHOPS = ("Corner Bakery", "Book Nook", "Farm Stand", "Central Pharmacy", "Toy Chest", "Tea House")


class Ledger:
    """Collects rows while the world is made; what is spent follows from the expenses."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.today = cast, rnd, cast.start.date()
        self._used: set[str] = set()
        self.expenses: list[Expense] = []
        self.incomes: list[Income] = []
        self.items: list[RecurringItem] = []
        self.goals: list[Goal] = []
        self.contributions: list[Contribution] = []
        self.spent: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.budgets = self._budgets()
        self.by_month = {b.month: b for b in self.budgets}
        self.categories = {
            name: Category(
                self.id("cat"), name, limit, "archived" if name in ARCHIVED else "active"
            )
            for name, limit, _, _ in CATEGORIES
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def first(self, months: int) -> date:
        """The first day of the month that many months from the present one."""
        index = self.today.year * 12 + self.today.month - 1 + months
        return date(index // 12, index % 12 + 1, 1)

    def _budgets(self) -> list[Budget]:
        """Six months before the present one, four of them closed, and the one after it."""
        return [
            Budget(
                id=self.id("bud"),
                month=self.first(i).isoformat()[:7],
                status="closed" if i < CLOSED - PAST else "open",
            )
            for i in range(-PAST, 2)
        ]

    def cents(self, low: int, high: int) -> int:
        """A price between two amounts of dollars."""
        return self.rnd.randrange(low, high) * 100 + self.rnd.choice((0, 0, 50, 20, 75, 95, 99))

    def expense(
        self, category: Category, payee: str, amount: int, day: date, item: str = ""
    ) -> None:
        """Record an expense; now and then one turns out void."""
        budget = self.by_month[day.isoformat()[:7]]
        void = not item and self.rnd.random() < 0.04
        row = Expense(
            id=self.id("exp"),
            budget_id=budget.id,
            category_id=category.id,
            payee=payee,
            amount=amount,
            date=day.isoformat(),
            status="void" if void else "counted",
            recurring_item_id=item,
        )
        self.expenses.append(row)
        self.spent[budget.id, category.id] += 0 if void else amount

    def income(self, source: str, amount: int, day: date, item: str = "") -> None:
        """Record an income."""
        budget = self.by_month[day.isoformat()[:7]]
        self.incomes.append(
            Income(self.id("inc"), budget.id, source, amount, day.isoformat(), item)
        )

    def rows(self) -> Seeds:
        """All tables, with the allocations and the closed months' reports."""
        allocations = [self._allocation(b, *plan) for b in self.budgets for plan in CATEGORIES]
        self.expenses.sort(key=lambda e: e.date)
        self.incomes.sort(key=lambda i: i.date)
        reports = [self._report(b, allocations) for b in self.budgets if b.status == "closed"]
        return {
            "budgets": self.budgets,
            "categories": self.categories.values(),
            "allocations": allocations,
            "expenses": self.expenses,
            "incomes": self.incomes,
            "recurring_items": self.items,
            "goals": self.goals,
            "contributions": self.contributions,
            "reports": reports,
            "report_lines": [
                ReportLine(self.id("rln"), report.id, a.category_id, a.planned, a.spent)
                for report in reports
                for a in allocations
                if a.budget_id == report.budget_id
            ],
        }

    def _allocation(
        self, budget: Budget, name: str, limit: LimitKind, dollars: int, _: tuple[str, ...]
    ) -> Allocation:
        """What is planned; under a hard limit never less than what is spent."""
        category = self.categories[name]
        spent = self.spent[budget.id, category.id]
        planned = dollars * 100
        if limit == "hard" and spent > planned - 30_00:
            planned = -(-spent // 10_00) * 10_00 + 20_00
        if name == "Fitness" and budget.status == "open":
            planned = (
                -(-spent // 1_00) * 1_00 + 15_00
            )  # too little for the gym's bill, which waits to be posted
        return Allocation(self.id("all"), budget.id, category.id, planned, spent)

    def _report(self, budget: Budget, allocations: list[Allocation]) -> Report:
        mine = [a for a in allocations if a.budget_id == budget.id]
        return Report(
            id=self.id("rep"),
            budget_id=budget.id,
            income=sum(i.amount for i in self.incomes if i.budget_id == budget.id),
            planned=sum(a.planned for a in mine),
            spent=sum(a.spent for a in mine),
            saved=sum(c.amount for c in self.contributions if c.budget_id == budget.id),
        )


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    ledger = Ledger(cast, rnd)
    _shopping(ledger)
    _bills(ledger)
    _incomes(ledger)
    _goals(ledger)
    return _with_dues(ledger, ledger.rows())


def _splurge(ledger: Ledger, day: date) -> None:
    """One purchase that breaks a soft limit."""
    soft = [c for c in CATEGORIES if c[1] == "soft" and c[3]]
    name, _, dollars, shops = ledger.rnd.choice(soft)
    amount = ledger.cents(dollars + 5, dollars + dollars // 2)
    ledger.expense(ledger.categories[name], ledger.rnd.choice(shops), amount, day)


def _days(ledger: Ledger, month: int) -> int:
    """Days of a month that have come."""
    first = ledger.first(month)
    return ledger.today.day if month == 0 else monthrange(first.year, first.month)[1]


def _shopping(ledger: Ledger) -> None:
    """What is bought in each month, about as much as is planned; archived ones long ago."""
    rnd = ledger.rnd
    for month in range(-PAST, 1):
        days, first = _days(ledger, month), ledger.first(month)
        for name, _, dollars, shops in CATEGORIES:
            wanted = rnd.randint(1, 3) if dollars > 200 else rnd.randint(0, 2)
            for _ in range(wanted if shops and (month or rnd.random() < days / 30) else 0):
                amount = ledger.cents(max(4, dollars // 8), max(9, dollars * 6 // 10))
                day = first.replace(day=rnd.randint(1, days))
                ledger.expense(ledger.categories[name], rnd.choice(shops), amount, day)
        _splurge(ledger, first.replace(day=rnd.randint(1, days)))
    for name, payee in zip(ARCHIVED, ("Campus Finance", "Northside Garage"), strict=True):
        for month in (-PAST, 1 - PAST):
            day = ledger.first(month).replace(day=rnd.randint(2, 25))
            ledger.expense(ledger.categories[name], payee, ledger.cents(60, 140), day)
    friend = rnd.choice(ledger.cast.others).name
    ledger.expense(ledger.categories["Gifts"], friend, ledger.cents(15, 40), ledger.first(-1))


def _series(ledger: Ledger, frequency: Frequency, about: int) -> list[date]:
    """The days of a series from the first month on until a while after today."""
    first = ledger.first(-PAST)
    last = monthrange(first.year, first.month)[1]
    start, step = first.replace(day=min(about, last)), STEPS[frequency]
    days, count = [start], 0
    while days[-1] <= ledger.today:
        count += 1
        days.append(start + step * count)
    return days


def _open_from(ledger: Ledger, name: str, days: list[date]) -> int:
    """The place in a series of the first day that is not posted yet."""
    if name == ENDED:
        return 6
    if name == PAUSED:
        return max(1, len(days) - 3)
    if name in LATE:
        return next(i for i, day in enumerate(days) if day >= ledger.first(-1))
    return len(days) - (2 if name in WAITING else 1)


def _bills(ledger: Ledger) -> None:
    """Bills that repeat: most are posted to date, some wait, one is paused, one has ended."""
    rnd = ledger.rnd
    for name, category, frequency, about, dollars in BILLS:
        days = _series(
            ledger, frequency, min(28, about + rnd.randrange(3)) if about < 26 else about
        )
        place = _open_from(ledger, name, days)
        item = RecurringItem(
            id=ledger.id("rec"),
            name=name,
            kind="expense",
            amount=ledger.cents(dollars, dollars + max(2, dollars // 6)),
            frequency=frequency,
            starts_on=days[0].isoformat(),
            next_on=days[place].isoformat(),
            ends_on=days[place - 1].isoformat() if name == ENDED else "",
            paused=name == PAUSED,
            category_id=ledger.categories[category].id,
        )
        ledger.items.append(item)
        for day in days[:place]:
            ledger.expense(ledger.categories[category], name, item.amount, day, item.id)


def _incomes(ledger: Ledger) -> None:
    """A salary on the first, rent from a flatmate that may wait, and odd sums."""
    rnd, cast = ledger.rnd, ledger.cast
    names = (f"Salary {cast.user.company}", f"Flat share {rnd.choice(cast.others).name}")
    for i, (name, low, high) in enumerate(zip(names, (4900, 360), (7200, 520), strict=True)):
        days = _series(ledger, "monthly", 1 + i)
        place = len(days) - 1 - i
        item = RecurringItem(
            id=ledger.id("rec"),
            name=name,
            kind="income",
            amount=rnd.randrange(low, high) * 100,
            frequency="monthly",
            starts_on=days[0].isoformat(),
            next_on=days[place].isoformat(),
        )
        ledger.items.append(item)
        for day in days[:place]:
            ledger.income(name, item.amount, day, item.id)
    for month in range(-PAST, 0):
        day = ledger.first(month).replace(day=rnd.randint(1, 28))
        source = rnd.choice((rnd.choice(cast.companies), rnd.choice(cast.others).name))
        ledger.income(source, ledger.cents(25, 420), day)


def _goals(ledger: Ledger) -> None:
    """Six goals: four being saved for, one reached, one closed."""
    rnd = ledger.rnd
    for i, (name, dollars) in enumerate(rnd.sample(GOALS, 6)):
        target, wanted = dollars * 100, ledger.first(2 + rnd.randrange(14))
        goal = Goal(ledger.id("goal"), name, target, 0, wanted.isoformat(), i == 5)
        parts = [rnd.randrange(2, 12) * 10_00 for _ in range(PAST)]
        if i >= 4:
            parts = [target // PAST // 10_00 * 10_00] * (PAST - 1)
            parts.append(target - sum(parts))
        saved = 0
        for month, part in enumerate(parts):
            amount = min(part, target - saved - (0 if i >= 4 else 50_00))
            if amount > 0:
                saved += amount
                _contribute(ledger, goal, amount, month - PAST)
        ledger.goals.append(replace(goal, saved=saved))


def _contribute(ledger: Ledger, goal: Goal, amount: int, month: int) -> None:
    day = ledger.first(month).replace(day=ledger.rnd.randint(1, 28)).isoformat()
    budget = ledger.by_month[day[:7]]
    ledger.contributions.append(
        Contribution(ledger.id("con"), goal.id, budget.id, amount, f"{day}T18:00:00+00:00")
    )


def _with_dues(ledger: Ledger, rows: Seeds) -> Seeds:
    """What the bank pays each month too: a category of its own, begun in an open month.

    Its ids are drawn apart, so that all other rows stay as they are.
    """
    told, ledger.rnd = stories(ledger.cast).dues, ledger.cast.rng("stories", "budget")
    category = Category(ledger.id("cat"), DUES, "soft", "active")
    for dues in told:
        _monthly(ledger, category, dues)
    ledger.expenses.sort(key=lambda e: e.date)
    planned = sum(dues.amount for dues in told)
    plans = [(b, planned if b.status == "open" else 0) for b in ledger.budgets]
    more: Seeds = {
        "categories": [category],
        "allocations": [
            Allocation(ledger.id("all"), b.id, category.id, plan, ledger.spent[b.id, category.id])
            for b, plan in plans
        ],
        "report_lines": [
            ReportLine(ledger.id("rln"), report.id, category.id, 0, 0) for report in rows["reports"]
        ],
    }
    return {name: [*found, *more.get(name, ())] for name, found in rows.items()}


def _monthly(ledger: Ledger, category: Category, dues: Dues) -> None:
    """An item that was posted twice before, or once where a short month would shift its day."""
    step = STEPS["monthly"]
    times = next(n for n in (2, 1) if dues.due - step * n + step * n == dues.due)
    starts = dues.due - step * times
    item = RecurringItem(
        id=ledger.id("rec"),
        name=dues.name,
        kind="expense",
        amount=dues.amount,
        frequency="monthly",
        starts_on=starts.isoformat(),
        next_on=dues.due.isoformat(),
        category_id=category.id,
    )
    ledger.items.append(item)
    for i in range(times):
        ledger.expense(category, dues.name, dues.amount, starts + step * i, item.id)
