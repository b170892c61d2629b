"""Directives that write the reference of ops and array functions from the tables of the package and of docs/ops.md.

    ```{ops}
    abs acos acosh
    ```

describes these ops of fd.ops, and `array-functions` with the name of a module of tokamak.numpy what that defines.
"""
import inspect
import pathlib
import re

from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

TEXT = pathlib.Path(__file__).resolve().parents[2] / "ops.md"
# Ops under a name of their own in fd.ops, and the callable that says what they do.
ELSEWHERE = {"embedding_fwd": "embedding"}


def legal_types():
    """{callable: its line of types} of docs/ops.md."""
    sections = re.split(r"^## ", TEXT.read_text(encoding="utf-8"), flags=re.M)[1:]
    return {section.split("\n", 1)[0]: match[1] for section in sections
            if (match := re.search(r"^Types: (.*)$", section, re.M))}


def names():
    """All names of fd.ops."""
    from tokamak._ops import Operators

    return {name for name, value in vars(Operators).items() if not name.startswith("_") and callable(value)}


def is_of_nvfuser(name):
    """Whether scripts for nvFuser know the op."""
    from tokamak._ops import ROWS, Operators

    is_written_by_hand = "." in getattr(Operators, name).__qualname__
    return is_written_by_hand or not any(parameter.is_own for parameter in ROWS[name])


def signature(name):
    """The parameters of an op, without types."""
    from tokamak._ops import Operators

    whole = inspect.signature(getattr(Operators, name))
    shown = [each.replace(annotation=inspect.Parameter.empty) for each in list(whole.parameters.values())[1:]]
    return str(whole.replace(parameters=shown, return_annotation=inspect.Signature.empty)).replace("DataType.Null",
                                                                                                  "None")


def _sentence(words):
    """With a capital, where it begins with a word and not with a formula."""
    return words[0].upper() + words[1:] if re.match(r"[a-z]{3,}[ ,]", words) or words.startswith("a ") else words


def described(name, types):
    """The Markdown for one op."""
    import tokamak.numpy as tnp
    from tokamak._ops import Operators

    facts = [_sentence(inspect.getdoc(getattr(Operators, name)).replace("\n", " "))]
    callable_ = ELSEWHERE.get(name, name)
    if callable_ in types:
        facts.append(f"Types: {types[callable_]}")
    known = "As in nvFuser" if is_of_nvfuser(name) else "Not in nvFuser"
    facts.append(f"{known}; for arrays `tokamak.numpy.{name}`." if name in dir(tnp) else f"{known}.")
    return f"```{{py:function}} fd.ops.{name}{signature(name)}\n\n" + "\n\n".join(facts) + "\n```\n"


class Ops(SphinxDirective):
    """Describes the ops that are named."""

    has_content = True

    def run(self):
        types = legal_types()
        asked = " ".join(self.content).split()
        if unknown := sorted(set(asked) - names()):
            raise ExtensionError(f"ops: fd.ops has no {', '.join(unknown)}")
        return self.parse_text_to_nodes("\n".join(described(name, types) for name in asked))


def functions_in(module):
    """The names of tokamak.numpy that one of its modules defines; of "names" those that are ops of the library."""
    import tokamak.numpy as tnp

    return [name for name in dir(tnp) if getattr(getattr(tnp, name), "__module__", "") == f"tokamak.numpy.{module}"]


def described_function(name):
    """The Markdown for one function over arrays."""
    import tokamak.numpy as tnp

    function = getattr(tnp, name)
    says = inspect.getdoc(function).replace("\n", " ").replace("*", "\\*")
    return f"```{{py:function}} {name}{inspect.signature(function)}\n\n{says}\n```\n"


class ArrayFunctions(SphinxDirective):
    """Describes the functions of a module of tokamak.numpy."""

    required_arguments = 1

    def run(self):
        found = functions_in(self.arguments[0])
        if not found:
            raise ExtensionError(f"array-functions: tokamak.numpy has nothing of {self.arguments[0]}")
        return self.parse_text_to_nodes("\n".join(map(described_function, found)))


def setup(app):
    """Tells Sphinx."""
    app.add_directive("ops", Ops)
    app.add_directive("array-functions", ArrayFunctions)
    return {"parallel_read_safe": True}
