"""Topics, remarks and questions of meetings."""

from __future__ import annotations

ROOMS: tuple[tuple[str, int, bool], ...] = (
    ("Aurora", 4, True),
    ("Birch", 4, False),
    ("Cobalt", 5, True),
    ("Delta", 6, True),
    ("Ember", 6, True),
    ("Fjord", 8, True),
    ("Granite", 8, False),
    ("Harbor", 12, True),
    ("Indigo", 10, True),
    ("Juniper", 8, True),
    ("Kestrel", 6, False),
    ("Lagoon", 10, True),
    ("Meadow", 8, True),
)
SUBJECTS = (
    *("Budget", "Hiring", "Roadmap", "Launch", "Security", "Pricing", "Onboarding", "Research"),
    *("Website", "Support", "Travel", "Partner"),
)
FORMS = ("review", "sync", "workshop", "kickoff", "retrospective", "planning", "demo", "briefing")
REMARKS = (
    "The numbers are better than last month.",
    "I need another week for the draft.",
    "The client has asked for an earlier date.",
    "We should test this with two more teams.",
    "I will send the summary after the call.",
    "The supplier has raised the price by four percent.",
    "Two people are still missing on the project.",
    "The new version is ready for review.",
    "Can we move the deadline to Friday?",
    "The contract is signed and filed.",
    "Let us keep the scope small this time.",
    "The survey closes on Monday.",
)
CLOSINGS = (
    "Thanks everyone, the notes follow.",
    "That is all for today.",
    "We meet again next week.",
)
POLLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Which day suits you best?", ("Tuesday", "Wednesday", "Thursday")),
    ("Do we go ahead with the plan?", ("Yes", "No", "Not yet")),
    ("Which city hosts the next meeting?", ("Lisbon", "Vienna", "Oslo")),
    ("How often should we meet?", ("Weekly", "Every two weeks", "Monthly")),
    ("Which design do you prefer?", ("Blue", "Green", "Plain")),
    ("Is the timeline realistic?", ("Yes", "No")),
    ("Who should present next?", ("Sales", "Engineering", "Finance")),
    ("Shall we extend the trial?", ("Yes", "No", "Undecided")),
    ("What matters most now?", ("Quality", "Speed", "Cost")),
    ("Lunch for the team day?", ("Pizza", "Salad", "Curry")),
)
