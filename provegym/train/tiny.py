"""A random Qwen3 model of a few hundred thousand parameters and its own tokenizer, for tests.

It knows nothing: supervised fine-tuning has to teach it the form of a call before reinforcement
learning sees any difference between rollouts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from provegym.train import chat

PAD = "<|endoftext|>"
SPECIAL = [PAD, chat.IM_START, chat.IM_END]
MARKUP = [chat.CALL, chat.CALL_END, chat.RESPONSE, chat.RESPONSE_END]


def tokenizer(corpus: Iterable[str], vocabulary: int = 1024) -> Any:
    """A byte-level BPE trained on rendered conversations. Deterministic; any text can be encoded.

    The tags of calls and results are one token each, and ordinary ones: they survive decoding.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    # Digits one by one, so that an amount is copied digit by digit and never meets a new token.
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(corpus, trainer)
    backend.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKUP])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=chat.IM_END, pad_token=PAD, padding_side="left"
    )
    wrapped.chat_template = chat.CHAT_TEMPLATE
    return wrapped


def model(tokenizer: Any, seed: int = 0, *, width: int = 96, layers: int = 2) -> Any:
    """The model, with weights drawn from `seed` alone (the global generator is left as it was)."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=width // 4,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        provegym_chat=chat.CHAT_VERSION,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        return Qwen3ForCausalLM(config).eval()
