"""The pipelines, and the words of which deals, activities and notes are made."""

from __future__ import annotations

from provegym.servers.crm.state import ActivityKind, Need

PIPELINES: tuple[tuple[str, tuple[tuple[str, int, tuple[Need, ...]], ...]], ...] = (
    (
        "New Business",
        (
            ("Prospect", 10, ()),
            ("Discovery", 25, ("contact",)),
            ("Proposal", 50, ("amount",)),
            ("Negotiation", 75, ("expected close date",)),
            ("Contract", 90, ("completed activity",)),
        ),
    ),
    (
        "Renewals",
        (
            ("Upcoming", 40, ()),
            ("In Discussion", 60, ("contact",)),
            ("Quote Sent", 80, ("amount", "expected close date")),
        ),
    ),
    (
        "Partnerships",
        (
            ("Intro", 10, ()),
            ("Evaluation", 30, ("contact",)),
            ("Terms", 60, ("amount",)),
            ("Signature", 85, ("expected close date", "completed activity")),
        ),
    ),
)
PRODUCTS = (
    *("analytics rollout", "support plan", "data migration", "security audit", "training package"),
    *("platform licence", "pilot project", "hardware refresh", "onboarding package"),
    *("integration work", "cloud hosting", "reporting add-on", "mobile licences"),
)
SUBJECTS: dict[ActivityKind, tuple[str, ...]] = {
    "call": ("Intro call", "Pricing call", "Check-in", "Renewal call", "Discovery call"),
    "meeting": ("Product demo", "Contract review", "Kick-off", "Site visit", "Quarterly review"),
    "email": ("Send brochure", "Follow-up mail", "Send quote", "Share case study"),
    "task": ("Prepare offer", "Research needs", "Update terms", "Draft proposal"),
}
NOTES = (
    "Prefers to be called in the morning",
    "Budget is decided in the next quarter",
    "Asked for a volume discount",
    "Uses a competitor today",
    "Decision lies with the board",
    "Wants a reference customer",
    "Very happy with the demo",
    "Needs an answer this month",
    "Legal will review the terms",
    "Plans to open a second office",
    "Interested in the training package",
    "Worried about the migration",
)


def short_name(company: str) -> str:
    """How people call a company in a deal's title: without "Inc", "and Sons" and the like."""
    return company.replace(",", " ").split()[0].removesuffix("-")
