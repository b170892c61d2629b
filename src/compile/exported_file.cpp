#include "compile/exported_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "interop/tar.h"
#include "ir/text/lexer.h"
#include "toolchain/sha256.h"

namespace tokamak {

namespace {

constexpr std::string_view kManifest = "manifest";
constexpr std::string_view kHashWord = "hash \"";
constexpr size_t kHashDigits = 64;

std::string quotedAll(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += " " + inQuotes(text);
  return result;
}

std::string folderOf(const ExportedTarget& target) { return target.name + "/"; }
std::string kernelEntry(const ExportedTarget& target, size_t kernel) {
  return fmt::format("{}kernels/{}.kernel", folderOf(target), kernel);
}
std::string imageEntry(const ExportedTarget& target, size_t kernel) {
  return fmt::format("{}kernels/{}.{}", folderOf(target), kernel, target.kind == TargetKind::Cpu ? "so" : "cubin");
}

// The hash is last of the first lines, so that it stands at a known place.
std::string manifestOf(const ExportedFile& file, std::string_view hash) {
  std::string text = fmt::format("tokamak_program {}\n{}{}\"\n", kExportFormat, kHashWord, hash);
  text += fmt::format("version {}\nname {}\n", inQuotes(file.version), inQuotes(file.names.program));
  for (const auto& [name, extent] : file.sizes)
    text +=
        fmt::format("{} {} {}\n", extent.isRange() ? "range" : "sizes", inQuotes(name), joined(extent.sizes(), " "));
  text += fmt::format("inputs{}\noutputs{}\ngiven", quotedAll(file.names.inputs), quotedAll(file.names.outputs));
  for (const size_t output : file.given) text += fmt::format(" {}", output);
  text += "\nin_place";
  for (const auto& [output, input] : file.in_place) text += fmt::format(" {} {}", output, input);
  text += "\n";
  for (const ExportedTarget& target : file.targets) {
    text +=
        fmt::format("target {} {} needs {} symbols{} kernels", inQuotes(target.name),
                    target.kind == TargetKind::Cpu ? "cpu" : "cuda", inQuotes(target.needs), quotedAll(target.symbols));
    for (const DataType type : target.index_types) text += fmt::format(" {}", dataTypeName(type));
    text += "\n";
  }
  return text;
}

std::string archiveOf(const ExportedFile& file, std::string_view manifest) {
  std::vector<TarEntry> entries = {{std::string(kManifest), manifest}};
  for (const ExportedTarget& target : file.targets) {
    entries.push_back({folderOf(target) + "program.host_ir", target.host_program});
    entries.push_back({folderOf(target) + "launches", target.launches});
    for (size_t i = 0; i < target.kernels.size(); ++i) {
      entries.push_back({kernelEntry(target, i), target.kernels[i]});
      entries.push_back({imageEntry(target, i), target.images[i]});
    }
  }
  return writeTar(entries);
}

class ManifestReader {
 public:
  ManifestReader(std::string_view text, std::string_view path) : tokens_(text, path), path_(path) {}

  // What every version begins with.
  void readVersion() {
    tokens_.expect("tokamak_program");
    const int64_t format = tokens_.expectInteger("the version of the form");
    TK_REQUIRE(format <= kExportFormat, Unsupported,
               "{}: it has version {} of the form of exported programs; this library reads up to {}", path_, format,
               kExportFormat);
    tokens_.expect("hash");
    text();
  }

  ExportedFile read() {
    readVersion();
    ExportedFile file;
    file.version = namedText("version");
    file.names.program = namedText("name");
    while (tokens_.at("sizes") || tokens_.at("range")) extent(file);
    file.names.inputs = textsOf("inputs");
    file.names.outputs = textsOf("outputs");
    file.given = numbersOf("given");
    const std::vector<size_t> in_place = numbersOf("in_place");
    for (size_t i = 0; i + 1 < in_place.size(); i += 2) file.in_place.emplace_back(in_place[i], in_place[i + 1]);
    while (tokens_.accept("target")) file.targets.push_back(target());
    if (!tokens_.atEnd()) tokens_.failExpected("a target");
    return file;
  }

 private:
  std::string text() {
    if (tokens_.peek().kind != TokenKind::String) tokens_.failExpected("a text in quotes");
    return tokens_.next().string;
  }

  std::string namedText(std::string_view word) {
    tokens_.expect(word);
    return text();
  }

  std::vector<std::string> textsOf(std::string_view word) {
    tokens_.expect(word);
    std::vector<std::string> texts;
    while (tokens_.peek().kind == TokenKind::String) texts.push_back(text());
    return texts;
  }

  std::vector<size_t> numbersOf(std::string_view word) {
    tokens_.expect(word);
    std::vector<size_t> numbers;
    while (tokens_.peek().kind == TokenKind::Integer)
      numbers.push_back(static_cast<size_t>(tokens_.expectInteger("a number")));
    return numbers;
  }

  void extent(ExportedFile& file) {
    const bool is_range = tokens_.next().text == "range";
    const std::string name = text();
    std::vector<int64_t> sizes;
    while (tokens_.peek().kind == TokenKind::Integer) sizes.push_back(tokens_.expectInteger("a size"));
    if (sizes.empty() || (is_range && sizes.size() != 2)) tokens_.failExpected("sizes, or the two ends of a range");
    file.sizes.emplace(name, is_range ? ExportedExtent::range(sizes[0], sizes[1]) : ExportedExtent(std::move(sizes)));
  }

  ExportedTarget target() {
    ExportedTarget target;
    target.name = text();
    if (!tokens_.accept("cpu")) {
      tokens_.expect("cuda");
      target.kind = TargetKind::Cuda;
    }
    target.needs = namedText("needs");
    target.symbols = textsOf("symbols");
    tokens_.expect("kernels");
    while (tokens_.at("i64") || tokens_.at("i32"))
      target.index_types.push_back(tokens_.next().text == "i64" ? DataType::I64 : DataType::I32);
    return target;
  }

  TokenStream tokens_;
  std::string_view path_;
};

// Each entry once, in the order in which it was written.
void takeEntries(ExportedFile& file, const std::vector<TarEntry>& entries, std::string_view path) {
  size_t next = 1;
  const auto take = [&](const std::string& name) {
    TK_REQUIRE(next < entries.size() && entries[next].name == name, Io, "{}: it is damaged: {} is missing", path, name);
    return entries[next++].bytes;
  };
  for (ExportedTarget& target : file.targets) {
    target.host_program = take(folderOf(target) + "program.host_ir");
    target.launches = take(folderOf(target) + "launches");
    for (size_t i = 0; i < target.index_types.size(); ++i) {
      target.kernels.push_back(take(kernelEntry(target, i)));
      target.images.push_back(take(imageEntry(target, i)));
    }
  }
  TK_REQUIRE(next == entries.size(), Io, "{}: it is damaged: {} is no part of it", path, entries[next].name);
}

// Errors: Parse in a manifest whose hash is right mean that it was not written by writeExportedFile().
template <class Read>
auto readManifest(std::string_view path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Parse) throw;
    TK_RAISE(Io, "{}: it is no exported program: {}", path, error.message());
  }
}

}  // namespace

std::string textOf(const std::map<std::string, ExportedExtent>& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, extent] : sizes) {
    const std::vector<int64_t>& values = extent.sizes();
    parts.push_back(extent.isRange() ? fmt::format("{} = {}..{}", name, values[0], values[1])
                                     : fmt::format("{} = {}", name, joined(values, " or ")));
  }
  return parts.empty() ? "no sizes" : joined(parts);
}

bool beginsLikeExportedFile(std::string_view bytes) {
  return bytes.starts_with(std::string(kManifest) + '\0') && bytes.size() >= 512;
}

std::string writeExportedFile(const ExportedFile& file) {
  const std::string blank(kHashDigits, '0');
  const std::string digest = hexOf(sha256(archiveOf(file, manifestOf(file, blank))));
  return archiveOf(file, manifestOf(file, digest));
}

ExportedFile readExportedFile(std::string_view bytes, std::string_view path) {
  const TarContents contents = readTar(bytes);
  TK_REQUIRE(contents.fault.empty(), Io, "{}: it is no exported program, or damaged: {}", path, contents.fault);
  TK_REQUIRE(!contents.entries.empty() && contents.entries[0].name == kManifest, Io,
             "{}: it is no exported program: its first entry is no manifest", path);
  const std::string_view manifest = contents.entries[0].bytes;
  readManifest(path, [&] {
    ManifestReader(manifest, path).readVersion();
    return 0;
  });
  const size_t word = manifest.find(kHashWord);
  const size_t at = static_cast<size_t>(manifest.data() - bytes.data()) + word + kHashWord.size();
  TK_REQUIRE(word != std::string_view::npos && word + kHashWord.size() + kHashDigits <= manifest.size(), Io,
             "{}: it is damaged: its hash is missing", path);
  Sha256 hash;
  hash.add(bytes.substr(0, at));
  hash.add(std::string(kHashDigits, '0'));
  hash.add(bytes.substr(at + kHashDigits));
  TK_REQUIRE(hexOf(hash.finish()) == bytes.substr(at, kHashDigits), Io, "{}: it is damaged: its hash is another one",
             path);
  ExportedFile file = readManifest(path, [&] { return ManifestReader(manifest, path).read(); });
  takeEntries(file, contents.entries, path);
  return file;
}

}  // namespace tokamak
