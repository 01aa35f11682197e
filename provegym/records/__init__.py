"""Record files: JSON Lines with a manifest beside them, safe against kill -9 and a full disk.

Three ways in and out:

- `read` yields the records of a file and refuses the first broken line by its number;
- `write_atomic` replaces a whole file or leaves the old one intact;
- `Store` appends row by row and resumes where an interrupted run stopped. It refuses to mix rows
  that another config, seed or world made.

A record file `tasks.jsonl` has its manifest in `tasks.jsonl.manifest.json`.
"""

from provegym.records.files import beside, content_hash, write_atomic
from provegym.records.manifest import (
    Manifest,
    accepted,
    check_manifest,
    check_output,
    config_hash,
    manifest_path,
    plain,
    read_manifest,
    write_manifest,
)
from provegym.records.reading import encode, read, read_distinct, read_tasks
from provegym.records.rows import read_rows
from provegym.records.store import Store

__all__ = [
    "Manifest",
    "Store",
    "accepted",
    "beside",
    "check_manifest",
    "check_output",
    "config_hash",
    "content_hash",
    "encode",
    "manifest_path",
    "plain",
    "read",
    "read_distinct",
    "read_manifest",
    "read_rows",
    "read_tasks",
    "write_atomic",
    "write_manifest",
]
