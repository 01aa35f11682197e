"""A social network: posts, comments, likes, follows, blocks, notifications and lists."""

from provegym.servers.social_media import tools_people, tools_posting, tools_reading
from provegym.servers.social_media.invariants import violations
from provegym.servers.social_media.seed import seed
from provegym.servers.social_media.state import Network
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_reading), **collect(tools_posting), **collect(tools_people)}

SERVER = Server("social_media", "Social network", Network, TOOLS, seed, violations)
