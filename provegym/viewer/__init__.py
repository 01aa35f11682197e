"""`provegym view`: a local web page over worlds, tasks, traces and runs."""
