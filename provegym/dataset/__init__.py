"""Splits, duplicates, statistics and exports of task files."""
