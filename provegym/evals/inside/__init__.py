"""Scripts that a harness's own interpreter runs; they import nothing of provegym."""
