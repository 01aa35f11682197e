"""BFCL's own command line, for one more model: whatever the endpoint at OPENAI_BASE_URL serves.

Run by the interpreter of BFCL's environment, with its arguments. The command line imports the
libraries of two dozen vendors when it starts; none is used here, so empty modules stand in.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import MutableSequence
from types import ModuleType
from typing import Any

VENDORS = {
    *("anthropic", "boto3", "cohere", "datamodel_code_generator", "google", "mistralai"),
    *("qwen_agent", "writerai", "httpx", "faiss", "sentence_transformers", "transformers"),
    *("rank_bm25", "networkx", "html2text", "serpapi", "torch", "bs4", "huggingface_hub"),
}
NAME = "provegym-FC"


class Empty(ModuleType):
    """A module that has every name and does nothing."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - what ModuleType declares

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {}) if name[0].isupper() else Empty(name)


class Vendors(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for each vendor's library that is not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """A module for `name`, if it is a vendor's."""
        known = name.split(".")[0] in VENDORS
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: Any) -> ModuleType:
        """The empty module."""
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def main() -> None:
    """Register the model and hand over to BFCL."""
    sys.meta_path.append(Vendors())  # after the finders of what is installed
    from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING, ModelConfig
    from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

    class Handler(OpenAICompletionsHandler):  # type: ignore[misc]
        """The stock handler, whose client waits for the relay and does not ask twice."""

        def _build_client_kwargs(self) -> dict[str, Any]:
            return {**super()._build_client_kwargs(), "timeout": None, "max_retries": 0}

    MODEL_CONFIG_MAPPING[NAME] = ModelConfig(
        model_name=os.environ["BFCL_ROLE"],
        display_name=NAME,
        url="",
        org="",
        license="",
        model_handler=Handler,
        is_fc_model=True,
        underscore_to_dot=True,
    )
    from bfcl_eval.__main__ import cli

    cli()


if __name__ == "__main__":
    main()
