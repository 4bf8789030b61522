"""Inputs of the third-party programs, made from a fixed seed: sequences, a picture, a video, source files, a molecule.

Their sizes are chosen so that one run of a program takes half a second to three seconds on one thread.
"""

import json
import random
import zlib
from pathlib import Path

BASES, AMINO_ACIDS = "ACGT", "ACDEFGHIKLMNPQRSTVWY"
GENOME, READS, READ = 400_000, 20_000, 100
SCENE = """#version 3.7;
global_settings { assumed_gamma 1.0 }
camera { location <0, 3, -8> look_at <0, 1, 0> }
light_source { <10, 15, -10> color rgb 1 area_light <2, 0, 0>, <0, 0, 2>, 4, 4 }
plane { y, 0 pigment { checker color rgb 1 color rgb 0.2 } finish { reflection 0.3 } }
"""
# The optimised geometry of water, in angstrom. Copies of it form a cluster of any size.
WATER = (("O", 0.0, 0.0, 0.0), ("H", 0.757, 0.586, 0.0), ("H", -0.757, 0.586, 0.0))
SKLEARN = """import sys

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

x, y = make_classification(3000, 40, n_informative=20, random_state=1)
RandomForestClassifier(60, n_jobs=int(sys.argv[1]), random_state=1).fit(x, y)
"""
NUMBA = """import math
import sys

import numba


@numba.njit(parallel=True)
def integral(steps):
    total = 0.0
    for k in numba.prange(steps):
        total += math.sin(k * 1e-7) * math.exp(-k * 1e-9)
    return total


numba.set_num_threads(int(sys.argv[1]))
print(integral(40_000_000))
"""
POLARS = """import polars

rows = 6_000_000
frame = polars.select(key=polars.int_range(rows) * 7919 % 10007, value=polars.int_range(rows) * 104729 % 1000003)
for _ in range(4):
    print(frame.lazy().group_by("key").agg(polars.col("value").median()).sort("key").collect().height)
"""
DFTD4 = """import sys

import numpy as np
from dftd4.interface import DampingParam, DispersionModel

rows = [line.split() for line in open(sys.argv[1]).read().splitlines()[2:]]
numbers = np.array([{"O": 8, "H": 1}[row[0]] for row in rows])
positions = np.array([[float(value) for value in row[1:]] for row in rows]) / 0.529177
model = DispersionModel(numbers, positions)
print(model.get_dispersion(DampingParam(method="pbe"), grad=True)["energy"])
"""


def make_inputs(folder: Path) -> None:
    """Write all inputs into `folder`. Every call writes the same bytes."""
    draw = random.Random(20)
    folder.mkdir(parents=True, exist_ok=True)
    genome = "".join(draw.choices(BASES, k=GENOME))
    (folder / "genome.fasta").write_text(f">genome\n{genome}\n")
    with (folder / "reads.fastq").open("w") as file:
        for read in range(READS):
            start = draw.randrange(GENOME - READ)
            file.write(f"@read{read}\n{mutated(genome[start : start + READ], BASES, 0.01, draw)}\n+\n{'I' * READ}\n")
    write_family(folder / "proteins.fasta", AMINO_ACIDS, (90, 200), draw)
    write_family(folder / "alignment.fasta", BASES, (100, 350), draw)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(3000)]
    text = " ".join(draw.choices(words, k=600_000))
    (folder / "text.txt").write_text("\n".join(text[at : at + 100] for at in range(0, len(text), 100)))
    write_pictures(folder, draw)
    spheres = (
        f"sphere {{ <{draw.uniform(-5, 5):.3f}, {draw.uniform(0, 4):.3f}, {draw.uniform(-3, 5):.3f}>, 0.4 pigment "
        f"{{ color rgbt <{draw.random():.2f}, {draw.random():.2f}, {draw.random():.2f}, 0.3> }} "
        f"finish {{ reflection 0.2 specular 0.6 }} interior {{ ior 1.4 }} }}"
        for _ in range(60)
    )
    (folder / "scene.pov").write_text(SCENE + "\n".join(spheres) + "\n")
    write_water(folder / "drop.xyz", 4)
    write_water(folder / "lake.xyz", 5)
    for name, script in {"forest": SKLEARN, "integral": NUMBA, "groups": POLARS, "dispersion": DFTD4}.items():
        (folder / f"{name}.py").write_text(script)
    write_sources(folder / "sources", draw)
    write_site(folder / "site", words, draw)


def mutated(sequence: str, letters: str, share: float, draw: random.Random) -> str:
    return "".join(draw.choice(letters) if draw.random() < share else letter for letter in sequence)


def write_family(path: Path, letters: str, size: tuple[int, int], draw: random.Random) -> None:
    """Write a family of related sequences as FASTA; `size` is the number of sequences and their length."""
    members, length = size
    family = ["".join(draw.choices(letters, k=length))]
    while len(family) < members:
        family.append(mutated(draw.choice(family), letters, 0.2, draw))
    path.write_text("".join(f">s{number}\n{sequence}\n" for number, sequence in enumerate(family)))


def write_pictures(folder: Path, draw: random.Random) -> None:
    """Write a coloured picture with noise (PPM) and a video of a moving pattern (YUV4MPEG2)."""
    width, height = 800, 600
    noise = draw.randbytes(width * height)
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            pixels += bytes(((x * y >> 8) & 255, (x + noise[y * width + x] // 8) & 255, y & 255))
    (folder / "picture.ppm").write_bytes(b"P6\n%d %d\n255\n" % (width, height) + pixels)
    width, height = 640, 360
    grain = draw.randbytes(width * 16)
    with (folder / "video.y4m").open("wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F30:1 Ip A1:1 C420jpeg\n" % (width, height))
        for frame in range(60):
            rows = (
                bytes(
                    (((x + 3 * frame) * (y + frame) >> 7) + grain[x + width * (y % 16)] // 16) & 255
                    for x in range(width)
                )
                for y in range(height)
            )
            file.write(b"FRAME\n" + b"".join(rows) + bytes([128]) * (width * height // 2))


def write_water(path: Path, side: int) -> None:
    """Write a cube of side³ water molecules."""
    rows = [
        f"{atom} {x + 3.1 * i:.4f} {y + 3.1 * j:.4f} {z + 3.1 * k:.4f}"
        for i in range(side)
        for j in range(side)
        for k in range(side)
        for atom, x, y, z in WATER
    ]
    path.write_text(f"{len(rows)}\nwater\n" + "\n".join(rows) + "\n")


def write_sources(folder: Path, draw: random.Random) -> None:
    """Write Python modules for linters, and JavaScript modules for a bundler."""
    folder.mkdir(exist_ok=True)
    for module in range(10):
        lines = ['"""A module."""', ""]
        for number in range(40):
            a, b = draw.randint(2, 99), draw.randint(2, 99)
            lines += ["", f"def function_{number}(first, second):", f'    """Add {a}."""', "    total = 0"]
            lines += [
                f"    for index in range({a}):",
                f"        if index % {b} == first:",
                "            total += second",
            ]
            lines += [f'    return {{"total": total, "name": "{a}", "rest": [first, second, {b}]}}', ""]
        (folder / f"module_{module}.py").write_text("\n".join(lines))
    names = range(800)
    for module in names:
        body = "\n".join(
            f"export const f{k} = ({{ a{k}, b }}) => [a{k} ** {draw.randint(1, 9)}, b?.c ?? {json.dumps(str(k))}]"
            for k in range(60)
        )
        (folder / f"module_{module}.js").write_text(body + "\n")
    imports = "".join(f'import * as m{module} from "./module_{module}.js";\n' for module in names)
    (folder / "main.js").write_text(f"{imports}console.log({', '.join(f'm{module}' for module in names)});\n")


def write_site(folder: Path, words: list[str], draw: random.Random) -> None:
    """Write a site of Markdown pages for a static site generator."""
    for part in ("content", "layouts/_default"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text('baseURL = "https://example.org/"\ntitle = "site"\n')
    page = (
        "<html><title>{{ .Title }}</title>{{ .TableOfContents }}{{ .Content }}{{ range first 20 .Site.RegularPages }}"
    )
    (folder / "layouts/_default/single.html").write_text(
        page + "<a href={{ .Permalink }}>{{ .Title }}</a>{{ end }}</html>"
    )
    (folder / "layouts/_default/list.html").write_text("{{ range .Pages }}<li>{{ .Title }}{{ end }}")
    for number in range(400):
        parts = (
            f"## {draw.choice(words)}\n\n{' '.join(draw.choices(words, k=200))}\n\n```go\nx := {number}\n```\n"
            for _ in range(6)
        )
        (folder / "content" / f"page-{number}.md").write_text(f"---\ntitle: Page {number}\n---\n" + "\n".join(parts))


def checksum(folder: Path) -> int:
    """Return the CRC-32 of all files, which shows whether two machines have the same inputs."""
    total = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total = zlib.crc32(path.read_bytes(), total)
    return total
