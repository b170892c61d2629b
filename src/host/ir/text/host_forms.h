// Host forms: how the statements of host programs are written, each printed and read in one place; blocks of
// statements.
#pragma once

#include <string>
#include <vector>

#include "host/ir/text/text_reader.h"
#include "host/ir/text/text_writer.h"

namespace tokamak {

/// The word for a kind of memory in ALLOCATE: global, pinned, host.
std::string_view memoryWord(MemoryKind kind);

/// Appends statements to a text, two blanks of indentation per level after a margin.
class BlockPrinter {
 public:
  BlockPrinter(TextWriter& writer, std::string& out, std::string margin)
      : writer_(&writer), out_(&out), margin_(std::move(margin)) {}

  TextWriter& writer() const { return *writer_; }
  std::string indent(size_t level) const { return margin_ + std::string(2 * level, ' '); }
  void line(size_t level, std::string_view text);
  void mark(std::string_view text) { *out_ += text; }
  void block(const Block& block, size_t level);
  void statement(const Expr& expr, size_t level);

 private:
  TextWriter* writer_;
  std::string* out_;
  std::string margin_;
};

/// Reads statements; the indentation says which block a statement belongs to.
class BlockReader {
 public:
  explicit BlockReader(TextReader& reader) : reader_(&reader) {}

  TextReader& reader() const { return *reader_; }
  TokenStream& tokens() const { return reader_->tokens(); }
  /// The statements that are indented by exactly `indent`, up to '}' or one that is indented less.
  Block block(size_t indent);
  /// The body of a loop or choice in a statement indented by `indent`, whose index (if any) is `index`.
  Block body(size_t indent, Scalar* index = nullptr);
  bool isLoopIndex(const Scalar* symbol) const;

 private:
  Expr* statement(size_t indent);
  Expr* assignment();

  TextReader* reader_;
  std::vector<const Scalar*> indices_;
  int depth_ = 0;
};

}  // namespace tokamak
