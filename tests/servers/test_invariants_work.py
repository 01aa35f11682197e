"""Where people work together: what must hold after every call, counted anew from the rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import networkx as nx
from dateutil.rrule import rrulestr

from provegym.world.fields import fields_of
from tests.servers.walked import changes, moments, states, stretches

# -- calendar ------------------------------------------------------------------------------------


def _wall_times(agenda: Any, event: Any) -> list[datetime]:
    """Where an event's occurrences lie on the clock of its zone, by dateutil's own parser."""
    first = datetime.fromisoformat(event.start).replace(tzinfo=None)
    if not event.rule_id:
        return [first]
    rule = agenda.rules[event.rule_id]
    text = f"FREQ={rule.frequency.upper()};INTERVAL={rule.interval}"
    text += f";BYDAY={','.join(rule.weekdays)}" if rule.weekdays else ""
    text += f";COUNT={rule.count}" if rule.count else ""
    text += f";UNTIL={rule.until.replace('-', '')}T235959" if rule.until else ""
    found = rrulestr(text, dtstart=first)
    return [d for d in found if d.date().isoformat() not in rule.excluded]


def _starts(agenda: Any, event: Any) -> list[int]:
    """Unix seconds of an event's occurrences."""
    zone, exact = ZoneInfo(event.time_zone), datetime.fromisoformat(event.start)
    first = exact.replace(tzinfo=None)
    walls = _wall_times(agenda, event)
    moments = [exact if wall == first else wall.replace(tzinfo=zone) for wall in walls]
    return [int(moment.timestamp()) for moment in moments]


def test_calendar_recurring_series_expand_deterministically_as_rfc_5545_says() -> None:
    dates = 0
    for agenda in states("calendar"):
        for event in agenda.events:
            starts = agenda.series(event).starts
            expected = _starts(agenda, event)
            assert list(starts) == expected[: len(starts)]
            assert len(starts) == len(expected) or len(starts) == 60  # the longest series
            dates += event.rule_id is not None
    assert dates > 0


def test_calendar_a_room_is_never_double_booked() -> None:
    for agenda in states("calendar"):
        booked: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for event in agenda.events:
            if event.room_id and event.status == "confirmed":
                ends = (datetime.fromisoformat(text) for text in (event.end, event.start))
                length = int((next(ends) - next(ends)).total_seconds())
                booked[event.room_id] += [(s, s + length) for s in _starts(agenda, event)[:60]]
        assert max(map(len, booked.values())) > 1
        for spans in booked.values():
            assert all(one[1] <= two[0] for one, two in pairwise(sorted(spans)))


def test_calendar_an_event_ends_after_its_start() -> None:
    for agenda in states("calendar"):
        for event in agenda.events:
            assert datetime.fromisoformat(event.end) > datetime.fromisoformat(event.start)


def test_calendar_times_are_written_in_their_zone_by_zoneinfo() -> None:
    zones = set()
    for agenda in states("calendar"):
        for event in agenda.events:
            for text in (event.start, event.end):
                moment = datetime.fromisoformat(text)
                assert moment.astimezone(ZoneInfo(event.time_zone)).isoformat() == text
            zones.add(event.time_zone)
    assert len(zones) > 1


# -- email ---------------------------------------------------------------------------------------


def test_email_sent_mail_is_append_only() -> None:
    """Only the star and the labels of a sent message ever change."""

    def sent(mail: Any) -> dict[str, tuple[Any, ...]]:
        return {
            m.id: tuple(
                getattr(m, n) for n in m.__struct_fields__ if n not in ("is_starred", "labels")
            )
            for m in mail.messages
            if m.sender_address in mail.accounts
        }

    grown = 0
    for before, after in stretches("email"):
        old, new = sent(before), sent(after)
        assert old.items() <= new.items()
        grown += len(new) > len(old)
    assert grown > 0


def test_email_a_thread_is_the_closure_of_replies() -> None:
    for mail in states("email"):
        replies = nx.Graph()
        threads: dict[str, set[str]] = defaultdict(set)
        for m in mail.messages:
            replies.add_node(m.id)
            threads[m.thread_id].add(m.id)
            if m.reply_to_id:
                replies.add_edge(m.id, m.reply_to_id)
        closures = {frozenset(found) for found in nx.connected_components(replies)}
        assert closures == {frozenset(found) for found in threads.values()}
        assert threads.keys() == {t.id for t in mail.threads}
        assert max(map(len, closures)) > 1


def test_email_unread_counts_equal_the_flags_of_the_messages() -> None:
    for mail in states("email"):
        unread = Counter(m.folder_id for m in mail.messages if not m.is_read)
        assert unread
        assert {f.id: f.unread for f in mail.folders} == {f.id: unread[f.id] for f in mail.folders}


# -- social media --------------------------------------------------------------------------------


def test_social_media_the_feed_is_posts_of_those_followed_minus_blocks() -> None:
    shown = 0
    for moment in moments("social_media"):
        net = moment.state
        (me,) = (u.id for u in net.users if u.name == net.cast.user.name)
        followed = {
            f.followed_id for f in net.follows if f.follower_id == me and f.status == "accepted"
        }
        followed -= {b.blocked_id for b in net.blocks if b.blocker_id == me}
        followed -= {b.blocker_id for b in net.blocks if b.blocked_id == me}
        feed, cursor = set[str](), ""
        while True:
            page = moment.ok("get_social_feed", limit=50, cursor=cursor)
            feed |= {post["id"] for post in page["posts"]}
            cursor = page["next_cursor"]
            if not cursor:
                break
        assert feed == {p.id for p in net.posts if p.user_id in followed}
        shown += len(feed)
    assert shown > 0


def test_social_media_counters_equal_rows() -> None:
    for net in states("social_media"):
        accepted = [f for f in net.follows if f.status == "accepted"]
        followers = Counter(f.followed_id for f in accepted)
        following = Counter(f.follower_id for f in accepted)
        posts = Counter(p.user_id for p in net.posts)
        for u in net.users:
            counted = (followers[u.id], following[u.id], posts[u.id])
            assert (u.followers, u.following, u.posts) == counted
        likes = Counter(x.post_id for x in net.likes)
        comments = Counter(c.post_id for c in net.comments)
        assert all((p.likes, p.comments) == (likes[p.id], comments[p.id]) for p in net.posts)
        members = Counter(m.list_id for m in net.memberships)
        assert all(x.members == members[x.id] for x in net.lists)


# -- team chat -----------------------------------------------------------------------------------


def test_team_chat_messages_are_append_only_and_edits_keep_history() -> None:
    edited = 0
    for before, after in stretches("team_chat"):
        texts: dict[str, list[str]] = defaultdict(list)
        for revision in sorted(after.revisions, key=lambda r: r.number):
            texts[revision.message_id].append(revision.text)
        for old in before.messages:
            new = after.messages[old.id]
            history = [*texts[new.id], new.text]
            assert history[old.edits] == old.text
            assert len(history) == new.edits + 1
            assert (new.author_id, new.channel_id, new.posted_at) == (
                *(old.author_id, old.channel_id, old.posted_at),
            )
            edited += new.edits > old.edits
    assert edited > 0


def test_team_chat_only_members_read_a_private_channel() -> None:
    read, kept_out = 0, 0
    for moment in moments("team_chat"):
        chat = moment.state
        mine = {m.id for m in chat.members if m.email == chat.cast.user.email}
        joined = {s.channel_id for s in chat.memberships if s.member_id in mine}
        for channel in chat.channels:
            if channel.visibility == "private":
                given = {"channel_id": channel.id, "limit": 50}
                outcome = moment.session.call("search_channel_messages", given).outcome
                assert (outcome == "ok") == (channel.id in joined)
                read += channel.id in joined
                kept_out += channel.id not in joined
        secret = {c.id for c in chat.channels if c.visibility == "private"} - joined
        found = moment.ok("search_channel_messages", limit=50)["messages"]
        assert not {chat.messages[m["id"]].channel_id for m in found} & secret
        for message in chat.messages:
            if message.channel_id in secret:
                seen = moment.session.call("get_channel_thread", {"message_id": message.id})
                assert seen.outcome == "tool_error"
                break
    assert read > 0
    assert kept_out > 0


# -- crm -----------------------------------------------------------------------------------------


def test_crm_a_deal_stage_moves_along_its_pipeline() -> None:
    """Forward by one stage at a time, or back; never into another pipeline."""
    moved = 0
    for change in changes("crm"):
        stages = change.after.stages
        for old, new in change.kept("deals"):
            one, two = stages[old.stage_id], stages[new.stage_id]
            assert one.pipeline_id == two.pipeline_id == new.pipeline_id
            assert two.position <= one.position + 1
            moved += one.id != two.id
        for deal in change.made("deals"):
            assert stages[deal.stage_id].pipeline_id == deal.pipeline_id
    assert moved > 5


def test_crm_converting_a_lead_makes_one_contact_and_one_deal_and_keeps_its_history() -> None:
    kept = 0
    converted = changes("crm", "convert_lead")
    assert converted
    for change in converted:
        lead = change.after.leads[change.step.arguments["lead_id"]]
        assert [c.id for c in change.made("contacts")] == [lead.contact_id]
        assert [d.id for d in change.made("deals")] == [lead.deal_id]
        for table in ("activities", "notes"):
            old = {row.id for row in change.of(table) if row.lead_id == lead.id}
            new = [row for row in getattr(change.after, table) if row.lead_id == lead.id]
            assert {row.id for row in new} == old
            assert all((r.contact_id, r.deal_id) == (lead.contact_id, lead.deal_id) for r in new)
            kept += len(old)
    assert kept > 0


def test_crm_foreign_keys_hold() -> None:
    for crm in states("crm"):
        for name in type(crm).tables():
            table = getattr(crm, name)
            refs = [(f.name, f.ref) for f in fields_of(table.template.row) if f.ref]
            for row in table:
                for field, ref in refs:
                    value = getattr(row, field)
                    assert value == "" or value in crm.table_of(ref), (row.id, field)


# -- issue tracker -------------------------------------------------------------------------------


def test_issue_tracker_transitions_are_only_those_of_the_projects_workflow() -> None:
    moved = 0
    for change in changes("issue_tracker"):
        rows = change.after.transitions
        allowed = {(t.project_id, t.from_status, t.to_status) for t in rows}
        for old, new in change.kept("issues"):
            if old.status != new.status:
                steps = [c for c in change.made("status_changes") if c.issue_id == new.id]
                path = [steps[0].from_status, *(c.to_status for c in steps)]
                assert (path[0], path[-1]) == (old.status, new.status)
                assert {(new.project_id, *pair) for pair in pairwise(path)} <= allowed
                moved += 1
    assert moved > 5


def test_issue_tracker_an_issue_is_in_at_most_one_active_sprint() -> None:
    for tracker in states("issue_tracker"):
        active = {s.id for s in tracker.sprints if s.state == "active"}
        counts = Counter(x.issue_id for x in tracker.sprint_issues if x.sprint_id in active)
        assert set(counts.values()) == {1}


def test_issue_tracker_there_are_no_cyclic_blocks() -> None:
    for tracker in states("issue_tracker"):
        links = [x for x in tracker.links if x.relation == "blocks"]
        assert links
        assert nx.is_directed_acyclic_graph(nx.DiGraph([(x.source_id, x.target_id) for x in links]))


def test_issue_tracker_logged_time_adds_up() -> None:
    for tracker in states("issue_tracker"):
        spent = Counter[str]()
        for log in tracker.worklogs:
            spent[log.issue_id] += log.minutes
        assert spent
        assert {i.id: i.logged_minutes for i in tracker.issues if i.logged_minutes} == dict(spent)


# -- video meeting -------------------------------------------------------------------------------


def test_video_meeting_a_recording_exists_only_for_a_meeting_held_with_recording_on() -> None:
    made = 0
    for change in changes("video_meeting"):
        for recording in change.made("recordings"):
            meeting = change.of("meetings")[recording.meeting_id]
            assert (meeting.status, meeting.recorded) == ("live", True)
            assert meeting.recording_since == recording.started_at
            made += 1
    assert made > 0
    for lobby in states("video_meeting"):
        held = {m.id for m in lobby.meetings if m.recorded and m.started_at}
        assert {r.meeting_id for r in lobby.recordings} <= held


def test_video_meeting_host_rights_are_checked() -> None:
    """Ending, cancelling, recording, asking and ruling over participants are the host's alone."""
    done = Counter[str]()
    for change in changes("video_meeting"):
        given, name = change.step.arguments, change.step.tool.name
        if name == "manage_meeting_participant":
            meeting_id = change.of("participants")[given["participant_id"]].meeting_id
        elif name in ("control_meeting_recording", "launch_meeting_poll") or (
            name == "finish_video_meeting" and given["action"] in ("end", "cancel")
        ):
            meeting_id = given["meeting_id"]
        else:
            continue
        assert change.of("meetings")[meeting_id].host == change.before.cast.user.email
        done[name] += 1
    assert len(done) == 4
    for moment in moments("video_meeting"):
        mine = moment.state.cast.user.email
        for meeting in moment.state.meetings:
            if meeting.host != mine:
                given = {"meeting_id": meeting.id, "action": "end"}
                refused = moment.session.call("finish_video_meeting", given)
                assert refused.outcome == "tool_error"
