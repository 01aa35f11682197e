"""The mail server: conversations, drafts, files, folders and labels."""

from __future__ import annotations

from typing import Any

from provegym.servers.email.state import violations
from tests.servers.email_desk import desk
from tests.servers.talk import agree

# -- sending -----------------------------------------------------------------------------------


def test_a_sent_email_starts_a_conversation_and_lies_in_sent() -> None:
    d = desk()
    receipt = d.ok("send_email", to=[d.friend()], subject="Lamp", body="Which one")
    message = d.mail.messages[receipt["id"]]
    assert d.mail.folders[message.folder_id].kind == "sent"
    assert message.account == d.account().id
    thread = d.ok("get_email_thread", thread_id=receipt["thread_id"])
    assert (thread["subject"], thread["total"]) == ("Lamp", 1)
    assert thread["emails"][0]["text"] == "Which one"


def test_an_addressee_counts_once_and_is_not_in_copy_as_well() -> None:
    d = desk()
    one, two = d.friend(), d.friend(1)
    sent = d.ok("send_email", to=[one, one.upper()], cc=[one, two], subject="Lamp", body="Hello")
    assert (sent["to"], sent["cc"]) == ([one], [two])


def test_a_new_addressee_is_collected_once() -> None:
    d = desk()
    for _ in range(2):
        d.ok("send_email", to=["ada.lovelace@engine.example"], subject="Lamp", body="Hello")
    found = d.ok("search_mail_contacts", query="lovelace")
    assert [c["name"] for c in found["contacts"]] == ["Ada Lovelace"]


def test_a_reply_joins_the_conversation_and_goes_to_the_sender() -> None:
    d = desk()
    message = d.received()
    reply = d.ok("reply_to_email", email_id=message.id, body="Agreed")
    assert reply["to"] == [message.sender_address]
    assert reply["subject"] == f"Re: {message.subject}"
    assert reply["thread_id"] == message.thread_id
    assert d.mail.messages[reply["id"]].reply_to_id == message.id
    again = d.ok("reply_to_email", email_id=reply["id"], body="One more thing")
    assert again["to"] == [message.sender_address]
    assert again["subject"] == f"Re: {message.subject}"


def test_reply_all_copies_everyone_but_the_user_and_the_sender() -> None:
    d = desk()
    message = next(
        m for m in d.mail.messages if m.cc and m.to == (d.account().id,) and not m.reply_to_id
    )
    good = [a for a in message.cc if d.mail.contacts.where(address=a, status="active")]
    assert good == list(message.cc)
    reply = d.ok("reply_to_email", email_id=message.id, body="To all", reply_all=True)
    assert reply["cc"] == list(message.cc)
    assert d.ok("reply_to_email", email_id=message.id, body="To one")["cc"] == []


def test_a_forward_quotes_the_email_and_carries_its_files() -> None:
    d = desk()
    file = next(
        a
        for a in d.mail.attachments
        if a.message_id
        and not (m := d.mail.messages[a.message_id]).restricted
        and m.account == d.account().id
        and all(f.size_kb < 3600 and f.filename[-4:] != ".exe" for f in d.mail.files(message=m.id))
        and not any(f.filename.endswith((".js", ".bat")) for f in d.mail.files(message=m.id))
    )
    source = d.mail.messages[file.message_id]
    sent = d.ok("forward_email", email_id=source.id, to=[d.friend()], comment="For you")
    body = d.ok("get_email", email_id=sent["id"])["body"]
    assert body.startswith("For you\n\n---- Forwarded message ----\nFrom: ")
    assert body.endswith(source.body)
    assert sent["thread_id"] != source.thread_id
    names = [f["filename"] for f in d.ok("get_email", email_id=sent["id"])["attachments"]]
    assert file.filename in names
    assert file.filename in {a.filename for a in d.mail.files(message=source.id)}


# -- drafts ------------------------------------------------------------------------------------


def test_a_draft_is_written_in_steps_and_sent_with_its_file() -> None:
    d = desk()
    draft = d.ok("create_email_draft", subject="Lamp", body="Which one")["id"]
    d.ok("update_email_draft", draft_id=draft, to=[d.friend()], subject="Lamps")
    file = d.file()
    held = d.ok("attach_to_email_draft", draft_id=draft, attachment_id=file.id)["attachments"]
    assert [f["filename"] for f in held] == [file.filename]
    sent = d.ok("send_email_draft", draft_id=draft)
    assert (sent["subject"], sent["to"], sent["attachments"]) == ("Lamps", [d.friend()], 1)
    assert d.mail.drafts[draft].message_id == sent["id"]
    assert d.mail.attachments[held[0]["id"]].message_id == sent["id"]
    assert not list(violations(d.mail))


def test_a_drafted_answer_goes_into_the_conversation_that_it_answers() -> None:
    d = desk()
    draft = next(x for x in d.mail.drafts if x.reply_to_id and x.status == "open")
    sent = d.ok("send_email_draft", draft_id=draft.id)
    assert sent["thread_id"] == d.mail.messages[draft.reply_to_id].thread_id


def test_files_must_fit_into_what_is_left_of_the_limit() -> None:
    d = desk()
    limit = d.account().max_kb
    full = next(a for a in d.mail.attachments if a.draft_id and a.size_kb == limit - 60)
    file = d.file(least=61)
    call = {"draft_id": full.draft_id, "attachment_id": file.id}
    error = d.refused("attach_to_email_draft", **call)
    assert error["code"] == "attachment_too_large"
    assert error["details"] == {"size_kb": limit - 60 + file.size_kb, "max_kb": limit}
    small = d.mail.attachments.update(file, size_kb=60)
    d.ok("attach_to_email_draft", draft_id=full.draft_id, attachment_id=small.id)


# -- order -------------------------------------------------------------------------------------


def test_unread_counts_follow_marks_and_moves() -> None:
    d = desk()
    message = d.received()
    if message.is_read:
        d.ok("mark_email", email_id=message.id, mark="unread")
    old = d.mail.folders[message.folder_id]
    trash = d.mail.folder(message.account, "trash")
    d.ok("move_email", email_id=message.id, folder_id=trash.id)
    assert d.mail.folders[old.id].unread == old.unread - 1
    assert d.mail.folders[trash.id].unread == trash.unread + 1
    d.ok("mark_email", email_id=message.id, mark="read")
    assert d.mail.folders[trash.id].unread == trash.unread
    d.ok("mark_email", email_id=message.id, mark="unstarred" if message.is_starred else "starred")
    assert d.mail.folders[trash.id].unread == trash.unread


def test_labels_are_made_put_on_found_and_taken_off() -> None:
    d = desk()
    message = d.received()
    assert d.ok("create_mail_label", name="Greenhouse")["label"] == "greenhouse"
    d.ok("label_email", email_id=message.id, label="Greenhouse", action="add")
    found = d.ok("search_emails", label="greenhouse")
    assert [e["id"] for e in found["emails"]] == [message.id]
    d.ok("label_email", email_id=message.id, label="greenhouse", action="remove")
    assert d.ok("search_emails", label="greenhouse")["total"] == 0
    assert "greenhouse" in d.ok("list_mail_folders")["labels"]


def test_search_leaves_out_spam_and_trash_unless_their_folder_is_given() -> None:
    d = desk()
    message = d.received()
    trash = d.mail.folder(message.account, "trash")
    d.ok("move_email", email_id=message.id, folder_id=trash.id)
    words = f"{message.subject} {message.sender}"
    hits = d.ok("search_emails", query=words, limit=50)["emails"]
    assert message.id not in {e["id"] for e in hits}
    hits = d.ok("search_emails", query=words, folder_id=trash.id, limit=50)["emails"]
    assert message.id in {e["id"] for e in hits}


def test_search_finds_by_file_sender_status_and_day_newest_first() -> None:
    d = desk()
    file = d.file()
    source = d.mail.messages[file.message_id]
    found = d.ok("search_emails", query=file.filename, limit=50)
    assert file.message_id in {e["id"] for e in found["emails"]}
    day = source.sent_at[:10]
    found = d.ok("search_emails", since=day, until=day, limit=50)
    assert {e["date"] for e in found["emails"]} == {day}
    found = d.ok("search_emails", sender=source.sender.upper(), limit=50)["emails"]
    assert {e["sender"] for e in found} == {source.sender}
    assert [e["date"] for e in found] == sorted((e["date"] for e in found), reverse=True)
    found = d.ok("search_emails", status="unread", limit=50)["emails"]
    assert found
    assert not any(e["is_read"] for e in found)


def test_pages_cover_all_folders_once() -> None:
    d = desk()
    seen, cursor = list[str](), ""
    while True:
        part = d.ok("list_mail_folders", limit=4, cursor=cursor)
        seen += [f["id"] for f in part["folders"]]
        cursor = part["next_cursor"]
        if not cursor:
            break
    assert seen == [f.id for f in d.mail.folders]
    work = d.ok("list_mail_folders", account=d.account().id, query="inb")["folders"]
    assert [f["name"] for f in work] == ["Inbox"]


# -- worlds ------------------------------------------------------------------------------------


def test_the_order_of_independent_writes_does_not_show_in_the_changes() -> None:
    one, two = desk(), desk()
    first, second = one.received(), one.received("Home")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("reply_to_email", {"email_id": first.id, "body": "Agreed"}),
        ("send_email", {"to": ["x.y@new.example"], "subject": "Lamp", "body": "Hello"}),
        ("create_mail_label", {"name": "greenhouse"}),
        ("mark_email", {"email_id": second.id, "mark": "starred"}),
        ("create_email_draft", {"subject": "Lamp", "body": "Hello"}),
    ]
    if second.is_starred:
        calls[3] = ("mark_email", {"email_id": second.id, "mark": "unstarred"})
    agree(one, calls, two)
