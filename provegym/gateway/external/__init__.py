"""Other people's MCP servers as environments: a `world.Server` around a process or a URL.

A session of such a server is the log of the calls that it has committed; a process is only a
cache of the state that some log leads to. So sessions fork, restore and reset as those of the
library do, at no cost until they call again, and a replay on a fresh process is the same thing as
a restore.
"""
