"""Policies by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from provegym.errors import InputError, UnknownName
from provegym.llm.client import OpenAIPolicies
from provegym.llm.factory import policy_factory
from provegym.llm.scripted import ScriptedServer
from provegym.rollout.policies import POLICIES


@pytest.mark.parametrize("name", ["oracle", "noop", "random"])
def test_policies_without_a_model_go_by_their_names(name: str) -> None:
    assert policy_factory(name) is POLICIES[name]


@pytest.mark.parametrize("name", ["gpt", "openai:", "hf:", "hf", "", "http:x"])
def test_any_other_name_is_refused_with_the_list(name: str) -> None:
    with pytest.raises(UnknownName, match="openai:MODEL"):
        policy_factory(name)


def test_a_model_name_may_hold_colons_and_slashes(endpoint: ScriptedServer) -> None:
    factory = policy_factory("openai:org/model:7b", base_url=endpoint.url)
    assert isinstance(factory, OpenAIPolicies)


@pytest.mark.parametrize(
    ("files", "lacks"),
    [
        ([], "config.json"),
        (["config.json"], "weights"),
        (["config.json", "model.safetensors"], "tokenizer"),
    ],
)
def test_a_folder_that_is_no_checkpoint_is_refused_by_what_it_lacks(
    tmp_path: Path, files: list[str], lacks: str
) -> None:
    pytest.importorskip("transformers")
    for name in files:
        (tmp_path / name).write_text("{}")
    told = f"'{tmp_path}' is no checkpoint of transformers: it has no {lacks}; give the folder"
    with pytest.raises(InputError, match=f"^{re.escape(told)}"):
        policy_factory(f"hf:{tmp_path}")


def test_a_checkpoint_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no checkpoint at '/no/such/folder'"):
        policy_factory("hf:/no/such/folder")
