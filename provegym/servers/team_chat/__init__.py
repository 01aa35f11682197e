"""Team chat: workspaces with channels, threads, reactions and shared files."""

from provegym.servers.team_chat import tools_channels, tools_messages
from provegym.servers.team_chat.seed import seed
from provegym.servers.team_chat.state import Chat, violations
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_channels), **collect(tools_messages)}

SERVER = Server("team_chat", "Team chat", Chat, TOOLS, seed, violations)
