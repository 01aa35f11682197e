"""Local checkpoints: a tiny model with random weights, saved and loaded for real."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402

from provegym import worlds  # noqa: E402
from provegym.errors import InputError, Unrenderable  # noqa: E402
from provegym.llm.local import BatchedGenerator, LocalPolicies, hf_policy  # noqa: E402
from provegym.records import encode, write_atomic  # noqa: E402
from provegym.rollout.run import rollout_file  # noqa: E402
from provegym.servers import load  # noqa: E402
from provegym.types import Task, Turn  # noqa: E402

END = "<|im_end|>"
PLAIN = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] }}"
    "{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
WITH_TOOLS = "{% for t in tools or [] %}[{{ t['function']['name'] }}]{% endfor %}" + PLAIN
TOOLS = [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}]
ASK = [{"role": "user", "content": "Hi"}]
TASK = Task("t", "workflow", ())
PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10], [11, 12], [13, 14, 15]]


def make_tokenizer(template: str | None) -> Any:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {character: number for number, character in enumerate(alphabet)}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token=END, pad_token="<|pad|>", padding_side="left"
    )
    tokenizer.chat_template = template
    return tokenizer


def make_model(tokenizer: Any, context: int = 256) -> Any:
    torch.manual_seed(1)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=context,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        initializer_range=0.5,  # far from uniform, so that greedy choices are clear
    )
    return transformers.Qwen3ForCausalLM(config).eval()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer(PLAIN)


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    return make_model(tokenizer, context=4096)


@pytest.fixture
def batches(model: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the batches that the model runs."""
    sizes: list[int] = []
    run = model.generate

    def generate(**inputs: Any) -> Any:
        sizes.append(len(inputs["input_ids"]))
        return run(**inputs)

    monkeypatch.setattr(model, "generate", generate)
    return sizes


def episodes(generator: BatchedGenerator, prompts: Sequence[list[int]]) -> list[list[int]]:
    """One live episode a prompt, all at once."""

    async def one(prompt: list[int]) -> list[int]:
        with generator.episode():
            return await generator.generate(prompt)

    async def everyone() -> list[list[int]]:
        return await asyncio.gather(*map(one, prompts))

    return asyncio.run(everyone())


def test_answers_in_a_batch_are_those_of_each_prompt_alone(
    model: Any, tokenizer: Any, batches: list[int]
) -> None:
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=8)
    alone = [episodes(generator, [prompt])[0] for prompt in PROMPTS]
    assert episodes(generator, PROMPTS) == alone
    assert batches == [1] * 5 + [5]


def test_greedy_answers_are_those_of_plain_generation(model: Any, tokenizer: Any) -> None:
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=8)
    ids = torch.tensor([PROMPTS[2]])
    plain = model.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False
    )
    assert episodes(generator, [PROMPTS[2]]) == [plain[0, 6:].tolist()]


def test_batches_are_no_larger_than_allowed(model: Any, tokenizer: Any, batches: list[int]) -> None:
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=2, max_batch=2)
    assert len(episodes(generator, PROMPTS)) == 5
    assert batches == [2, 2, 1]


def test_sampling_repeats_itself_under_a_seed(model: Any, tokenizer: Any) -> None:
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=8, temperature=5.0)
    answers = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        answers.append(episodes(generator, PROMPTS))
    assert answers[0] == answers[1] != answers[2]


def test_an_answer_ends_with_its_end_token(tokenizer: Any) -> None:
    model = make_model(tokenizer)
    free = BatchedGenerator(model, tokenizer, max_new_tokens=6)
    long = episodes(free, [[1, 2, 3]])[0]
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, long[2]]
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=6)
    short, other = episodes(generator, [[1, 2, 3], [4]])
    assert short == long[: long.index(long[2]) + 1]
    assert generator.without_end(short) == short[:-1]
    assert generator.without_end(long[:2]) == long[:2]
    assert other


def test_the_model_waits_for_every_live_episode(
    model: Any, tokenizer: Any, batches: list[int]
) -> None:
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=2)

    async def slow(steps: int) -> None:
        with generator.episode():
            for _ in range(steps):
                await asyncio.sleep(0)
            await generator.generate([1])

    async def quits() -> None:
        with generator.episode():
            for _ in range(40):
                await asyncio.sleep(0)

    async def everyone() -> None:
        await asyncio.gather(slow(0), slow(5), slow(20), quits())

    asyncio.run(everyone())
    assert batches == [3]


def test_a_failing_model_tells_every_waiting_episode(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generate(**inputs: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(model, "generate", generate)
    generator = BatchedGenerator(model, tokenizer)

    async def one() -> str:
        with generator.episode():
            try:
                await generator.generate([1])
            except RuntimeError as error:
                return str(error)
            return ""

    async def everyone() -> list[str]:
        return list(await asyncio.gather(one(), one()))

    assert asyncio.run(everyone()) == ["out of memory"] * 2


def test_a_cancelled_request_is_left_out(model: Any, tokenizer: Any, batches: list[int]) -> None:
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=2)

    async def one(prompt: list[int]) -> list[int]:
        with generator.episode():
            return await generator.generate(prompt)

    async def everyone() -> None:
        with generator.episode():
            doomed, kept = asyncio.create_task(one([1])), asyncio.create_task(one([2]))
            await asyncio.sleep(0)
            doomed.cancel()
        assert await kept
        assert doomed.cancelled()

    asyncio.run(everyone())
    assert batches == [1]


def saved(folder: Path, template: str | None, context: int = 256) -> str:
    tokenizer = make_tokenizer(template)
    make_model(tokenizer, context).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def ask(factory: LocalPolicies) -> Any:
    async def once() -> Any:
        policy = factory(TASK, 0)
        reply = await policy(ASK, TOOLS)
        await policy.aclose()
        return reply

    return asyncio.run(once())


def test_a_saved_checkpoint_answers_and_counts_its_tokens(tmp_path: Path) -> None:
    factory = hf_policy(saved(tmp_path, WITH_TOOLS), max_new_tokens=5)
    reply = ask(factory)
    prompt = "[pay]<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    tokenizer = make_tokenizer(WITH_TOOLS)
    assert factory.prompt_ids(ASK, TOOLS) == tokenizer(prompt)["input_ids"]
    assert reply.usage.prompt_tokens == len(factory.prompt_ids(ASK, TOOLS))
    assert 1 <= reply.usage.completion_tokens <= 5
    assert ask(factory) == reply


def test_a_template_without_tools_gets_them_as_text(tmp_path: Path) -> None:
    factory = hf_policy(saved(tmp_path, PLAIN), max_new_tokens=1)
    chat = [{"role": "system", "content": "Be brief."}, *ASK]
    text = make_tokenizer(PLAIN).decode(factory.prompt_ids(chat, TOOLS))
    assert '"name": "pay"' in text


def test_the_text_of_an_answer_is_parsed(tmp_path: Path) -> None:
    factory = hf_policy(saved(tmp_path, PLAIN))
    text = '<tool_call>{"name": "pay", "arguments": {}}</tool_call>'
    ids = make_tokenizer(PLAIN)(text + END)["input_ids"]
    reply = factory.reply(9, ids)
    assert [(c.name, c.arguments_text) for c in reply.calls] == [("pay", "{}")]
    assert (reply.form, reply.raw, reply.usage.prompt_tokens) == ("tags", text, 9)


def test_a_conversation_longer_than_the_models_context_overflows(tmp_path: Path) -> None:
    path = saved(tmp_path, WITH_TOOLS, context=64)
    assert len(hf_policy(path).prompt_ids(ASK, TOOLS)) == 48
    assert not ask(hf_policy(path, max_new_tokens=16)).overflow
    assert ask(hf_policy(path, max_new_tokens=17)).overflow


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ raise_exception('no system role here') }}", "no system role here"),
        ("{{ messages[0].content + 1 }}", "can only concatenate str"),
        ("{{ messages[0].nothing.at.all }}", "has no attribute 'nothing'"),
    ],
)
def test_a_conversation_that_the_template_refuses_is_our_fault_and_says_why(
    template: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(Unrenderable, match=f"refuses a conversation of user: .*{why}"):
        ask(hf_policy(saved(tmp_path, template)))


def test_a_checkpoint_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no chat template"):
        hf_policy(saved(tmp_path, None))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", '{"model_type": "nope"}'),
        ("config.json", "{"),
        ("model.safetensors", "x"),
        ("tokenizer.json", "{}"),
    ],
)
def test_a_checkpoint_of_broken_files_is_refused_in_one_line(
    name: str, text: str, tmp_path: Path
) -> None:
    folder = saved(tmp_path, PLAIN)
    (Path(folder) / name).write_text(text)
    with pytest.raises(InputError, match=r"\Acannot load the checkpoint '.*': .+\Z"):
        hf_policy(folder)


def test_one_episode_may_write_less_than_the_others(tmp_path: Path) -> None:
    factory = hf_policy(saved(tmp_path, WITH_TOOLS, context=64), max_new_tokens=16)
    full = ask(factory)

    async def beside_another() -> tuple[Any, Any]:
        short, other = factory(TASK, 0), factory(TASK, 0)
        short.limit(1)
        return await asyncio.gather(short(ASK, TOOLS), other(ASK, TOOLS))

    short, other = asyncio.run(beside_another())
    assert (short.usage.completion_tokens, short.cut) == (1, True)
    assert other == full


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no checkpoint of transformers"):
        hf_policy(str(tmp_path))


def test_a_checkpoint_plays_episodes_in_full_batches(
    model: Any, tokenizer: Any, batches: list[int], tmp_path: Path
) -> None:
    tools = tuple(load("banking").tools[name].schema for name in ("list_accounts", "list_loans"))
    turns = (Turn(user="What accounts do I have?"), Turn(user="Thanks."))
    tasks = [
        Task(f"t{n}", "workflow", turns, servers=("banking",), seed=n, tools=tools)
        for n in range(5)
    ]
    write_atomic(tmp_path / "tasks.jsonl", map(encode, tasks))
    generator = BatchedGenerator(model, tokenizer, max_new_tokens=4)
    summary = rollout_file(
        tmp_path / "tasks.jsonl",
        "hf:tiny",
        tmp_path / "traces.jsonl",
        open_session=worlds.open_session,
        make_policy=LocalPolicies(generator, tokenizer, lenient=True),
        concurrency=3,
    )
    assert summary.stop_reasons == {"done": 5}
    assert batches == [3, 3, 2, 2]  # two turns of three episodes, then of the other two
    assert 10 <= summary.usage.completion_tokens <= 40
