"""The words of which issues, sprints and comments are made."""

from __future__ import annotations

PROJECTS = (
    ("Mobile App", "APP"),
    ("Billing", "BILL"),
    ("Customer Portal", "PORT"),
    ("Data Platform", "DATA"),
    ("Search Service", "SRCH"),
    ("Identity", "IDEN"),
    ("Website Relaunch", "WEB"),
    ("Reporting", "REP"),
    ("Warehouse Tools", "WARE"),
    ("Partner API", "PART"),
)
PARTS = (
    "login page",
    "checkout form",
    "invoice export",
    "search results",
    "push notifications",
    "password reset",
    "profile editor",
    "dark mode",
    "data import",
    "audit log",
    "file upload",
    "map view",
    "session handling",
    "email digest",
    "payment webhook",
    "report builder",
    "date picker",
    "settings menu",
    "onboarding tour",
    "sync job",
)
SYMPTOMS = (
    "broken on small screens",
    "slow under load",
    "showing stale data",
    "losing unsaved changes",
    "failing in Safari",
    "crashing on empty input",
    "ignoring the time zone",
    "leaking memory",
    "rounding totals wrongly",
    "stuck after a retry",
)
FEATURES = (
    "keyboard shortcuts",
    "bulk actions",
    "an undo button",
    "saved filters",
    "a progress bar",
    "inline help",
    "rate limits",
    "offline support",
    "a preview",
    "usage metrics",
)
CHORES = (
    "Refactor",
    "Document",
    "Benchmark",
    "Clean up",
    "Write tests for",
    "Translate",
    "Review access to",
    "Migrate",
)
SPRINTS = (
    *("Aurora", "Basil", "Cedar", "Dune", "Ember", "Falcon", "Granite", "Harbor", "Indigo"),
    *("Juniper", "Kestrel", "Lagoon", "Maple", "Nimbus", "Onyx", "Pepper", "Quartz", "Raven"),
    *("Saffron", "Tundra", "Umber", "Velvet", "Willow", "Xenon", "Yarrow", "Zephyr", "Alder"),
    *("Bamboo", "Cobalt", "Delta", "Echo", "Fjord", "Glacier", "Heron", "Iris", "Jasper"),
)
GOALS = (
    "Fewer support tickets",
    "Faster first load",
    "Ready for the audit",
    "Ship the beta",
    "Pay down debt",
    "Better error messages",
)
LABELS = (
    "regression",
    "security",
    "accessibility",
    "performance",
    "customer request",
    "quick win",
    "needs design",
    "tech debt",
    "documentation",
    "release blocker",
)
COMMENTS = (
    "I can reproduce this on staging",
    "Could we ship this behind a flag?",
    "Waiting for feedback from support",
    "The logs show nothing unusual",
    "Works for me on the latest build",
    "Let us split this in two",
    "A customer asked about it again",
    "I have a first draft ready",
    "Please add a test before merging",
    "The root cause is a missing index",
    "Rolled back for now",
    "This needs a design review",
    "Fixed on my branch",
    "Same error after the last deploy",
    "We should raise the priority",
    "Screenshots are in the shared folder",
)
NOTES = ("Pair session", "First draft", "Code review", "Investigation", "Fixing tests", "Rollout")


def bug_title(part: int, symptom: int) -> str:
    """Title of a bug: what is wrong with which part."""
    return f"{PARTS[part].capitalize()} {SYMPTOMS[symptom]}"


def story_title(part: int, feature: int) -> str:
    """Title of a story: which part gets what."""
    return f"Add {FEATURES[feature]} to the {PARTS[part]}"


def task_title(part: int, chore: int) -> str:
    """Title of a task: what is to be done to which part."""
    return f"{CHORES[chore]} the {PARTS[part]}"
