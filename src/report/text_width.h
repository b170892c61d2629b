// Text width: how wide a text is in the sans-serif font of pictures, so that boxes are made to fit without a renderer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

enum class FontWeight : uint8_t { Regular, Bold };

/// In pixels, `size` being the size of the font. Letters of ASCII have the advance widths of the Helvetica metrics
/// (Adobe Font Metrics, in thousandths of the size); all others count as wide as the widest letter.
double textWidth(std::string_view text, double size, FontWeight weight = FontWeight::Regular);

/// The text as UTF-8 that XML may hold: bytes that are no UTF-8 and characters that XML forbids become U+FFFD.
std::string printableText(std::string_view text);

/// The text, or its beginning and its end with "..." between them, at most `width` pixels wide.
std::string elidedText(std::string_view text, double width, double size, FontWeight weight = FontWeight::Regular);

/// The text in lines of at most `width` pixels, broken at blanks; a word that is wider is elided. Lines beyond
/// `most_lines` are left out, and the last one ends with "...".
std::vector<std::string> wrappedText(std::string_view text, double width, double size, size_t most_lines);

}  // namespace tokamak
