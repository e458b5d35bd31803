"""What several of the layer's tests ask for."""

import pytest
import torch

TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])
IN_2_6 = TORCH < (2, 7)


def refuses(kind, call, *words):
    """`call` raises `kind`; its message holds all the words, and is returned."""
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    for word in words:
        assert word in message, (word, message)
    return message
