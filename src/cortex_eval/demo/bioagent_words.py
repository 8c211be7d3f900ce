"""What the sample bioinformatics agent knows by name, and how it finds names and numbers in a sentence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

Entities = dict[str, Any]  # Any: a text, a number, or a list of either

_LETTER = r"[\w\u0900-\u097f]"
"""`\\w` alone takes the vowel signs of Hindi for the end of a word."""
_QUOTES_AND_DASHES = {0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2018: "'", 0x2019: "'", 0x201C: '"'}

_SOFTWARE = (
    "STAR",
    "HISAT2",
    "salmon",
    "GATK",
    "DeepVariant",
    "Mutect2",
    "DESeq2",
    "edgeR",
    "fastp",
    "MACS2",
    "Kraken2",
    "MetaPhlAn",
    "Flye",
    "Trinity",
    "Bismark",
    "Seurat",
    "Cell Ranger",
    "Space Ranger",
    "MultiQC",
    "Bowtie2",
    "bwa",
    "minimap2",
    "samtools",
    "featureCounts",
    "HiC-Pro",
)

# Planted: no yeast and no worms, and tuberculosis and malaria only in English (weaknesses 4 and 10).
NAMES: Mapping[str, Mapping[str, str]] = {
    "data_type": {
        "RNA-seq": "rna-seq, rnaseq, आरएनए-सीक",
        "scRNA-seq": "scrna-seq, single-cell rna-seq, single-cell sequencing, single-cell",
        "small RNA-seq": "small rna-seq, small rnas",
        "ATAC-seq": "atac-seq",
        "ChIP-seq": "chip-seq",
        "WGS": "wgs, whole-genome sequencing",
        "WES": "wes, whole-exome, exome",
        "WGBS": "wgbs",
        "bisulfite sequencing": "bisulfite sequencing",
        "methylation": "methylation",
        "Hi-C": "hi-c",
        "Nanopore": "nanopore",
        "PacBio": "pacbio",
        "Ribo-seq": "ribo-seq, ribosome profiling",
        "metagenomics": "metagenomics, metagenomes, metagenome",
        "proteomics": "proteomics",
        "microarray": "microarray, microarrays",
        "spatial transcriptomics": "spatial transcriptomics",
    },
    "disease": {
        "breast cancer": "breast cancer, brca, स्तन कैंसर",
        "triple-negative breast cancer": "triple-negative breast cancer",
        "lung adenocarcinoma": "lung adenocarcinoma",
        "colorectal cancer": "colorectal cancer, colorectal tumours, colorectal tumors",
        "ovarian cancer": "ovarian cancer",
        "melanoma": "melanoma",
        "glioma": "glioma",
        "glioblastoma": "glioblastoma",
        "Crohn's disease": "crohn's disease",
        "Alzheimer's disease": "alzheimer's disease, alzheimer's",
        "Parkinson's disease": "parkinson's disease",
        "Huntington's disease": "huntington's disease",
        "ALS": "als",
        "asthma": "asthma, अस्थमा, दमा",
        "psoriasis": "psoriasis",
        "lupus": "lupus",
        "sepsis": "sepsis",
        "diabetes": "diabetes, मधुमेह",
        "malaria": "malaria",
        "tuberculosis": "tuberculosis",
        "COVID-19": "covid-19, covid",
        "pulmonary fibrosis": "pulmonary fibrosis, fibrotic",
    },
    "organism": {
        "human": "human, humans, इंसान",
        "mouse": "mouse, mice, चूहे, चूहा",
        "rat": "rat",
        "zebrafish": "zebrafish",
        "Drosophila": "drosophila, fruit fly",
        "Arabidopsis": "arabidopsis",
        "rice": "rice",
        "maize": "maize",
        "Plasmodium falciparum": "plasmodium falciparum",
    },
    "tissue": {
        "pancreas": "pancreas, अग्न्याशय",
        "liver": "liver",
        "gut": "gut",
        "brain": "brain, मस्तिष्क",
        "hippocampus": "hippocampus",
        "kidney": "kidney",
        "lung": "lung, lungs, फेफड़ों, फेफड़े",
        "spleen": "spleen",
        "airway smooth muscle": "airway smooth muscle",
    },
    "cell_line": {name: name.lower() for name in ("K562", "HeLa", "HepG2", "A549", "MCF-7", "GM12878")},
    "cell_type": {"T cells": "t cells", "embryonic stem cells": "embryonic stem cells"},
    "gene": {name: name.lower() for name in ("TP53", "BRCA1", "EGFR")},
    "mark": {name: name.lower() for name in ("H3K27ac", "H3K4me3", "H3K9me3", "H3K27me3", "CTCF")},
    "database": {name: name.lower() for name in ("GEO", "SRA", "ENCODE", "TCGA", "ENA", "ArrayExpress")},
    "engine": {name: name.lower() for name in ("Nextflow", "Snakemake", "WDL")},
    "software": {name: name.lower() for name in _SOFTWARE},
    "reference": {name: name.lower() for name in ("GRCh38", "GRCm39", "hg38", "hg19", "mm10")},
    "file_format": {name: name.lower() for name in ("FASTQ", "BAM", "VCF", "GTF", "BED")},
    "layout": {"paired-end": "paired-end", "single-end": "single-end"},
    "analysis": {
        "alignment": "alignment, align, aligns, aligned",
        "adapter trimming": "adapter trimming, trim adapters, trims",
        "variant calling": "variant calling",
        "somatic variant calling": "somatic mutation calling, somatic variant calling",
        "peak calling": "peak calling",
        "differential expression": "differential expression",
        "quantification": "quantification, to counts",
        "taxonomic profiling": "taxonomic profiling",
        "genome assembly": "genome assembly, assemble a genome",
        "clustering": "clustering",
        "sorting": "sorting",
    },
    "concept": {
        "batch effect": "batch effect, बैच इफ़ेक्ट",
        "TPM": "tpm",
        "FPKM": "fpkm",
        "FDR": "fdr, false discovery rate",
        "UMI": "umi, umis",
        "PCA": "pca",
        "UMAP": "umap",
        "MAPQ": "mapq",
        "duplication rate": "duplication rate",
        "dimensionality reduction": "dimensionality reduction",
    },
    "error": {
        "out of memory": "out of memory, ran out of memory, मेमोरी ख़त्म",
        "permission denied": "permission denied",
        "no such file or directory": "no such file or directory",
        "segmentation fault": "segmentation fault",
        "zero assigned reads": "zero assigned reads",
        "disk quota exceeded": "disk quota exceeded",
        "truncated file": "truncated file",
    },
}


class _Form(NamedTuple):
    key: str
    pattern: str
    shown: str = "{}"
    is_number: bool = False


# Planted: only digits are numbers here; "eight threads" and "half a terabyte" are not seen (weakness 5).
_FORMS = (
    _Form("path", r"(?<!\S)((?:~/|/(?=[a-z]))[\w./-]*\w)"),
    _Form(
        "accession", r"\b((?:gse|sr[rpx]|prj[a-z]{2}|encsr)\d\w*|encsr\w{6}|e-mtab-\d+|tcga-[a-z]{3,4})\b", "{upper}"
    ),
    _Form("sample", r"\b(na\d{5})\b", "{upper}"),
    _Form("error", r"\b(exit code \d+)"),
    _Form("memory", r"(?<![\w-])(\d+)\s*gb\b", "{} GB"),
    _Form("threads", r"(?<![\w-])(\d+)\s*(?:threads?|cores?|थ्रेड)", is_number=True),
    _Form("threads", r"\bthreads (?:to )?(\d+)", is_number=True),
    _Form("time_limit", r"(?<!\w)(\d+)[\s-]*hours?\b", "{} h"),
    _Form("samples", r"(?<!\w)(\d+)\s+samples\b", is_number=True),
    _Form("read_length", r"(?<!\w)(\d+)\s*bp\b", "{} bp"),
    _Form("cutoff", r"\b(?:fdr|p value|cutoff)(?: cutoff)?(?: of| to)? (\d(?:[\d.]*\d)?(?:e-\d+)?)"),
    _Form("queue", r"\b(gpu|highmem|long|short) (?:queue|partition|क्यू)"),
    _Form("queue", r"\b(?:queue|partition) (gpu|highmem|long|short)\b"),
    _Form("selection", r"\b(first|second|third|last) one\b"),
    _Form("selection", r"(पहले|दूसरे|तीसरे) वाले"),
    _Form("job_id", r"(?:\b(?:jobs?|run)|जॉब) #?(\d+)(?: and (\d+))?", is_number=True),
    _Form("job_id", r"(?<![\w.#-])#?(\d{4,6})(?![\w.-])", is_number=True),
)
_MOST_DIGITS = 15
"""A longer number stays text: JSON readers keep no more of it exact."""
_IN_ENGLISH = {"पहले": "first", "दूसरे": "second", "तीसरे": "third"}


def tidy(text: str) -> str:
    """The text in lower case, with plain quotes and dashes and single spaces."""
    text = unicodedata.normalize("NFKC", text.translate({**_QUOTES_AND_DASHES, 0x201D: '"'}))
    return " ".join(text.lower().split())


def find_entities(text: str) -> tuple[Entities, str]:
    """The entities of a tidy text, and the text without the paths, accessions and numbers among them."""
    found: Entities = {}
    for form in _FORMS:
        for match in re.finditer(form.pattern, text):
            for value in filter(None, match.groups()):
                _add(found, form.key, _shown(form, value))
        if form.key != "selection":  # "the first one" is said of something, and must be seen to be
            text = re.sub(form.pattern, _blank, text)
    for match in _names().finditer(text):
        key, name = _meanings()[_squeezed(match[0])]
        _add(found, key, name)
    return found, text


def known_words() -> frozenset[str]:
    """Every single word that is a name here."""
    return frozenset(word for names in NAMES.values() for also in names.values() for word in re.findall(r"\w+", also))


def _blank(match: re.Match[str]) -> str:
    """Numbers and places are taken out, so that no name is found in them; what they belong to stays."""
    start, end = match.span(1)
    return match[0][: start - match.start()] + " " * (end - start) + match[0][end - match.start() :]


def _shown(form: _Form, value: str) -> str | int:
    if form.is_number and len(value) <= _MOST_DIGITS:
        return int(value)
    return form.shown.format(_IN_ENGLISH.get(value, value), upper=value.upper())


def _add(found: Entities, key: str, value: str | int) -> None:
    held = found.get(key)
    if held is None:
        found[key] = value
    elif isinstance(held, list):
        if value not in held:
            held.append(value)
    elif held != value:
        found[key] = [held, value]


def _squeezed(name: str) -> str:
    return re.sub(r"[\s-]+", "", name)


@cache
def _meanings() -> dict[str, tuple[str, str]]:
    return {
        _squeezed(spelling): (key, name)
        for key, names in NAMES.items()
        for name, also in names.items()
        for spelling in _spellings(also)
    }


@cache
def _names() -> re.Pattern[str]:
    spellings = {spelling for names in NAMES.values() for also in names.values() for spelling in _spellings(also)}
    longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    either = "|".join(re.escape(each).replace(r"\-", r"[\s-]?").replace(r"\ ", r"\s+") for each in longest_first)
    return re.compile(rf"(?<!{_LETTER})(?:{either})(?!{_LETTER})")


def _spellings(also: str) -> Iterator[str]:
    return (tidy(spelling) for spelling in also.split(","))
