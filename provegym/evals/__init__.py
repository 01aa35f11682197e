"""Measuring a policy on held-out tasks, with intervals."""
