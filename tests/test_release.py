"""What a release says of itself agrees."""

import re
from pathlib import Path

import gnpolyak as gnp

ROOT = Path(__file__).parent.parent


def found(pattern, document):
    return re.search(pattern, (ROOT / document).read_text(), flags=re.MULTILINE).groups()


def test_one_version_everywhere():
    version, date = found(r"^## \[(\d\S+)\] - (\S+)$", "CHANGELOG.md")
    assert version == gnp.__version__
    assert found(r"^version: (\S+)$", "CITATION.cff") == (version,)
    assert found(r'^date-released: "(\S+)"$', "CITATION.cff") == (date,)
