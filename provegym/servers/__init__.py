"""The library of tool servers."""
