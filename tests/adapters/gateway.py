"""A gateway that knows the kiosk, for an interpreter that has the gateway's libraries.

`python -m tests.adapters.gateway` prints its URL and ends when its input does.
"""

from __future__ import annotations

import sys

from provegym.gateway import http
from provegym.gateway.settings import Settings
from tests.adapters import kiosk


def main() -> None:
    kiosk.register()
    settings = Settings(port=0, rate=0)
    app = http.app(http.new_rooms(settings), settings)
    with http.background(app, settings) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
