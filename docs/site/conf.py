"""Sphinx: the documentation site, from docs/index.md, docs/site, docs/lessons and the pages of docs that users need.

    sphinx-build -c docs/site docs FOLDER, with the package in PYTHONPATH; scripts/test_site does it
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site" / "extensions"))

project = "Tokamak"
author = "the authors of Tokamak"
copyright = author
version = release = re.search(r"project\(tokamak VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_nb", "sphinx_design", "sphinx_copybutton", "sphinx.ext.autodoc", "docstrings", "fusion_lexer",
              "language_tabs", "op_reference", "source_links"]
root_doc = "index"
# Pages for people who work on the compiler.
exclude_patterns = ["python_design.md", "devices_design.md", "injected_bugs.md", "kernel_mutants.md", "checking.md",
                    "compiled_kernels.md", "site/extensions"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = ["torch"]  # which is large, and of which the pages show nothing
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
nitpicky = True
# Types of Python's own library, and names in annotations that no page describes.
nitpick_ignore_regex = [
    ("py:class", r"(os|contextlib|numpy)\..*"),  # of other packages
    ("py:class", r"(?:typing|types|collections|enum|tokamak\.(?:heuristics|_values|_ops))\..*|[A-Z]\w*|object")]

html_theme = "furo"
html_title = f"Tokamak {version}"
html_favicon = "static/mark.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "native"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
