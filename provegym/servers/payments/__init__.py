"""A business's billing: customers and cards, invoices, payments, refunds and webhooks."""

from provegym.servers.payments import tools
from provegym.servers.payments.seed import seed
from provegym.servers.payments.state import Office, violations
from provegym.world.server import Server, collect

SERVER = Server("payments", "Billing and payments", Office, collect(tools), seed, violations)
