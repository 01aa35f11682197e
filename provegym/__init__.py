"""provegym: reinforcement learning for multi-step tool use on live, stateful tool servers."""

__version__ = "0.1.0"
