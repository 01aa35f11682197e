"""The video meetings of which other servers of a world know too."""

from __future__ import annotations

import pytest

from provegym.servers.video_meeting.words import FORMS, SUBJECTS
from provegym.world.stories import TOPICS, stories
from tests.servers.video_meeting_lobby import hall


@pytest.mark.parametrize("seed", range(6))
def test_each_meeting_of_the_stories_is_planned_by_the_user_with_its_guests(seed: int) -> None:
    h = hall(seed)
    user = h.lobby.cast.user
    for meeting in stories(h.lobby.cast).meetings:
        got = h.ok("list_video_meetings", query=meeting.topic, role="host", status="scheduled")
        (item,) = got["meetings"]
        shown = h.ok("get_video_meeting", meeting_id=item["id"])
        assert (shown["topic"], shown["host"]) == (meeting.topic, user.name)
        assert shown["starts_at"] == meeting.starts.isoformat()
        assert shown["ends_at"] == meeting.ends.isoformat()
        people = {p["email"]: p["name"] for p in shown["participants"]}
        assert people == {p.email: p.name for p in (user, *meeting.guests)}


def test_no_other_meeting_has_the_topic_of_a_story() -> None:
    pairs = {f"{subject} {form}" for subject in SUBJECTS for form in FORMS}
    shared, clashes = pairs & set(TOPICS), 0
    assert shared  # else there is nothing to test
    for seed in range(30):
        lobby = hall(seed).lobby
        topics = {m.topic for m in stories(lobby.cast).meetings}
        assert all(len(lobby.meetings.where(topic=topic)) == 1 for topic in topics)
        clashes += bool(topics & shared)
    assert clashes
