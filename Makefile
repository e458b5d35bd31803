# make book      build the site and open it      make test     prove everything
# make serve     the site at 127.0.0.1:8000      make sync     cells -> package
# make execute   run chapters, store outputs     make clean    remove what was made
# make lint      faults, format, types
# make release VERSION=0.3.0     make address URL=https://github.com/you/book
# make pins      requirements.txt -> constraints.txt, for all promised Pythons
# make portable  stored outputs under other instruction sets and thread counts
# make colab     every chapter alone, with the versions that Colab has
# make lighthouse  the site's speed and reach, scored; needs a network once
PYTHON ?= python3
PORT ?= 8000
PY = .venv/bin/python
# Where it is set, each of a hundred Pythons would compile PyTorch for itself.
export PYTHONDONTWRITEBYTECODE =
NBVAL = --nbval --nbval-current-env --nbval-sanitize-with tests/book/measured.txt

CHAPTERS := $(wildcard notebooks/*.ipynb)
PAGES := $(shell find book -type f -not -path '*/vendor/*' -not -path '*/__pycache__/*') \
	$(CHAPTERS) _config.yml _toc.yml tools/chapter.py tools/live.py tools/pages.py \
	$(wildcard src/*/*.py benchmarks/*.json)
BUILT = _build/html/.built

.PHONY: book pins lint test release address test-layer test-matrix portable colab lighthouse serve sync execute env clean

book: $(BUILT)
	@$(PY) tools/pages.py open

test: $(BUILT)
	@$(PY) tools/vendor.py browser
	@$(PY) -m pytest -n 3 --dist loadfile $(NBVAL) notebooks tests

lint: env
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy

test-layer: env
	@$(PY) -m pytest -n 2 --dist loadfile tests/layer

# make test-matrix PAIRS="3.10/2.6.0": the layer's tests on other versions.
test-matrix: env
	@$(PY) tools/matrix.py $(PAIRS)

portable: env
	ATEN_CPU_CAPABILITY=default BOOK_THREADS=1 $(PY) -m pytest -q -n 2 --dist loadfile $(NBVAL) notebooks
	ATEN_CPU_CAPABILITY=avx2 BOOK_THREADS=2 $(PY) -m pytest -q -n 2 --dist loadfile $(NBVAL) notebooks

colab: env
	@$(PY) tools/colab.py $(NB)

lighthouse: $(BUILT)
	@$(PY) benchmarks/lighthouse.py

serve: $(BUILT)
	@$(PY) tools/pages.py serve $(PORT)

sync: env
	@$(PY) tools/sync.py

# make execute NB=notebooks/01_token_ids.ipynb runs one chapter.
execute: env
	@$(PY) tools/sync.py
	@$(PY) tools/execute.py $(NB)

env:
	@$(PYTHON) tools/env.py
	@$(PY) tools/vendor.py

pins:
	@$(PYTHON) tools/pins.py

release: env
	@$(PY) tools/release.py version $(VERSION)

address: env
	@$(PY) tools/release.py address $(URL)

# Without the live page's rows it is not done: the next call tries again.
$(BUILT): $(PAGES) requirements.txt constraints.txt pyproject.toml | env
	@$(PY) tools/live.py
	@$(PY) tools/pages.py build
	@if [ -e book/_static/table/made-from ]; then touch $@; fi

clean:
	rm -rf _build .venv book/_static/vendor book/_static/table
