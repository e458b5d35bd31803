"""What the chapters need beside the layer: one style, one seed, one slider."""

from book_helpers.figures import figure, show
from book_helpers.session import progress, setup, show_error
from book_helpers.slides import Slides
from book_helpers.tokenizer import gpt2_tokenizer

__all__ = [
    "Slides",
    "figure",
    "gpt2_tokenizer",
    "progress",
    "setup",
    "show",
    "show_error",
]
