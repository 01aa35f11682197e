"""An issue tracker: projects with workflows, issues, sprints, links, comments and worklogs."""

from provegym.servers.issue_tracker import tools_issues, tools_lookup, tools_planning
from provegym.servers.issue_tracker.seed import seed
from provegym.servers.issue_tracker.state import Tracker, violations
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_lookup), **collect(tools_issues), **collect(tools_planning)}

SERVER = Server("issue_tracker", "Issue tracker", Tracker, TOOLS, seed, violations)
