"""From the dependency graph to certified tasks."""
