"""A sales CRM: leads, contacts, companies, deals in pipelines, activities and notes."""

from provegym.servers.crm import tools_activities, tools_deals, tools_lookup
from provegym.servers.crm.seed import seed
from provegym.servers.crm.state import Crm, violations
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_lookup), **collect(tools_deals), **collect(tools_activities)}

SERVER = Server("crm", "Sales CRM", Crm, TOOLS, seed, violations)
