"""NeMo Gym starts this file in the environment that it makes from `requirements.txt`."""

from __future__ import annotations

from provegym.train.nemo_gym import ProvegymServer

if __name__ == "__main__":
    ProvegymServer.run_webserver()
