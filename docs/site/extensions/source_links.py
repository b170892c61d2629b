"""Links of pages to what is no page of the site, a folder or a text for developers, become the names of these."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def without_links_out(text, page, is_page):
    """The text of a page with such links as words; `is_page` says which paths are pages of the site."""

    def written(match):
        target = (page.parent / match[2]).resolve()
        if not target.is_dir() and (target.suffix != ".md" or is_page(target)):
            return match[0]
        path = str(target.relative_to(ROOT))
        return match[1] if path in match[1] else f"{match[1]} (`{path}`)"

    return LINK.sub(written, text)


def _read(app, docname, source):
    page = pathlib.Path(app.env.doc2path(docname))
    if page.suffix == ".md":
        source[0] = without_links_out(source[0], page, lambda path: app.project.path2doc(path) in app.project.docnames)


def setup(app):
    """Tells Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
