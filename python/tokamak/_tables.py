"""Tables of texts, as a terminal shows them, and numbers with their units."""
from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Columns as wide as their widest text, two blanks apart; the first row is the head. `numbers`: columns that are
    flush right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) if column in numbers else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def bytes_text(count: float) -> str:
    """1536 -> "1.5 KiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"


def seconds_text(seconds: float) -> str:
    """0.0000123 -> "12.3 us"."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def count_text(count: float) -> str:
    """1234567 -> "1.23 M"."""
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f}"
