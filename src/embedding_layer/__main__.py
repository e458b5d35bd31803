"""The sanity check: python -m embedding_layer"""

import sys

import torch

from embedding_layer.layer import TransformerEmbeddings


def main() -> int:
    """Run the layer once at GPT-2's size; return 0 if the shape is right."""
    vocab_size, d_model, max_seq_len = 50257, 768, 1024
    emb = TransformerEmbeddings(vocab_size, d_model, max_seq_len)
    input_ids = torch.randint(0, vocab_size, (2, 8))  # (batch, seq_len)
    output = emb(input_ids)  # (batch, seq_len, d_model)
    print("input shape: ", tuple(input_ids.shape))
    print("output shape:", tuple(output.shape))
    if output.shape != (2, 8, d_model):
        print(f"wrong output shape, expected {(2, 8, d_model)}", file=sys.stderr)
        return 1
    print("the module ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
