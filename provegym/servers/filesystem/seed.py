"""A seeded disk: homes of eight people, projects that groups share, system files, a trash."""

from __future__ import annotations

import re
from datetime import timedelta
from random import Random

import msgspec

from provegym.servers.filesystem import words
from provegym.servers.filesystem.state import (
    ROOT,
    SHELL,
    Group,
    Inode,
    Kind,
    Member,
    Shell,
    TagName,
    Trash,
    User,
    Version,
    size_of,
)
from provegym.servers.filesystem.words import Text
from provegym.world.cast import Cast
from provegym.world.server import Seeds
from provegym.world.stories import stories

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_SHIFTS = (0, 5, 10, 15, 20, 25)
_TAGS: tuple[TagName, ...] = ("urgent", "review", "final", "personal")
_TAG_RATE = 0.12
_COLLEAGUES = 7
_SYSTEM_QUOTA = 10_000_000
_ROOM = (300, 2_600, 2_600, 9_000, 40_000)
"""Bytes that a user can still write: few in some worlds."""

Plan = tuple[str, tuple[str, ...], str, Text]
"""A directory below a home, stems of its files, their extension, their texts."""

HOME: tuple[Plan, ...] = (
    ("documents", ("resume", "address_book", "insurance", "wishlist"), "txt", words.note),
    ("documents/invoices", tuple(f"invoice_{m}" for m in words.MONTHS), "txt", words.invoice),
    ("documents/letters", ("landlord", "bank", "school", "council", "club"), "txt", words.letter),
    ("documents/contracts", ("lease", "phone", "gym", "internet"), "txt", words.invoice),
    ("documents/travel", words.PLACES, "md", words.note),
    ("documents/budget", tuple(f"expenses_{m}" for m in words.MONTHS), "csv", words.table),
    ("notes", ("todo", "groceries", "ideas", "weekend", "house", "books"), "txt", words.note),
    ("notes/journal", tuple(f"journal_{m}" for m in words.MONTHS), "txt", words.journal),
    ("notes/recipes", ("pancakes", "risotto", "soup", "curry", "pizza"), "txt", words.recipe),
    ("downloads", ("price_list", "stock_count", "orders", "inventory"), "txt", words.numbers),
    ("scripts", ("backup", "cleanup", "deploy", "report"), "sh", words.script),
    ("logs", ("sync", "mail", "cron", "update"), "log", words.log),
    (".config", ("editor", "terminal", "player"), "conf", words.settings),
)
PROJECT: tuple[Plan, ...] = (
    ("", ("readme", "changes", "owners"), "md", words.journal),
    ("data", ("costs", "survey", "samples"), "csv", words.table),
    ("docs", ("plan", "risks", "minutes", "decisions"), "md", words.note),
    ("config", ("staging", "production"), "conf", words.settings),
)
SYSTEM: tuple[Plan, ...] = (
    ("etc", ("hosts", "network", "clock", "printers", "mirrors"), "conf", words.settings),
    ("etc/services", ("web", "mail", "backup"), "conf", words.settings),
    ("var/log", ("system", "auth", "kernel", "web"), "log", words.log),
    ("srv/handbook", ("onboarding", "holidays", "expenses", "security"), "md", words.journal),
    ("srv/directory", ("staff", "suppliers", "visitors"), "txt", words.people),
)


class _Builder:
    """Collects inodes by path, so that a plan can be laid below any directory."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd = cast, rnd
        self.nodes: dict[str, Inode] = {}
        self.thrown: list[Trash] = []
        self._ids: set[str] = set()
        self.at("", "directory", "root", "root", "755")

    def new_id(self, prefix: str) -> str:
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_" + "".join([_LETTERS[bits >> at & 31] for at in _SHIFTS])
            if new not in self._ids:
                self._ids.add(new)
                return new

    def stamp(self, days: int = 120) -> str:
        ago = timedelta(minutes=60 + int(self.rnd.random() * days * 1440))
        return (self.cast.start - ago).isoformat()

    def at(
        self, path: str, kind: Kind, owner: str, group: str, mode: str, content: str = ""
    ) -> Inode:
        """Put a node at an absolute path; the directory above is there. The root's path is ""."""
        above, _, name = path.rpartition("/")
        tagged = kind != "symlink" and owner != "root" and self.rnd.random() < _TAG_RATE
        self.nodes[path] = node = Inode(
            id=self.new_id("ino") if path else ROOT,
            parent=self.nodes[above].id if path else "",
            name=name or "/",
            kind=kind,
            mode=mode,
            owner=owner,
            group=group,
            content=content,
            size=size_of(kind, content),
            tag=self.rnd.choice(_TAGS) if tagged else "none",
            modified=self.stamp(),
        )
        return node

    def directory(self, path: str, owner: str, group: str, mode: str = "755") -> None:
        """Make a directory and what is missing above it."""
        above = path.rpartition("/")[0]
        if above not in self.nodes:
            self.directory(above, owner, group, mode)
        if path not in self.nodes:
            self.at(path, "directory", owner, group, mode)

    def lay(
        self, top: str, plans: tuple[Plan, ...], owner: str, group: str, mode: str, share: float
    ) -> None:
        """Make the files of some plans below `top`; `share` is how many of each are drawn."""
        below = f"{int(mode, 8) | (int(mode, 8) & 0o444) >> 2:03o}"
        for path, stems, extension, text in plans:
            where = f"{top}/{path}".rstrip("/")
            self.directory(where, owner, group, below)
            for stem in self.rnd.sample(stems, max(2, round(share * len(stems)))):
                bits = "755" if extension == "sh" else mode
                name = f"{where}/{stem}.{extension}"
                self.at(name, "file", owner, group, bits, text(self.cast, self.rnd))


def seed(cast: Cast, rnd: Random) -> Seeds:
    """All rows of a disk; about 530."""
    build = _Builder(cast, rnd)
    logins = [_login(person.name) for person in cast.people[: 1 + _COLLEAGUES]]
    teams = {login: _teams(rnd) for login in logins}
    _system(build)
    for login in logins[1:]:
        _other_home(build, login)
    _own_home(build, logins[0])
    _projects(build, teams, logins)
    _temporary(build, logins)
    _archives(build, logins[0])
    versions = _versions(build, logins[0])
    _trash(build, logins[0])
    users = [User("root", "System", "/", ("root",), _SYSTEM_QUOTA, 0)]
    for login, person in zip(logins, cast.people, strict=False):
        users.append(User(login, person.name, f"/home/{login}", ("staff", *teams[login]), 0, 0))
    room = {user.id: rnd.choice(_ROOM) for user in users}
    _told(build, logins[0])
    home = build.nodes[f"/home/{logins[0]}"].id
    return {
        "inodes": list(build.nodes.values()),
        "users": _with_quota(users, build, room),
        "groups": _groups(),
        "shells": [Shell(SHELL, logins[0], home, "022")],
        "trash": build.thrown,
        "versions": versions,
    }


def _login(name: str) -> str:
    return re.sub("[^a-z]", "", name.split()[0].lower())


def _teams(rnd: Random) -> list[str]:
    return rnd.sample(words.TEAMS, 2)


def _groups() -> list[Group]:
    teams = [Group(team, f"The {team} team") for team in words.TEAMS]
    return [Group("root", "System files"), Group("staff", "Everyone"), *teams]


def _with_quota(users: list[User], build: _Builder, room: dict[str, int]) -> list[User]:
    """Count what each user's files hold, and leave some room."""
    used = dict.fromkeys((user.id for user in users), 0)
    for node in build.nodes.values():
        used[node.owner] += node.size
    return [
        msgspec.structs.replace(
            user, used=used[user.id], quota=user.quota or used[user.id] + room[user.id]
        )
        for user in users
    ]


def _system(build: _Builder) -> None:
    build.lay("", SYSTEM, "root", "root", "644", 1.0)
    build.at("/etc/shadow.conf", "file", "root", "root", "600", "root:locked\n")
    build.at("/var/log/audit.log", "file", "root", "root", "640", "08:00 INFO audit started\n")
    build.directory("/var/backups", "root", "root", "700")
    build.at("/var/backups/etc.txt", "file", "root", "root", "600", "nightly copy of /etc\n")
    for path in ("/home", "/srv/projects"):
        build.directory(path, "root", "root")
    build.at("/tmp", "directory", "root", "root", "1777")


def _own_home(build: _Builder, login: str) -> None:
    home = f"/home/{login}"
    build.directory(home, login, "staff", "750")
    build.lay(home, HOME, login, "staff", "644", 1.0)
    for name in build.rnd.sample(words.PROJECTS, 2):
        build.lay(f"{home}/projects/{name}", PROJECT, login, "staff", "644", 1.0)
    for path in ("documents/drafts", "downloads/new", "photos/2026", "notes/meetings"):
        build.directory(f"{home}/{path}", login, "staff")
    policy = build.cast.companies[0]
    text = f"Rules of {policy}\nDo not edit\n"
    listing = "Oslo 2026\nPorto 2025\n"
    build.at(f"{home}/documents/photos", "file", login, "staff", "644", listing)
    build.at(f"{home}/documents/policy.txt", "file", login, "staff", "444", text)
    build.at(f"{home}/documents/payroll.txt", "file", "root", "root", "600", "salaries\n")
    build.directory(f"{home}/documents/locked", "root", "root", "755")
    build.at(f"{home}/documents/locked/terms.txt", "file", "root", "root", "644", "Fixed terms\n")
    _links(build, login)


def _links(build: _Builder, login: str) -> None:
    home = f"/home/{login}"
    targets = {
        "todo_link": f"{home}/notes/todo.txt",
        "handbook": "/srv/handbook",
        "trips": "documents/travel",
        "projects_shared": "/srv/projects",
        "syslog": "/var/log/system.log",
        "old_report": f"{home}/documents/report_2024.txt",
        "loop": "loop",
    }
    for name, target in targets.items():
        build.at(f"{home}/{name}", "symlink", login, "staff", "777", target)


def _other_home(build: _Builder, login: str) -> None:
    home, mode = f"/home/{login}", build.rnd.choice(("700", "750", "755"))
    build.directory(home, login, "staff", mode)
    plans = tuple(build.rnd.sample(HOME, 5))
    build.lay(home, plans, login, "staff", build.rnd.choice(("600", "640", "644")), 0.6)


def _projects(build: _Builder, teams: dict[str, list[str]], logins: list[str]) -> None:
    for team in words.TEAMS:
        lead = next((login for login in logins[1:] if team in teams[login]), logins[1])
        top = f"/srv/projects/{team}"
        build.directory(top, lead, team, "770")
        build.lay(top, PROJECT, lead, team, build.rnd.choice(("640", "660")), 1.0)


def _temporary(build: _Builder, logins: list[str]) -> None:
    for login in build.rnd.sample(logins, 4):
        text = words.note(build.cast, build.rnd)
        build.at(f"/tmp/upload_{login}.txt", "file", login, "staff", "644", text)
    build.at(f"/tmp/cache_{logins[0]}", "directory", logins[0], "staff", "755")


def _archives(build: _Builder, login: str) -> None:
    """Two archives of directories of the user's, and one that everyone may read."""
    home = f"/home/{login}"
    build.directory(f"{home}/backups", login, "staff")
    for name in (build.rnd.choice(("letters", "contracts")), "photos"):
        source = f"{home}/documents/{name}" if name != "photos" else f"{home}/photos"
        content = _packed(build, source)
        build.at(f"{home}/backups/{name}.tar", "archive", login, "staff", "644", content)
    content = _packed(build, "/srv/handbook")
    build.at("/srv/handbook.tar", "archive", "root", "root", "644", content)


def _packed(build: _Builder, top: str) -> str:
    cut = len(top.rpartition("/")[0]) + 1
    members = [
        Member(path[cut:], node.kind, node.mode, node.content)
        for path, node in build.nodes.items()
        if path == top or path.startswith(f"{top}/")
    ]
    return msgspec.json.encode(members).decode()


def _versions(build: _Builder, login: str) -> list[Version]:
    """One to three earlier texts of some of the user's files."""
    rnd, made = build.rnd, []
    mine = [
        (path, node)
        for path, node in build.nodes.items()
        if node.owner == login and node.kind == "file" and node.content.count("\n") > 1
    ]
    for _, node in rnd.sample(mine, 50):
        lines = node.content.splitlines(keepends=True)
        for number in range(1, rnd.randint(1, 3) + 1):
            kept = lines[: max(1, len(lines) - 4 + number)]
            text = "".join(kept[:-1]) + f"{kept[-1].rstrip()} (draft {number})\n"
            saved = build.cast.start - timedelta(days=200 - 20 * number, minutes=rnd.randrange(900))
            made.append(Version(build.new_id("ver"), node.id, number, text, saved.isoformat()))
    return made


def _trash(build: _Builder, login: str) -> None:
    """What the user and a colleague threw away: some can go back, some places are taken."""
    rnd, home = build.rnd, f"/home/{login}"
    owner = build.nodes[home].owner
    gone = [f"{home}/{path}" for path in rnd.sample(_THROWN, 10)]
    taken = rnd.choice([p for p in build.nodes if p.startswith(f"{home}/notes/") and "." in p])
    for path in [*gone, taken, f"{home}/documents/old/report.txt"]:
        _throw(build, path, owner, words.note(build.cast, rnd))
    other = rnd.choice([n.owner for p, n in build.nodes.items() if p.startswith("/tmp/upload")])
    if other != owner:
        _throw(build, "/tmp/scratch.txt", other, "scratch\n")


_THROWN = (
    *("documents/old_resume.txt", "documents/scan.txt", "documents/invoices/invoice_2024.txt"),
    *("documents/letters/tenant.txt", "notes/shopping.txt", "notes/wedding.txt"),
    *(
        "notes/recipes/burger.txt",
        "downloads/manual.txt",
        "downloads/leaflet.txt",
        "scripts/test.sh",
    ),
    *("documents/travel/madrid.md", "logs/debug.log", "notes/gifts.txt", "documents/form.txt"),
)


def _throw(build: _Builder, path: str, owner: str, text: str) -> None:
    inode = Inode(
        id=build.new_id("ino"),
        parent="",
        name=path.rpartition("/")[2],
        kind="file",
        mode="644",
        owner=owner,
        group="staff",
        content=text,
        size=size_of("file", text),
        tag="none",
        modified=build.stamp(),
    )
    build.nodes[f"trash:{inode.id}"] = inode
    build.thrown.append(Trash(build.new_id("trs"), inode.id, path, owner, build.stamp(60)))


def _told(build: _Builder, login: str) -> None:
    """The document of which other servers of this world know too, saved when it came."""
    build.rnd = build.cast.rng("stories", "filesystem")
    paper = stories(build.cast).paper
    path = f"/home/{login}/downloads/{paper.filename}"
    node = build.at(path, "file", login, "staff", "644", words.paper(build.cast, paper))
    saved = paper.sent + timedelta(minutes=build.rnd.randint(5, 55))
    build.nodes[path] = msgspec.structs.replace(node, modified=saved.isoformat())
