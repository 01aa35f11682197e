"""The readers, on excerpts of the published files; counts were made by eye."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from provegym.dataset.benchmarks import load
from provegym.dataset.overlap import Item, Shape, entities
from provegym.errors import InputError, UnknownName

EXCERPTS = Path(__file__).parents[2] / "examples" / "benchmarks"


def items(name: str, path: Path | None = None) -> dict[str, Item]:
    return {item.id: item for item in load(name, path or EXCERPTS / name).items}


def test_bfcl_has_questions_with_the_calls_of_their_answers() -> None:
    found = items("bfcl")
    first = found["multi_turn_base_0"]
    assert len(first.texts) == 4
    assert first.texts[0].startswith("Move 'final_report.pdf' within document directory")
    assert " ".join(first.calls) == "cd mkdir mv cd grep sort cd mv cd diff"
    assert "temp" in first.values  # an argument of a call
    assert "Kj8#mP9$vL2" in first.values  # in the data base that it starts from
    assert len(found["multi_turn_miss_func_0"].texts) == 4
    assert found["simple_python_1"].calls == ("math.factorial",)
    assert found["simple_python_1"].tools == (Shape("math.factorial", ("number",)),)
    assert found["memory_3-customer-3"].calls == ()


def test_bfcls_tools_of_multi_turn_questions_stand_in_files_of_their_own() -> None:
    documented = items("bfcl")["gorilla_file_system.json"].tools
    assert {tool.name for tool in documented} == {
        *("cd", "diff", "find", "grep", "mkdir", "mv", "sort")
    }
    assert Shape("grep", ("file_name", "pattern")) in documented


def test_one_file_of_bfcl_is_read_with_what_belongs_to_it() -> None:
    alone = items("bfcl", EXCERPTS / "bfcl" / "BFCL_v4_multi_turn_base.json")
    asked = [name for name, item in alone.items() if item.texts]
    assert asked == ["multi_turn_base_0", "multi_turn_base_152"]
    assert "gorilla_file_system.json" in alone


def test_tau2_has_tasks_data_bases_and_tools_from_code_that_is_not_run() -> None:
    found = items("tau2")
    task = found["airline/1"]
    assert task.calls == ("get_user_details", "get_reservation_details")
    assert "Q69X3R" in task.values
    assert any("You are Raj Sanchez." in text for text in task.texts)
    assert found["mock/create_task_1"].texts[1].startswith("User needs to create a task")
    assert "emma_kim_9957" in entities(found["airline/db.json"])
    assert set(found["mock/tools.py"].tools) == {
        Shape("create_task", ("user_id", "title", "description")),
        Shape("get_users", ()),
        Shape("update_task_status", ("task_id", "status")),
        Shape("transfer_to_human_agents", ("summary",)),
    }


def test_teval_has_plans_single_calls_and_answers() -> None:
    found = items("teval")
    plan = found["plan_json_v1/query_0_1"]
    assert plan.calls == ("LibraryDesk.search_books", "LibraryDesk.reserve_book", "FinishAction")
    assert plan.tools == (
        Shape("LibraryDesk.search_books", ("subject", "maxResults")),
        Shape("LibraryDesk.reserve_book", ("shelfMark", "readerId")),
    )
    assert plan.texts[0].startswith("Look for a book on the history of lighthouses")
    assert found["instruct_v1/instruct_0"].calls == ("LibraryDesk.search_books",)
    assert found["instruct_v1/instruct_0"].tools[0].name == "LibraryDesk.search_books"
    assert found["review_str_v1/17"].calls == ()
    assert "20417735" in entities(found["review_str_v1/17"])


def test_a_version_is_the_release_and_the_content_wherever_the_files_lie(tmp_path: Path) -> None:
    here = load("bfcl", EXCERPTS / "bfcl").version
    shutil.copytree(EXCERPTS / "bfcl", tmp_path / "deep" / "data")
    assert load("bfcl", tmp_path).version == here
    assert here.startswith("v4, sha256 ")
    answers = tmp_path / "deep" / "data" / "possible_answer" / "BFCL_v4_simple_python.json"
    answers.write_text(answers.read_text("utf-8").replace("5", "6"), "utf-8")
    assert load("bfcl", tmp_path).version != here


def test_what_is_not_a_benchmarks_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown benchmark 'acebench'; known: bfcl, tau2, teval"):
        load("acebench", tmp_path)
    with pytest.raises(InputError, match="nowhere: no such file or folder"):
        load("bfcl", tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no tasks of tau2-bench"):
        load("tau2", tmp_path)


@pytest.mark.parametrize(
    ("name", "file", "text", "told"),
    [
        ("bfcl", "BFCL_v4_x.json", '{"id": "a", "question": []}\n{broken\n', "BFCL_v4_x.json:2"),
        ("bfcl", "BFCL_v4_x.json", '{"id": "a"}\n', "is not as BFCL is published: KeyError"),
        ("bfcl", "BFCL_v4_x.json", "[1]\n", "is not as BFCL is published: TypeError"),
        ("tau2", "tasks.json", "{broken", "tasks.json is not as it is published"),
        ("tau2", "tools.py", "def broken(", "tools.py is not as it is published"),
        ("teval", "plan_v1.json", "[]", "is not as T-Eval is published: AttributeError"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, file: str, text: str, told: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=told):
        load(name, tmp_path)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Where the answers belong of a folder with one question of BFCL."""
    (tmp_path / "possible_answer").mkdir()
    question = '{"id": "a", "question": [[{"role": "user", "content": "Go"}]]}\n'
    (tmp_path / "BFCL_v4_x.json").write_text(question)
    return tmp_path / "possible_answer" / "BFCL_v4_x.json"


def test_calls_of_an_answer_have_arguments_with_and_without_names(
    tmp_path: Path, answers: Path
) -> None:
    answers.write_text('{"id": "a", "ground_truth": [["A.cd(\'up\', to=[\'down\', x])"], []]}\n')
    assert items("bfcl", tmp_path)["a"] == Item(
        "a", calls=("A.cd",), values=("up", "['down', x]"), texts=("Go",)
    )


def test_an_answer_that_is_no_call_is_named(tmp_path: Path, answers: Path) -> None:
    for answer in ("cd", "cd(", "1 + 1"):
        answers.write_text(f'{{"id": "a", "ground_truth": [["{answer}"]]}}\n')
        with pytest.raises(InputError, match="the answer of a is not as it is published"):
            load("bfcl", tmp_path)


def test_a_large_binary_file_is_refused_in_one_short_line(tmp_path: Path) -> None:
    path = tmp_path / "BFCL_v4_x.json"
    path.write_bytes(b"\xff" * 1_000_000)
    with pytest.raises(InputError, match="can't decode byte 0xff") as caught:
        load("bfcl", path)
    assert len(str(caught.value)) < 300
