"""What every table of a configuration file is made of: the base class and kinds of values."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from provegym.types import MOST_AT_ONCE, MOST_SEED

Group = Annotated[int, Field(ge=2, le=4096)]
"""Episodes of one task that are compared; more than these are a slip."""
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Rate = Annotated[float, Field(gt=0, le=1)]
"""A learning rate, or a share that may not be 0."""
Steps = Annotated[int, Field(ge=1, le=1_000_000)]
"""Of training; more than these are a slip."""
Seed = Annotated[int, Field(ge=0, le=MOST_SEED)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$")]
"""Of a run, which names its folder."""
AtOnce = Annotated[int, Field(ge=1, le=MOST_AT_ONCE)]


class Section(BaseModel):
    """A table of the file: unknown keys, wrong types, NaN and infinity are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def see_ordered(section: Section, low: str, high: str) -> None:
    """Raise ValueError where one setting is above another."""
    if getattr(section, low) > getattr(section, high):
        raise ValueError(f"{low} is above {high}")


def endpoint_url(text: str, like: str = "http://127.0.0.1:8000/v1") -> str:
    """The address of an endpoint as it is, "" for none. Raises ValueError for a text that is no
    URL (RFC 3986) of http or https with a host in ASCII and, if any, a port from 1 to 65,535.
    """
    try:
        parts = urlsplit(text)
        host, valid = parts.hostname or "", parts.port != 0
    except ValueError:
        host, valid = "", False
    valid = valid and re.fullmatch(r"[\w.:-]+", host, re.ASCII) is not None
    if text and not (valid and re.fullmatch(r"https?://\S+", text, re.IGNORECASE)):
        raise ValueError(f"{text!r} is no base URL; write it like {like}")
    return text
