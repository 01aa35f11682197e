"""Games: calls, their changes, undo, fork."""

from __future__ import annotations

import pytest

from provegym.errors import InputError, LimitReached, SessionClosed, SessionUnknown, UnknownName
from provegym.viewer import play
from provegym.viewer.play import Game, Games, opened

SEED = 7


def payee(game: Game) -> dict[str, str]:
    """Arguments of a call that writes."""
    return game.example("add_payee", 0)


def test_a_call_tells_what_it_changed_and_undo_takes_it_back() -> None:
    game = opened(SEED, ("banking",))
    start = game.shown()
    given = payee(game)
    step = game.call("add_payee", given)
    assert step.outcome == "ok"
    (change,) = step.changes
    assert (change["table"], change["kind"]) == ("banking.payees", "created")
    assert change["row"] == step.result["id"]  # the id that tools show, not "+1"
    assert ["iban", None, given["iban"]] in change["fields"]
    assert game.shown()["changes"] == step.changes
    game.undo()
    assert game.shown() == start


def test_a_changed_field_stands_beside_what_it_was() -> None:
    game = opened(SEED, ("banking",))
    rows = game.call("list_accounts", {"kind": "savings"}).result["accounts"]
    source, target = rows[0], rows[1]
    order = {"from_account_id": source["id"], "to_account_id": target["id"], "amount": "20.00"}
    changes = game.call("transfer_between_accounts", order).changes
    account = next(c for c in changes if c["row"] == source["id"])
    assert account["kind"] == "changed"
    ((field, before, after),) = account["fields"]
    assert (field, before - after) == ("balance", 2000)  # cents


def test_a_refused_call_is_a_step_without_changes() -> None:
    game = opened(SEED, ("banking",))
    assert game.call("add_payee", "no object").outcome == "malformed"
    assert game.call("fly", {}).outcome == "unknown_tool"
    assert [step["changes"] for step in game.shown()["steps"]] == [[], []]


def test_a_fork_goes_its_own_way_and_can_be_taken_back_alone() -> None:
    game = opened(SEED, ("banking",))
    game.call("add_payee", payee(game))
    twin = game.fork()
    assert twin.shown() == game.shown()
    twin.undo()
    assert (len(twin.steps), len(game.steps)) == (0, 1)
    assert game.shown()["changes"]
    assert not twin.shown()["changes"]


def test_nothing_to_take_back_is_told() -> None:
    with pytest.raises(InputError, match="no call to take back"):
        opened(SEED, ("banking",)).undo()


def test_an_example_changes_nothing_and_another_number_gives_another() -> None:
    game = opened(SEED, ("banking",))
    found = {str(game.example("list_transactions", number)) for number in range(9)}
    assert len(found) > 1
    assert game.example("add_payee", 1) == game.example("add_payee", 1)
    assert not game.shown()["changes"]
    with pytest.raises(UnknownName, match="unknown tool 'fly'"):
        game.example("fly", 0)


def test_games_are_found_by_their_id_until_they_are_closed() -> None:
    games = Games()
    name = games.keep(opened(SEED, ("banking",)))
    assert games.get(name).session.world.seed == SEED
    games.close(name)
    with pytest.raises(SessionClosed):
        games.get(name)
    with pytest.raises(SessionUnknown):
        games.get("guessed")


def test_the_game_that_was_unused_the_longest_makes_room_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(play, "MOST_SESSIONS", 2)
    games, game = Games(), opened(SEED, ("banking",))
    first, second = games.keep(game), games.keep(game.fork())
    games.get(first)
    third = games.keep(game.fork())
    with pytest.raises(SessionClosed):
        games.get(second)
    assert games.get(first) is game
    fourth = games.keep(game.fork())
    with pytest.raises(SessionClosed):
        games.get(third)
    assert games.get(fourth).shown()["steps"] == []


def test_a_game_has_only_so_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "MOST_STEPS", 1)
    game = opened(SEED, ("banking",))
    game.call("list_payees", {})
    with pytest.raises(LimitReached, match="undo some"):
        game.call("list_payees", {})


def test_no_server_is_no_game() -> None:
    with pytest.raises(InputError, match="name a server"):
        opened(SEED, ())
    with pytest.raises(UnknownName, match="unknown server 'bank'"):
        opened(SEED, ("bank",))
