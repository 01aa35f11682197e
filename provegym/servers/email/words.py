"""Words of the seeded mail and of the samplers."""

from __future__ import annotations

SUBJECTS = (
    *("Budget", "Roadmap", "Onboarding", "Hiring", "Website", "Security", "Pricing", "Launch"),
    *("Brand", "Contract", "Data", "Customer", "Partner", "Vendor", "Warehouse", "Training"),
    *("Support", "Analytics", "Payroll", "Supplier", "Compliance", "Migration", "Packaging"),
    *("Inventory", "Survey", "Office move", "Trade fair", "Mobile app"),
)
FORMS = (
    *("review", "proposal", "figures", "plan", "timeline", "feedback", "questions", "update"),
    *("draft", "summary", "checklist", "agreement"),
)
PRIVATE = (
    *("Dinner on Friday", "Weekend hike", "Garden party", "Book club reading list", "Lost keys"),
    *("Piano recital", "Moving boxes", "Holiday photos", "Camping trip", "Birthday present"),
    *("School reunion", "Recipe for the pie", "Concert tickets", "Dog sitting", "Spare room"),
    *("Bike repair", "Cinema tonight", "Flat viewing", "Old guitar", "Ski weekend"),
    *("Language exchange", "Charity run", "Wedding playlist", "Ferry times"),
)
OPENINGS = (
    "Could you have a look at this before {day}",
    "Here is what we discussed on {day}",
    "The numbers come to ${amount} for now",
    "I would like to settle this by {day}",
    "{company} asked for an answer by {day}",
    "We are still waiting for {company} on this",
    "The cost would be about ${amount}",
    "Two points are open, the rest looks fine",
    "I have put everything into one document",
    "Can we meet in {city} to go through it",
)
REPLIES = (
    "Thanks, {day} works for me",
    "Agreed, let us go ahead",
    "I would rather keep it under ${amount}",
    "Looks good, one small change on page two",
    "Can we move this to {day}",
    "I will check with {company} and come back to you",
    "Not yet, I need another day",
    "Perfect, see you in {city}",
    "Please send me the latest version",
)
FRIENDLY = (
    "Are you free on {day}",
    "I booked two places, it was ${amount} each",
    "We meet at the station in {city}",
    "Let me know by {day} if you can make it",
    "I still have yours at home, come and get it",
    "Do you remember where we bought it",
)
NOTICES = (
    ("Invoice {number} from {company}", "Your invoice of ${amount} is due on {day}", "billing"),
    ("Your {company} receipt {number}", "We received your payment of ${amount}", "no-reply"),
    ("Order {number} has shipped", "{company} will deliver your parcel on {day}", "no-reply"),
    ("{company} newsletter {number}", "News, offers and a voucher of ${amount}", "no-reply"),
    ("Security alert {number} from {company}", "New sign-in from {city} on {day}", "no-reply"),
    ("Ticket {number} was updated", "{company} support answers by {day}", "support"),
)
"""Subject, text, and who writes at the company."""
SPAM = (
    ("You have won ${amount}", "Claim your prize before {day}"),
    ("Parcel {number} is on hold", "Pay ${amount} to release your parcel"),
    ("Verify account {number} now", "Your mailbox closes on {day}"),
    ("Cheap watches from {city}", "Only ${amount} until {day}"),
    ("Loan {number} approved", "Get ${amount} today"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
LABELS = (
    *("urgent", "invoices", "travel", "receipts", "clients", "waiting", "family", "hr"),
    *("legal", "reading", "follow-up", "events", "ideas"),
)
MORE_LABELS = (
    *("taxes", "contracts", "newsletters", "job search", "school", "warranty", "board", "press"),
    *("parking", "insurance", "health", "gifts"),
)
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "grey")
WORK_FOLDERS = (
    *("Projects", "Clients", "Finance", "Recruiting", "Team", "Suppliers", "Reports", "Events"),
)
HOME_FOLDERS = ("Family", "Purchases", "Holidays", "House", "Sports", "Subscriptions")
FILE_TYPES = ("pdf", "xlsx", "docx", "pptx", "png", "zip")
UNSAFE_FILES = ("setup.exe", "invoice_viewer.js", "update.bat")

DRAFT_SUBJECTS = (
    *("Lunch next week", "Quarterly figures", "Parking permit", "New laptop", "Desk booking"),
    *("Translation quote", "Photo permission", "Room for the workshop", "Holiday handover"),
    *("Speaker invitation", "Broken printer", "Reference letter", "Catering order", "Team outing"),
    *("Visitor badge", "Data request", "Price list", "Sample delivery", "Interview slots"),
)
NOTES = (
    *("Thanks for your help", "See you on Monday", "Please call me back", "I agree with the plan"),
    *("The report is ready", "Can we talk tomorrow", "Here are the details", "Please confirm"),
    *("I will be ten minutes late", "Let me know what you think", "Happy to help"),
)
