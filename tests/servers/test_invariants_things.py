"""Files, maps, homes and vehicles: what must hold after every call, found anew from the rows."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import permutations
from math import asin, ceil, cos, radians, sin, sqrt
from pathlib import Path
from typing import Any

import networkx as nx

from provegym.seeding import rng
from provegym.servers import load
from provegym.servers.iot_devices.models import MODELS
from provegym.world.explore import Walk
from provegym.world.world import World
from tests.servers.walked import Change, Moment, changes, lives, moments, states, stretches

# -- filesystem ----------------------------------------------------------------------------------


def _chain(disk: Any, node: Any) -> list[Any]:
    """A node and the directories above it, the top last; it ends at a repetition."""
    found = [node]
    while found[-1].parent and found[-1] not in found[:-1]:
        found.append(disk.inodes[found[-1].parent])
    return found


def _path(chain: list[Any]) -> str:
    return "/" + "/".join(node.name for node in chain[-2::-1])


def _paths(disk: Any) -> Iterator[tuple[str, list[Any]]]:
    """All that is in the tree (not in the trash), parents first."""
    thrown = {item.inode for item in disk.trash}
    chains = [_chain(disk, node) for node in disk.inodes]
    for chain in sorted(chains, key=len):
        if chain[-1].id not in thrown:
            yield _path(chain), chain


def test_filesystem_the_tree_stays_a_tree() -> None:
    for disk in states("filesystem"):
        tops = {item.inode for item in disk.trash}
        roots = set()
        for node in disk.inodes:
            chain = _chain(disk, node)
            assert len({n.id for n in chain}) == len(chain)
            assert all(above.kind == "directory" for above in chain[1:])
            roots |= {chain[-1].id} - tops
        assert len(roots) == 1
        names = Counter((node.parent, node.name) for node in disk.inodes if node.parent)
        assert set(names.values()) == {1}


def test_filesystem_sizes_add_up() -> None:
    for moment in moments("filesystem"):
        disk, used = moment.state, Counter[str]()
        for node in disk.inodes:
            used[node.owner] += node.size
            if node.kind in ("file", "symlink"):
                assert node.size == len(node.content.encode())
        assert {u.id: u.used for u in disk.users} == {u.id: used[u.id] for u in disk.users}
        quota = moment.ok("show_quota")
        assert quota["used"] + quota["free"] == quota["quota"]


def _may(disk: Any, node: Any, bit: int) -> bool:
    """POSIX: the owner's bits if one is the owner, else the group's, else those of others."""
    me = disk.users[disk.shell.user]
    place = 0 if me.id == node.owner else 1 if node.group in me.groups else 2
    return bool(int(node.mode, 8) >> (3 * (2 - place)) & bit)


def test_filesystem_permissions_are_checked_on_every_access() -> None:
    seen = Counter[bool]()
    for moment in moments("filesystem"):
        for path, chain in _paths(moment.state):
            if chain[0].kind != "file":
                continue
            search = all(_may(moment.state, above, 1) for above in chain[1:])
            result = moment.session.call("read_file", {"path": path})
            may_read = search and _may(moment.state, chain[0], 4)
            assert (result.outcome == "ok") == may_read, path
            denied = {"path": path, "text": "more"}
            if not (search and _may(moment.state, chain[0], 2)):
                assert moment.session.fork().call("append_file", denied).outcome == "tool_error"
            seen[may_read] += 1
    assert min(seen[True], seen[False]) > 20


def _mirror(disk: Any, top: Path, *, seen: bool = False) -> None:
    """Make the tree below a real directory; with `seen` only what the user can look into."""
    for path, chain in _paths(disk):
        node, place = chain[0], top / path[1:]
        if seen and not all(_may(disk, up, 4) and _may(disk, up, 1) for up in chain[1:]):
            continue
        if node.kind == "directory":
            place.mkdir(exist_ok=True)
        elif node.kind == "symlink":
            inside = node.content.startswith("/")
            place.symlink_to(f"{top}{node.content}" if inside else node.content)
        elif not seen or (node.kind == "file" and _may(disk, node, 4)):
            place.write_bytes(node.content.encode())
        else:
            place.touch()


def _tree(disk: Any) -> dict[str, str]:
    return {path: chain[0].kind for path, chain in _paths(disk) if path != "/"}


def _real(top: Path) -> dict[str, str]:
    """What a real directory holds; a file and an archive cannot be told apart."""
    found = {}
    for folder, directories, files in os.walk(top):
        for name in directories + files:
            path = Path(folder, name)
            kind = "directory" if path.is_dir() else "file"
            found[str(path)[len(str(top)) :]] = "symlink" if path.is_symlink() else kind
    return found


def _place(disk: Any, top: Path, path: str) -> str:
    """A tool's path as one below the real directory."""
    home = disk.users[disk.shell.user].home
    path = home + path[1:] if path == "~" or path.startswith("~/") else path
    return f"{top}{path}" if path.startswith("/") else path


def _command(change: Change, top: Path) -> list[str]:
    """The POSIX command for a call."""
    given = {**change.step.arguments}
    for name in ("path", "source", "destination"):
        if name in given:
            given[name] = _place(change.before, top, given[name])
    return {
        "move_path": lambda: ["mv", "-f", "--", given["source"], given["destination"]],
        "copy_path": lambda: ["cp", "-RH", "--", given["source"], given["destination"]],
        "delete_file": lambda: ["rm", "-f", "--", given["path"]],
        "make_directory": lambda: ["mkdir", *_parents(given), "--", given["path"]],
        "remove_directory": lambda: [*_removal(given), "--", given["path"]],
    }[change.step.tool.name]()


def _parents(given: dict[str, Any]) -> list[str]:
    return ["-p"] if given.get("parents") == "create" else []


def _removal(given: dict[str, Any]) -> list[str]:
    return ["rm", "-r"] if given.get("contents") == "delete" else ["rmdir"]


def test_filesystem_cd_mv_cp_rm_and_mkdir_behave_as_posix_does(tmp_path: Path) -> None:
    """The same command on a real copy of the tree leaves the same names behind."""
    tools = ("move_path", "copy_path", "delete_file", "make_directory", "remove_directory")
    done, moved = changes("filesystem", *tools), changes("filesystem", "change_directory")
    assert {c.step.tool.name for c in done} == set(tools)
    for number, change in enumerate(done[:24]):
        top = tmp_path / str(number)
        top.mkdir()
        _mirror(change.before, top)
        cwd = top / _path(_chain(change.before, change.of("inodes")[change.before.shell.cwd]))[1:]
        subprocess.run(_command(change, top), cwd=cwd, check=True)
        plain = {p: "file" if k == "archive" else k for p, k in _tree(change.after).items()}
        assert _real(top) == plain, change.step.arguments
    top = tmp_path / "cd"
    top.mkdir()
    for change in moved[:10]:
        subprocess.run(["rm", "-rf", str(top)], check=True)
        top.mkdir()
        _mirror(change.before, top)
        old, new = (_path(_chain(d, d.inodes[d.shell.cwd])) for d in (change.before, change.after))
        target = _place(change.before, top, change.step.arguments["path"])
        assert (top / old[1:] / target).resolve() == (top / new[1:]).resolve()


def test_filesystem_ls_find_and_grep_behave_as_posix_does(tmp_path: Path) -> None:
    found = 0
    for number, moment in enumerate(moments("filesystem")[::3]):
        top = tmp_path / str(number)
        top.mkdir()
        _mirror(moment.state, top, seen=True)
        for word in ("the", "a"):
            lines = _run(["grep", "-rnFI", "--", word, "."], top)
            assert _grep(moment, word) == set(lines)
            found += len(lines)
        assert _shown(moment, "find_files", name="*.txt") == _run(
            ["find", ".", "-name", "*.txt"], top
        )
        for path in ("/", "/home"):
            names = {f"{path.rstrip('/')}/{n}"[1:] for n in _run(["ls", "-A", f".{path}"], top)}
            assert {
                p[2:] for p in _shown(moment, "list_directory", path=path, hidden="show")
            } == names
    assert found > 20


def _run(command: list[str], top: Path) -> set[str]:
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    return set(done.stdout.splitlines())


def _pages(moment: Moment, tool: str, key: str, **given: Any) -> list[Any]:
    rows, cursor = [], ""
    while True:
        page = moment.ok(tool, **{"path": "/", "limit": 50, "cursor": cursor, **given})
        rows += page[key]
        cursor = page["next_cursor"]
        if not cursor:
            return rows


def _shown(moment: Moment, tool: str, **given: Any) -> set[str]:
    return {f".{row['path']}" for row in _pages(moment, tool, "entries", **given)}


def _grep(moment: Moment, word: str) -> set[str]:
    rows = _pages(moment, "search_text", "matches", text=word)
    return {f".{row['path']}:{row['line']}:{row['text']}" for row in rows}


def test_filesystem_chmod_behaves_as_posix_does(tmp_path: Path) -> None:
    script = 'umask "$1"; chmod -- "$2" "$3" && stat -c %a "$3"'
    done = list(changes("filesystem", "change_mode"))
    assert len(done) > 5
    for number, change in enumerate(done):
        place = tmp_path / str(number)
        given, changed = (
            change.step.arguments,
            [(old, new) for old, new in change.kept("inodes") if old.mode != new.mode],
        )
        assert changed
        for old, new in changed[:3]:
            place.mkdir() if old.kind == "directory" else place.touch()
            place.chmod(int(old.mode, 8))
            command = [
                "sh",
                "-c",
                script,
                "sh",
                change.before.shell.umask,
                given["mode"],
                str(place),
            ]
            shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            assert int(shown, 8) == int(new.mode, 8), given
            place.rmdir() if old.kind == "directory" else place.unlink()


# -- maps ----------------------------------------------------------------------------------------

BARRED = {
    "driving": {"cycleway", "footpath", "ferry"},
    "cycling": {"motorway", "footpath"},
    "walking": {"motorway"},
}


def _roads(atlas: Any, mode: str) -> Any:
    """The roads that are open to a mode, as a directed graph of metres."""
    graph = nx.DiGraph()
    graph.add_nodes_from(j.id for j in atlas.junctions)
    for road in atlas.roads:
        if road.status == "open" and road.kind not in BARRED[mode]:
            ends = [(road.start_id, road.end_id)]
            ends += [ends[0][::-1]] if mode == "walking" or not road.one_way else []
            for one, two in ends:
                known = graph.get_edge_data(one, two, {"metres": road.length_m})["metres"]
                graph.add_edge(one, two, metres=min(known, road.length_m))
    return graph


def test_maps_routes_are_true_shortest_paths_so_no_detour_is_shorter() -> None:
    ways = 0
    for moment in moments("maps")[::2]:
        atlas, rnd = moment.state, rng(len(moment.state.saved_routes), "probes")
        probes = rnd.sample(list(atlas.places), 4)
        for mode in BARRED:
            graph, far = _roads(atlas, mode), dict[tuple[str, str], float]()
            for a, b in permutations(probes, 2):
                given = {"from_place_id": a.id, "to_place_id": b.id, "mode": mode}
                result = moment.session.call("get_directions", {**given, "prefer": "shortest"})
                far[a.id, b.id] = float("inf")
                if nx.has_path(graph, a.junction_id, b.junction_id):
                    ends = a.junction_id, b.junction_id
                    least = nx.dijkstra_path_length(graph, *ends, weight="metres")
                    far[a.id, b.id] = result.builtins()["distance_m"]
                    assert far[a.id, b.id] == least + a.access_m + b.access_m
                    ways += 1
                else:
                    assert result.outcome == "tool_error"
            for a, b, c in permutations(probes, 3):
                assert far[a.id, c.id] <= far[a.id, b.id] + far[b.id, c.id]
    assert ways > 50


def _haversine(one: Any, two: Any) -> float:
    lat1, lat2 = radians(one.latitude), radians(two.latitude)
    run = radians(two.longitude - one.longitude)
    half = sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin(run / 2) ** 2
    return 2 * 6_371_008.8 * asin(sqrt(half))


def test_maps_distances_are_those_of_the_haversine_formula() -> None:
    for atlas in states("maps"):
        for road in atlas.roads:
            ends = atlas.junctions[road.start_id], atlas.junctions[road.end_id]
            assert abs(road.length_m - ceil(_haversine(*ends))) <= 1  # the order of sums may round
        for place in atlas.places:
            away = _haversine(place, atlas.junctions[place.junction_id])
            assert abs(place.access_m - ceil(away)) <= 1


# -- smart home ----------------------------------------------------------------------------------

NEEDED = {
    "on": {"power"},
    "brightness": {"brightness"},
    "color_temperature": {"color_temperature"},
    "target_temperature": {"target_temperature"},
    "climate": {"target_temperature"},
    "level": {"level"},
    "locked": {"lock"},
    "program": {"program"},
    "child_lock": {"child_lock"},
}


def test_iot_devices_a_command_is_possible_only_on_a_capability_the_device_has() -> None:
    done = Counter[str]()
    for change in changes("iot_devices"):
        for old, new in change.kept("devices"):
            for field, needed in NEEDED.items():
                if getattr(old, field) != getattr(new, field):
                    assert needed <= set(MODELS[new.model].capabilities), (new, field)
                    done[field] += 1
    assert done.keys() >= {"on", "brightness", "level", "locked", "child_lock"}
    for moment in moments("iot_devices")[::4]:
        for device in moment.state.devices:
            if "power" not in MODELS[device.model].capabilities:
                given = {"device_id": device.id, "power": "on"}
                assert moment.session.call("switch_device", given).outcome == "tool_error"


def test_iot_devices_readings_follow_the_simulated_clock_deterministically() -> None:
    """Whatever else was done, at the same minute every sensor reads and has logged the same."""
    for seed in range(2):
        world, seen = World(seed, [load("iot_devices")]), list[list[Any]]()
        for other in ("one", "two"):
            session = world.open()
            house: Any = session.state("iot_devices")
            walk = Walk(load("iot_devices"), session, rng(seed, other))
            seen.append([])
            while session.now < world.cast.start + timedelta(minutes=70):
                before = session.now
                walk.step(set())
                if session.now > before and session.now.minute % 5 == 0:
                    shown = session.call("list_sensors", {"limit": 50}).builtins()["sensors"]
                    logged = sorted((r.sensor_id, r.at, r.value) for r in house.readings)
                    seen[-1].append([(s["id"], s["reading"]) for s in shown] + logged)
        assert seen[0] == seen[1]
        assert len({str(x) for x in seen[0]}) > 1


def test_iot_devices_automations_fire_when_their_trigger_does() -> None:
    """Those of devices and modes fire with the change; none of these fires without one."""
    events = {"on": ("on", True), "off": ("on", False), "locked": ("locked", True)}
    events["unlocked"] = ("locked", False)
    fired = Counter[str]()
    for change in changes("iot_devices"):
        stamp = change.before.stamp
        for old, new in change.kept("automations"):
            ran = new.last_run_at != old.last_run_at
            assert not ran or (new.enabled and new.last_run_at == stamp)
            came = False
            if old.trigger == "mode":
                homes = change.of("homes")[old.home_id], change.after.homes[old.home_id]
                came = homes[0].mode != homes[1].mode == old.event
                assert ran == (came and old.enabled), old
            elif old.trigger == "device" and old.event in events:
                field, value = events[old.event]
                rows = change.of("devices")[old.device_id], change.after.devices[old.device_id]
                came = getattr(rows[0], field) != getattr(rows[1], field) == value
                assert ran or not (came and old.enabled), old
            fired[old.trigger] += ran
    assert fired.keys() >= {"mode", "device"}
    assert min(fired["mode"], fired["device"]) > 0


# -- vehicle -------------------------------------------------------------------------------------


def _vehicles(name: str, **given: str) -> list[tuple[Any, Any]]:
    """The fleet and the vehicle before each accepted call with these arguments."""
    found = [
        (c.before, c.of("vehicles")[c.step.arguments["vehicle_id"]])
        for c in changes("vehicle", name)
        if given.items() <= c.step.arguments.items()
    ]
    assert found
    return found


def test_vehicle_there_is_no_ignition_with_the_brake_up() -> None:
    for _, before in _vehicles("switch_vehicle_engine", action="start"):
        assert before.foot_brake == "applied"
    for moment in moments("vehicle"):
        for v in moment.state.vehicles:
            if (v.engine, v.foot_brake) == ("off", "released"):
                given = {"vehicle_id": v.id, "action": "start"}
                assert moment.session.call("switch_vehicle_engine", given).outcome == "tool_error"


def test_vehicle_there_is_no_start_unlocked_in_drive() -> None:
    for fleet, before in _vehicles("shift_vehicle_gear", gear="drive"):
        doors = [d for d in fleet.doors if d.vehicle_id == before.id]
        assert all(d.is_locked and not d.is_open for d in doors)
    driven = 0
    for life in lives("vehicle"):
        for moment in life:
            for v in moment.state.vehicles:
                if v.gear == "drive" or v.speed_kmh:
                    doors = moment.state.doors.where(vehicle_id=v.id)
                    assert len(doors) == 6
                    assert all(d.is_locked and not d.is_open for d in doors)
                    driven += 1
    assert driven > 0


def test_vehicle_there_is_no_charge_while_driving() -> None:
    for name in ("charge_vehicle", "refuel_vehicle"):
        for _, before in _vehicles(name):
            assert (before.speed_kmh, before.engine) == (0, "off")
            assert before.gear not in ("drive", "reverse")


def test_vehicle_fuel_or_charge_decreases_with_distance() -> None:
    """By the consumption a kilometre, rounded up for each trip; only a refill raises it."""
    driven = 0
    for before, after in stretches("vehicle"):
        for old in before.vehicles:
            new = after.vehicles[old.id]
            trips = [t for t in after.trips if t.vehicle_id == old.id and t.id not in before.trips]
            taken = [
                r for r in after.refills if r.vehicle_id == old.id and r.id not in before.refills
            ]
            used = sum(ceil(t.distance_m * old.consumption / 1000) for t in trips)
            assert new.level == old.level - used + sum(r.amount for r in taken)
            assert new.odometer_m == old.odometer_m + sum(t.distance_m for t in trips)
            driven += len(trips)
    assert driven > 0
