"""Colours for the texts of fusions, kernels and schedules."""
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text


class FusionLexer(RegexLexer):
    """Texts of docs/text.md."""

    name = "fusion"
    aliases = ["fusion"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            (words(("fusion", "kernel", "schedule", "sizes", "aliases", "as", "for", "in", "let", "true", "false",
                    "none"), suffix=r"\b"), Keyword),
            (words(("f64", "f32", "f16", "bf16", "i64", "i32", "bool"), suffix=r"\b"), Keyword.Type),
            (r"[A-Za-z_]\w*(?=\()", Name.Function),
            (r"\d+(\.\d+)?(e[-+]?\d+)?\w*", Number),
            (r"'[^']*'", String),
            (r"[A-Za-z_$%]\w*", Name),
            (r"->|\.\.|[-+*/@<>=!&|^~]", Operator),
            (r"[\[\](){},:;.]", Punctuation),
            (r".", Text),
        ],
    }


def setup(app):
    """Tells Sphinx."""
    app.add_lexer("fusion", FusionLexer)
    return {"parallel_read_safe": True}
