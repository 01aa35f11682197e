"""What made a file: the manifest that lies beside it, and whether two are of one making."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from pydantic import BaseModel

from provegym.differences import named
from provegym.errors import InputError, ManifestMismatch, seen
from provegym.records.files import opened, refuse_special, write_atomic
from provegym.records.reading import decode, encode
from provegym.types import SCHEMA


class Manifest(Struct, frozen=True):
    """What made a file. Two manifests of one file may differ in `cost`, `complete` and `rows` only.

    `settings` are those that `config` is the hash of, where a stage can be taken up again: to name
    what differs.

    `config`, `world` and `parent` are hex SHA-256 hashes: of the stage's settings (`config_hash`),
    of the worlds' content, and of the file the stage read (`content_hash`); "" where there is none.
    `cost` is what making the file took, summed over all resumed runs (units are in the keys).
    """

    kind: str
    config: str = ""
    seed: int = 0
    world: str = ""
    parent: str = ""
    cost: dict[str, float] = {}
    complete: bool = False
    rows: int = 0
    schema: int = SCHEMA
    settings: dict[str, Any] = {}


IDENTITY = {
    "schema": "schema",
    "kind": "kind",
    "config": "other settings (or another version of them), hash",
    "seed": "seed",
    "world": "other content of the worlds, hash",
    "parent": "another input file, hash",
}
"""What two manifests of one file must agree in, and what a difference means."""


def manifest_path(path: str | Path) -> Path:
    """Where the manifest of `path` lies."""
    return Path(f"{path}.manifest.json")


def read_manifest(path: str | Path) -> Manifest | None:
    """The manifest of the file `path`, or None if it has none. Raises `BrokenRecord`."""
    where = manifest_path(path)
    if not where.exists():
        return None
    with opened(where) as file:
        return decode(msgspec.json.Decoder(Manifest), file.read(), str(where), 1)


def write_manifest(path: str | Path, manifest: Manifest) -> None:
    """Write the manifest of the file `path` atomically. Raises `InputError` on a full disk."""
    write_atomic(manifest_path(path), [msgspec.json.format(encode(manifest), indent=2)])


def check_manifest(path: str | Path, found: Manifest, wanted: Manifest) -> None:
    """Raise `ManifestMismatch`, naming the field and both values, unless both made one file."""
    for field, meaning in IDENTITY.items():
        old, new = getattr(found, field), getattr(wanted, field)
        if old == new:
            continue
        both = field == "config" and found.settings and wanted.settings
        if both and (told := named(found.settings, wanted.settings)):
            raise ManifestMismatch(f"{path} was made with other settings ({told}); {remedy(path)}")
        raise ManifestMismatch(
            f"{path} was made with {meaning} {seen(old, 24)}, but {seen(new, 24)} is asked for "
            f"now; {remedy(path)}"
        )


def see_finished(path: Path, rows: int) -> None:
    """Raise `ManifestMismatch` where a file that was finished has another number of rows now."""
    found = read_manifest(path)
    if found and found.complete and found.rows != rows:
        raise ManifestMismatch(
            f"{path} was finished with {found.rows} rows but has {rows}; {remedy(path)}"
        )


def accepted(path: Path, wanted: Manifest) -> Manifest | None:
    """The manifest of a file that may be gone on with; None where it is to be made (anew, if its
    rows were deleted). Raises `ManifestMismatch` for one that something else made.
    """
    found = read_manifest(path)
    if not (path.exists() and path.stat().st_size) and (found is None or found.rows):
        return None
    if found is None:
        raise ManifestMismatch(
            f"{path} has no manifest beside it, so what made it is unknown; move it away or choose "
            "another output path"
        )
    check_manifest(path, found, wanted)
    return found


def check_output(out: Path, kind: str, inputs: Iterable[Path]) -> None:
    """See that `out` may be replaced by a file of that kind.

    Raises `InputError` where it is one of `inputs` (or another name of it), and `ManifestMismatch`
    where something else was written there before.
    """
    refuse_special(out)
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{out} is what this command reads; choose another path to write to")
    found = read_manifest(out)
    made = found.kind if found else "something without a manifest"
    if out.is_file() and out.stat().st_size and made != kind:
        raise ManifestMismatch(
            f"{out} holds {made}, not {kind} to be replaced; delete it or choose another path"
        )


def config_hash(settings: object) -> str:
    """SHA-256, in hex, of settings in canonical JSON (keys sorted, no white space).

    Takes pydantic models, structs and plain JSON-like values. Raises ValueError on NaN.
    """
    return hashlib.sha256(_canonical(settings).encode()).hexdigest()


def plain(settings: object) -> Any:
    """The same settings as a file of JSON gives them back."""
    return json.loads(_canonical(settings))


def _canonical(settings: object) -> str:
    if isinstance(settings, BaseModel):
        settings = settings.model_dump(mode="json")
    built = msgspec.to_builtins(settings)
    return json.dumps(built, sort_keys=True, separators=(",", ":"), allow_nan=False)


def remedy(path: str | Path) -> str:
    """What to do about a file that something else made."""
    return f"delete it with {manifest_path(path).name} or choose another output path"
