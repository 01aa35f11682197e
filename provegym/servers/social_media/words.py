"""Words of the seeded network and of the samplers."""

from __future__ import annotations

THINGS: dict[str, tuple[str, ...]] = {
    "hiking": ("the ridge trail", "hut-to-hut walks", "winter boots", "the lake loop"),
    "cooking": ("sourdough", "slow-cooked beans", "my grandmother's pierogi", "cast iron pans"),
    "books": ("short stories", "the new crime novel", "rereading classics", "library sales"),
    "music": ("live jazz", "old vinyl", "choir practice", "the street festival"),
    "cycling": ("gravel bikes", "commuting by bike", "the coast road", "a century ride"),
    "gardening": ("tomato seedlings", "compost", "the balcony garden", "wild flowers"),
    "photography": ("film cameras", "long exposures", "street portraits", "night shots"),
    "cinema": ("silent films", "the open-air screening", "documentaries", "matinees"),
    "travel": ("night trains", "slow ferries", "packing light", "the old town"),
    "tech": ("home servers", "mechanical keyboards", "open data", "small language models"),
    "running": ("trail running", "the half marathon", "interval training", "barefoot shoes"),
    "crafts": ("hand-thrown mugs", "visible mending", "linocut prints", "wooden toys"),
}
"""What people are into, and what they post about it."""
SAYINGS = (
    "Spent the morning with {thing}",
    "Nobody told me {thing} could be this good",
    "Who else in {city} is into {thing}?",
    "Looking for tips on {thing} near {city}",
    "Best part of the week: {thing}",
    "Three lessons from {thing}",
    "Two years ago I knew nothing about {thing}",
    "My honest opinion on {thing}: worth the money",
    "{day} plan: {thing} and nothing else",
    "I gave {thing} another try in {city}",
    "Saved ${amount} for {thing} this month",
    "Thank you {city} for {thing}",
)
COMPANY_SAYINGS = (
    "Meet us in {city} for {thing}",
    "Our team picks {thing} this {day}",
    "We give ${amount} to everyone who teaches {thing}",
    "New on our blog: {thing} for beginners",
    "Free workshop on {thing} in {city}",
    "{percent} percent off everything for {thing}",
)
MENTIONS = (
    "{thing} with @{handle}",
    "@{handle} got me into {thing}",
    "Learned a lot about {thing} from @{handle}",
)
COMMENTS = (
    *("Love this", "Where was that?", "Count me in", "So true", "Beautiful", "Tell me more"),
    *("Could not agree more", "How much was it?", "I need to try this", "Great shot"),
    *("See you there", "Not convinced yet", "Congratulations", "Sending this to my sister"),
    *("Which one do you use?", "I was there last year", "Same here", "You made my day"),
)
REMARKS = (
    *("What a great idea", "Thanks for sharing", "Save me a seat", "I will be there on Friday"),
    *("This made me smile", "Is there a part two?", "Please post the recipe", "Well deserved"),
    *("I tried it and it works", "Can we meet next week?", "Adding this to my list"),
)
POSTS = (
    *("First coffee on the new balcony", "Anyone up for a walk on Sunday?", "Back from holiday"),
    *("Our bake sale starts at ten", "Signed up for a pottery class", "The cat found the box"),
    *("Looking for a used tandem", "Book swap at my place on Friday", "Rain again, soup it is"),
    *("Finished my first marathon", "New photos from the harbour", "Giving away two tickets"),
    *("Moving house this weekend", "What should I read next?", "Sunrise was worth the alarm"),
    *("Learning the accordion, sorry neighbours", "The garden party was a success"),
)
GREETINGS = (
    "Great evening with @{handle}",
    "Happy birthday @{handle}",
    "Thanks for the help @{handle}",
    "Off to the museum with @{handle}",
)
EDITS = (
    *("Update: sold, thank you all", "Now with the right date: Saturday", "Typo fixed, same idea"),
    *("Moved to next week because of rain", "Edit: it starts at eleven", "Two places are left"),
    *("The link works now", "Correction: it was the north trail", "Postponed until spring"),
)
LIST_TITLES = (
    *("Close friends", "Book club", "Neighbours", "Weekend hikers", "Family", "Local news"),
    *("Chefs to watch", "Work people", "Photographers", "Running mates", "Film nights"),
    *("City council", "Old classmates", "Makers", "Travel tips", "Music scene", "Bike people"),
)
NEW_LISTS = (
    *("Garden people", "Choir", "Birthday guests", "Ski trip", "Language partners"),
    *("Chess evening", "Volunteers", "Podcast hosts", "Dog walkers", "Mentors", "Test readers"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
