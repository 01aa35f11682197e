"""The live face: worlds over MCP and HTTP, and other MCP servers as worlds."""
