"""Words of the seeded chat and of the samplers."""

from __future__ import annotations

CHANNELS = (
    *("design", "marketing", "sales", "support", "hiring", "releases", "incidents", "research"),
    *("payroll", "travel", "events", "books", "running-club", "lunch", "office-plants", "pets"),
    *("website", "mobile-app", "data", "security", "onboarding", "customer-feedback", "press"),
    *("roadmap", "budget", "partners", "legal", "suppliers", "photos", "music"),
)
NEW_CHANNELS = (
    *("summer-party", "office-move", "trade-fair", "hack-week", "price-review", "beta-testers"),
    *("green-team", "chess-club", "parking", "new-joiners", "translations", "podcast", "intranet"),
)
TOPICS = (
    *("Questions and answers", "Plans for the quarter", "News and notes", "Everything open"),
    *("Weekly status", "Ideas welcome", "Only what is urgent", "Hints and links"),
)
THINGS = (
    *("budget", "roadmap", "pricing page", "newsletter", "customer survey", "contract", "demo"),
    *("training", "invoice run", "test report", "press release", "workshop", "hiring plan"),
    *("warehouse count", "partner call", "backup", "offsite", "brand guide", "data export"),
    *("security review", "travel policy", "payroll file", "launch plan", "support queue"),
)
SAYINGS = (
    "The {thing} is ready for review",
    "Who takes over the {thing} this week",
    "I moved the {thing} to {day}",
    "Please check the {thing} before {day}",
    "{company} asked about the {thing}",
    "Numbers for the {thing} are up by {percent} percent",
    "The {thing} costs us ${amount} so far",
    "Can we drop the {thing} from the agenda",
    "New version of the {thing} attached",
    "The {thing} for {company} is done",
    "We need two more people for the {thing}",
    "The {thing} starts at {hour} on {day}",
)
ANSWERS = (
    "I can do that by {day}",
    "Looks good to me",
    "Let us talk about it at {hour}",
    "{company} agreed this morning",
    "Not before {day}, sorry",
    "Done, please have a look",
    "That is {percent} percent more than planned",
    "I would spend ${amount} at most",
    "Thanks, that helps",
    "Who else needs to know",
)
POSTS = (
    *("Lunch is here", "Back at my desk", "Can someone review this", "The demo went well"),
    *("I am out on Friday", "Please test the new build", "Server is up again", "Great work"),
    *("Meeting moved to noon", "The figures are final", "Who has the key", "Slides are online"),
    *("Draft is ready to read", "Printer is fixed", "We reached the goal", "Coffee is back"),
)
EDITS = (
    *(
        "Meeting moved to two",
        "The figures are corrected",
        "Please ignore this one",
        "Update: done",
    ),
    *("Now with the right link", "Draft is ready, second try", "I am out on Thursday instead"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
TITLES = (
    *("Designer", "Engineer", "Account manager", "Analyst", "Team lead", "Recruiter", "Editor"),
    *("Product manager", "Office manager", "Support agent", "Consultant", "Accountant"),
)
FILE_TYPES = ("pdf", "xlsx", "pptx", "png", "csv", "docx")
COMMUNITY = ("citymakers", "openmaps", "dataclub", "writersroom", "greenneighbours")
