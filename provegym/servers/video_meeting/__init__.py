"""Video meetings: hosting, joining, recording, transcripts and polls."""

from provegym.servers.video_meeting import tools, tools_live
from provegym.servers.video_meeting.rules import violations
from provegym.servers.video_meeting.seed import seed
from provegym.servers.video_meeting.state import Lobby
from provegym.world.server import Server, collect

_TOOLS = {**collect(tools), **collect(tools_live)}

SERVER = Server("video_meeting", "Video meetings", Lobby, _TOOLS, seed, violations)
