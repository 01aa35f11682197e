"""The only client of model endpoints."""
