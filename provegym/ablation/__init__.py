"""Many small trainings that differ in one thing, over the same tasks, and the table of them."""
