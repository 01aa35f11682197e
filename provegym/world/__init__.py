"""What a server is, and the sessions that run it."""
