"""Fixtures of the layer's tests, which need torch and pytest to be collected."""

import warnings

import pytest

with warnings.catch_warnings():
    # PyTorch without NumPy, which nothing here needs, says so when it is imported.
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")
    import torch

    from embedding_layer import TransformerEmbeddings

HAS_ACCELERATOR = torch.accelerator.is_available()


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def emb(seed):
    """A small layer in eval mode."""
    return TransformerEmbeddings(50, 8, 16).eval()


@pytest.fixture(
    params=[
        "cpu",
        pytest.param(
            "accelerator",
            marks=pytest.mark.skipif(not HAS_ACCELERATOR, reason="no accelerator here"),
        ),
    ]
)
def device(request):
    """The CPU, and this machine's accelerator where there is one."""
    if request.param == "accelerator":
        return torch.accelerator.current_accelerator()
    return torch.device("cpu")
