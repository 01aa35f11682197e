"""GRPO on GPUs through verl: an agent loop, its rows, and a launcher."""
