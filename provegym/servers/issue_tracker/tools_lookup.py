"""Tools that find projects, people, issues, sprints, comments and logged time."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from provegym.servers.issue_tracker import samples
from provegym.servers.issue_tracker.rules import (
    known_issue,
    known_project,
    known_sprint,
    known_user,
    sprint_issues,
)
from provegym.servers.issue_tracker.state import (
    Issue,
    IssueId,
    Priority,
    ProjectId,
    SprintId,
    SprintState,
    Tracker,
    UserId,
)
from provegym.servers.issue_tracker.views import (
    CommentPage,
    IssueDetail,
    IssuePage,
    MemberItem,
    MemberPage,
    ProjectItem,
    ProjectPage,
    SprintPage,
    SprintReport,
    StatusCount,
    WorklogPage,
    comment_item,
    issue_detail,
    issue_item,
    sprint_item,
    worklog_item,
)
from provegym.servers.issue_tracker.workflows import CLOSED, WORKFLOWS, Status
from provegym.world.fields import Date, Limit
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import tool

_EVERY_STATUS = tuple(dict.fromkeys(s for _, s, _ in WORKFLOWS["tested"]))


@tool(
    "read",
    phrases=(
        'List the[ {status}] tracker projects[ called "{query}"]',
        "Show which[ {status}] issue tracker projects there are[ with {query} in the name]",
        "Give me an overview of the[ {status}] projects in the tracker[ matching {query}]",
    ),
    sample=samples.projects,
)
def list_tracker_projects(
    tracker: Tracker,
    query: str = "",
    status: Literal["active", "archived"] | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ProjectPage:
    """List projects with their lead and the number of open issues.

    Args:
        query: Part of the project's name or key.
        status: Only projects in this state.
        limit: Projects per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        p
        for p in tracker.projects
        if words in f"{p.name} {p.key}".casefold() and (status is None or p.status == status)
    ]
    rows, total, after = page(found, limit, cursor)
    items = []
    for p in rows:
        issues = tracker.issues.where(project_id=p.id)
        count = sum(i.status not in CLOSED for i in issues)
        lead = tracker.name_of(p.lead_id)
        items.append(ProjectItem(p.id, p.name, p.key, lead, p.status, count))
    return ProjectPage(items, total, after)


@tool(
    "read",
    phrases=(
        'Show who works on {project_id}[ and is called "{query}"]',
        "List the members of {project_id}[ whose name contains {query}]",
        "Look up the people on {project_id}[ by the name {query}]",
    ),
    refuses=("not_found",),
    sample=samples.members,
)
def list_project_members(
    tracker: Tracker, project_id: ProjectId, query: str = "", limit: Limit = 5, cursor: str = ""
) -> MemberPage:
    """List the members of a project by name, with how many issues each has in progress there.

    Args:
        project_id: The project.
        query: Part of the member's name or e-mail address.
        limit: Members per page.
        cursor: next_cursor of the page before.
    """
    project, words = known_project(tracker, project_id), query.casefold()
    people = [tracker.users[m.user_id] for m in tracker.members.where(project_id=project.id)]
    found = [u for u in people if words in f"{u.name} {u.email}".casefold()]
    found.sort(key=lambda u: u.name)
    rows, total, after = page(found, limit, cursor)
    issues = tracker.issues.where(project_id=project.id)
    busy = Counter(i.assignee_id for i in issues if i.status == "in progress")
    items = [MemberItem(u.id, u.name, u.email, u.active, busy[u.id]) for u in rows]
    return MemberPage(items, total, after)


@tool(
    "read",
    phrases=(
        'Search the issues[ for "{query}"][ in {project_id}][ planned into {sprint_id}]'
        "[ with the status {status}][ of {priority} priority][ assigned to {assignee_id}]"
        "[ labelled {label}]",
        'Find issues[ titled "{query}"][ of {project_id}][ from {sprint_id}][ that are {status}]'
        "[ with {priority} priority][ on the plate of {assignee_id}][ with the label {label}]",
        "List issues[ mentioning {query}][ that belong to {project_id}][ inside {sprint_id}]"
        "[ in status {status}][, priority {priority}][ given to {assignee_id}][ tagged {label}]",
    ),
    refuses=("not_found",),
    sample=samples.search,
)
def search_issues(
    tracker: Tracker,
    query: str = "",
    project_id: ProjectId | None = None,
    sprint_id: SprintId | None = None,
    status: Status | None = None,
    priority: Priority | None = None,
    assignee_id: UserId | None = None,
    label: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> IssuePage:
    """Search issues by any mix of filters, newest first.

    Args:
        query: Part of the title, or a key such as "APP-17".
        project_id: Only issues of this project.
        sprint_id: Only issues of this sprint.
        status: Only this status.
        priority: Only this priority.
        assignee_id: Only issues assigned to this user.
        label: Only issues with the label of this name.
        limit: Issues per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        i
        for i in _candidates(tracker, project_id, sprint_id, assignee_id)
        if (status is None or i.status == status)
        and (priority is None or i.priority == priority)
        and (not words or words in i.title.casefold() or words == i.key.casefold())
    ]
    if label:
        marked = _marked(tracker, label)
        found = [i for i in found if i.id in marked]
    found.sort(key=lambda i: i.created_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return IssuePage([issue_item(tracker, i) for i in rows], total, after)


def _candidates(
    tracker: Tracker, project_id: str | None, sprint_id: str | None, assignee_id: str | None
) -> list[Issue]:
    """Issues of the project, the sprint and the assignee, through the narrowest index."""
    if sprint_id is not None:
        found = sprint_issues(tracker, known_sprint(tracker, sprint_id).id)
    elif assignee_id is not None:
        found = tracker.issues.where(assignee_id=known_user(tracker, assignee_id).id)
    elif project_id is not None:
        return tracker.issues.where(project_id=known_project(tracker, project_id).id)
    else:
        return list(tracker.issues)
    if assignee_id is not None:
        wanted = known_user(tracker, assignee_id).id
        found = [i for i in found if i.assignee_id == wanted]
    if project_id is not None:
        project = known_project(tracker, project_id).id
        found = [i for i in found if i.project_id == project]
    return found


def _marked(tracker: Tracker, name: str) -> set[str]:
    """Ids of the issues that carry a label of that name, in any project."""
    labels = tracker.labels.where(name=name.casefold().strip())
    return {x.issue_id for row in labels for x in tracker.issue_labels.where(label_id=row.id)}


@tool(
    "read",
    phrases=(
        "Open {issue_id} and show everything about it",
        "Show the details of {issue_id} with its links and labels",
        "Tell me where {issue_id} can go next and what blocks it",
    ),
    refuses=("not_found",),
    sample=samples.any_issue,
)
def get_issue(tracker: Tracker, issue_id: IssueId) -> IssueDetail:
    """Show one issue: its fields, where its workflow lets it go, sprint, labels and links.

    Args:
        issue_id: The issue.
    """
    return issue_detail(tracker, known_issue(tracker, issue_id))


@tool(
    "read",
    phrases=(
        'List the[ {state}] sprints[ of {project_id}][ called "{query}"]',
        "Show me the[ {state}] sprints[ planned for {project_id}][ named {query}]",
        "Check which[ {state}] sprints there are[ in {project_id}][ with the name {query}]",
    ),
    refuses=("not_found",),
    sample=samples.sprints,
)
def list_sprints(
    tracker: Tracker,
    project_id: ProjectId | None = None,
    state: SprintState | None = None,
    query: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> SprintPage:
    """List sprints with their dates, those that start last first.

    Args:
        project_id: Only sprints of this project.
        state: Only sprints in this state.
        query: Part of the sprint's name.
        limit: Sprints per page.
        cursor: next_cursor of the page before.
    """
    if project_id is None:
        pool = list(tracker.sprints)
    else:
        pool = tracker.sprints.where(project_id=known_project(tracker, project_id).id)
    words = query.casefold()
    found = [s for s in pool if words in s.name.casefold() and (state is None or s.state == state)]
    found.sort(key=lambda s: s.starts_on, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return SprintPage([sprint_item(tracker, s) for s in rows], total, after)


@tool(
    "read",
    phrases=(
        "Give me the report on {sprint_id}",
        "How does {sprint_id} stand in points and open issues",
        "Summarize the progress of {sprint_id}",
    ),
    refuses=("not_found",),
    sample=samples.any_sprint,
)
def get_sprint_report(tracker: Tracker, sprint_id: SprintId) -> SprintReport:
    """Report on a sprint: points committed and completed, time logged, issues by status.

    Args:
        sprint_id: The sprint.
    """
    sprint = known_sprint(tracker, sprint_id)
    rows, issues = (
        tracker.sprint_issues.where(sprint_id=sprint.id),
        sprint_issues(tracker, sprint_id),
    )
    if sprint.state == "closed":
        ended = [i for r, i in zip(rows, issues, strict=True) if r.outcome == "completed"]
    else:
        ended = [i for i in issues if i.status == "done"]
    return SprintReport(
        id=sprint.id,
        name=sprint.name,
        state=sprint.state,
        goal=sprint.goal,
        capacity=sprint.capacity,
        points_committed=sum(i.points for i in issues),
        points_completed=sum(i.points for i in ended),
        carried_over=sum(r.outcome == "carried over" for r in rows),
        logged_minutes=sum(i.logged_minutes for i in issues),
        by_status=_by_status(issues),
    )


def _by_status(issues: list[Issue]) -> list[StatusCount]:
    counts = Counter(i.status for i in issues)
    points: Counter[str] = Counter()
    for issue in issues:
        points[issue.status] += issue.points
    return [StatusCount(s, counts[s], points[s]) for s in _EVERY_STATUS if counts[s]]


@tool(
    "read",
    phrases=(
        'Show the comments on {issue_id}[ that mention "{query}"][ by {author_id}]',
        "Read me what was said about {issue_id}[ concerning {query}][ from {author_id}]",
        "List the discussion of {issue_id}[ with the words {query}][ written by {author_id}]",
    ),
    refuses=("not_found",),
    sample=samples.comments,
)
def list_issue_comments(
    tracker: Tracker,
    issue_id: IssueId,
    query: str = "",
    author_id: UserId | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> CommentPage:
    """List the comments on an issue, newest first.

    Args:
        issue_id: The issue.
        query: Part of the comment.
        author_id: Only comments by this user.
        limit: Comments per page.
        cursor: next_cursor of the page before.
    """
    issue, words = known_issue(tracker, issue_id), query.casefold()
    author = None if author_id is None else known_user(tracker, author_id).id
    found = [
        c
        for c in tracker.comments.where(issue_id=issue.id)
        if words in c.body.casefold() and (author is None or c.author_id == author)
    ]
    found.sort(key=lambda c: c.posted_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return CommentPage([comment_item(tracker, c) for c in rows], total, after)


@tool(
    "read",
    phrases=(
        "Show the time logged[ on {issue_id}][ by {user_id}][ since {since}][ until {until}]",
        "List the worklogs[ of {issue_id}][ by {user_id}][ from {since} on][ up to {until}]",
        "Sum up the time logged[ for {issue_id}][ by {user_id}][ after {since}][ through {until}]",
    ),
    refuses=("not_found",),
    sample=samples.worklogs,
)
def list_issue_worklogs(
    tracker: Tracker,
    issue_id: IssueId | None = None,
    user_id: UserId | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> WorklogPage:
    """List logged time, latest day first, with the sum over all pages.

    Args:
        issue_id: Only time on this issue.
        user_id: Only time of this user.
        since: First day.
        until: Last day.
        limit: Worklogs per page.
        cursor: next_cursor of the page before.
    """
    first, last = period(since, until)
    user = None if user_id is None else known_user(tracker, user_id).id
    if issue_id is not None:
        pool = tracker.worklogs.where(issue_id=known_issue(tracker, issue_id).id)
    else:
        pool = list(tracker.worklogs) if user is None else tracker.worklogs.where(user_id=user)
    found = [
        w for w in pool if first <= w.worked_on <= last and (user is None or w.user_id == user)
    ]
    found.sort(key=lambda w: w.worked_on, reverse=True)
    rows, total, after = page(found, limit, cursor)
    minutes = sum(w.minutes for w in found)
    return WorklogPage([worklog_item(tracker, w) for w in rows], minutes, total, after)
