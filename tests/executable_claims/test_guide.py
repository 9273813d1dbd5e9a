"""What the guide for authors shows is true."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parent.parent.parent / "docs/guides/write-a-claim.md"


def test_the_chapter_to_start_from_builds(copy_project, tmp_path):
    """The template at the end of the guide is a chapter whose claim holds."""
    text = GUIDE.read_text(encoding="utf-8")
    template = re.findall(r"^````markdown\n(.*?)^````$", text, re.MULTILINE | re.DOTALL)[-1]
    project = copy_project("green", tmp_path)
    (project.root / "subject.md").write_text(template, encoding="utf-8")
    project.edit("index.md", "rectangle\n", "rectangle\nsubject\n")
    build = project.build()
    assert ([], 0) == (build.warnings, build.code)
    assert "holds" == build.verdicts["name-of-the-claim"]
