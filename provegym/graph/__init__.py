"""Which tool feeds which, found in types and by execution."""
