"""The one agent loop of synthesis, training and evaluation."""
