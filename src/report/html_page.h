// HTML page: a page of sections with a table of contents, in one file, readable without scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// Collects a page. All texts are escaped but for pictures, which are SVG files of this room. The result is also
/// well-formed XML.
/// Thread safety: one thread at a time.
class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}

  /// A section with a heading, in the table of contents.
  void section(std::string_view heading);
  void paragraph(std::string_view text);
  /// The text of an SVG file.
  void picture(const std::string& svg);
  enum class Fold : uint8_t { Open, Closed };
  /// A text that is to be read as it is laid out, under a summary that folds it.
  void listing(std::string_view summary, std::string_view text, Fold fold = Fold::Closed);
  /// What follows, up to endFold(), folds under a summary.
  void beginFold(std::string_view summary, Fold fold = Fold::Closed);
  void endFold();
  /// The first row is the head. Errors: none; rows may be shorter than the head.
  void table(const std::vector<std::vector<std::string>>& rows);

  /// The whole file.
  std::string finish() const;

 private:
  std::string title_;
  std::vector<std::string> headings_;
  std::string body_;
};

}  // namespace tokamak
