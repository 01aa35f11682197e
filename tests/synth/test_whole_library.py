"""Five thousand tasks over the whole library (minutes)."""

from __future__ import annotations

from pathlib import Path

import pytest

from provegym import cli, cli_dataset, servers
from provegym.dataset.stats import Stats, stats

CONFIG = Path(__file__).parents[2] / "configs" / "all.toml"

REFUSALS = {
    "banking": "insufficient_funds card_frozen daily_limit unknown_payee account_closed",
    "trading": "market_closed insufficient_buying_power insufficient_holdings order_filled",
    "payments": "already_paid refund_over_amount invoice_void expired_card",
    "calendar": "room_taken attendee_busy not_organizer past_event",
    "email": "no_recipient draft_sent attachment_too_large unknown_label",
    "filesystem": "no_such_file not_empty permission_denied into_itself quota_exceeded",
    "shopping": "out_of_stock coupon_expired minimum_not_met return_window_over address_missing",
    "marketplace": "bid_too_low own_listing auction_ended already_rated",
    "retail_chain": "not_stocked reservation_expired transfer_over_stock",
    "travel_booking": "sold_out passport_missing non_refundable name_mismatch past_departure",
    "maps": "no_route unknown_place closed_road",
    "social_media": "blocked private_account already_liked edit_window_over",
    "team_chat": "not_a_member channel_archived channel_name_taken",
    "iot_devices": "offline unsupported out_of_range low_battery child_locked",
    "vehicle": "engine_off doors_open vehicle_moving too_little_range",
    "crm": "lead_already_converted deal_closed required_field_missing",
    "issue_tracker": "transition_not_allowed blocked_by_open_issue sprint_closed",
    "budget": "category_archived month_closed over_hard_limit",
    "food_delivery": "restaurant_closed out_of_range sold_out already_picked_up",
    "video_meeting": "not_host meeting_not_started ended capacity",
}
"""The reasons to refuse that each domain cannot do without."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Stats:
    out = tmp_path_factory.mktemp("all") / "tasks.jsonl"
    assert cli.call(["synth", str(CONFIG), "--out", str(out)]) == 0
    return stats(out, *cli_dataset.library())


@pytest.mark.slow
def test_every_tool_is_called_by_some_ground_truth(found: Stats) -> None:
    assert found.tasks == 5000
    assert sum(found.called.values()) == 343
    assert not any(found.never_called.values())


@pytest.mark.slow
@pytest.mark.parametrize("server", REFUSALS)
def test_every_reason_to_refuse_is_met_in_some_recovery(server: str, found: Stats) -> None:
    assert set(REFUSALS[server].split()) <= set(found.refused[server])


@pytest.mark.slow
def test_no_server_has_more_than_an_eighth_of_the_tasks(found: Stats) -> None:
    assert set(found.servers) == set(servers.SERVERS)
    assert max(found.servers.values()) <= 0.12 * found.tasks


@pytest.mark.slow
def test_a_fifth_of_the_workflows_lead_across_servers(found: Stats) -> None:
    assert found.cross_server_share >= 0.2
