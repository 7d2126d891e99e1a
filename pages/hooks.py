"""What the site needs beyond Markdown: pages from the repository's root, links that leave the documents, and h*.

The documents link to each other and to files of the repository as they lie, so that they can be read there. On the
site a link to a file that is no page becomes the file's name.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath

from markdown.extensions import Extension
from markdown.inlinepatterns import SimpleTextInlineProcessor
from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
# Documents of the root that are pages of the site as well.
ADOPTED = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")


class Star(Extension):
    """The optimal value h* and its like are letters with a star, of which two are no emphasis."""

    def extendMarkdown(self, md):  # noqa: N802
        """After code, before emphasis."""
        md.inlinePatterns.register(SimpleTextInlineProcessor(r"(?<![*\w])([fh]\*)(?![\w*])"), "star", 100)


def on_config(config):
    """Read pages and docstrings alike with this extension."""
    config.markdown_extensions.append(Star())
    return config


def on_files(files, config):
    """Add the root's documents."""
    for name, page in ADOPTED.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point links at pages where there is one, and take them off where there is none."""
    folder = PurePosixPath("docs") / PurePosixPath(page.file.src_uri).parent
    if page.file.src_uri in ADOPTED.values():
        folder = PurePosixPath()

    def followed(match):
        text, target, anchor = match.groups()
        if "://" in target:
            return match.group()
        place = normpath(str(folder / target))
        if not (ROOT / place).exists():
            return match.group()  # Left for the strict build to complain about.
        return _link(text, ADOPTED.get(place, place.removeprefix("docs/")), anchor, page, files)

    return LINK.sub(followed, markdown)


def _link(text, place, anchor, page, files):
    if files.get_file_from_path(place) is None:
        return text if text.startswith("`") else f"`{text}`"
    up = "../" * page.file.src_uri.count("/")
    return f"[{text}]({up}{place}{anchor or ''})"
