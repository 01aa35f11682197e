"""E-mail: folders, conversations, drafts, attachments and the address book of one person."""

from provegym.servers.email import tools_drafts, tools_mail, tools_send
from provegym.servers.email.seed import seed
from provegym.servers.email.state import Mail, violations
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_mail), **collect(tools_send), **collect(tools_drafts)}

SERVER = Server("email", "E-mail", Mail, TOOLS, seed, violations)
