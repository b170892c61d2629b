#include "report/html_page.h"

#include <fmt/format.h>

#include "report/svg.h"

namespace tokamak {

namespace {

constexpr std::string_view kStyle = R"(
body { font: 15px/1.5 Helvetica, Arial, 'Liberation Sans', sans-serif; color: #1d2733; background: #fff; margin: 0; }
main, header, nav { max-width: 1180px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 28px; }
h1 { font-size: 26px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 40px 0 8px; padding-top: 12px; border-top: 1px solid #dde3e8; }
nav ol { columns: 3; padding-left: 20px; margin: 12px 0; }
a { color: #2f6aa8; text-decoration: none; }
a:hover { text-decoration: underline; }
pre { font: 12.5px/1.45 'DejaVu Sans Mono', Menlo, Consolas, monospace; background: #f6f8fa; padding: 12px;
  border: 1px solid #e3e8ec; border-radius: 5px; overflow-x: auto; margin: 8px 0; }
details { margin: 8px 0; }
details details { margin-left: 16px; }
summary { cursor: pointer; font-weight: bold; }
.picture { overflow-x: auto; border: 1px solid #e3e8ec; border-radius: 5px; margin: 8px 0; }
table { border-collapse: collapse; margin: 8px 0; }
th, td { text-align: left; vertical-align: top; padding: 3px 16px 3px 0; border-bottom: 1px solid #e3e8ec;
  overflow-wrap: anywhere; }
th, td:first-child { overflow-wrap: normal; }
p, summary { overflow-wrap: anywhere; }
@media print { .picture svg { max-width: 100%; height: auto; } pre { white-space: pre-wrap; } }
)";

std::string rowOf(const std::vector<std::string>& cells, std::string_view element) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += fmt::format("<{0}>{1}</{0}>", element, escapedXml(cell));
  return row + "</tr>\n";
}

}  // namespace

void HtmlPage::section(std::string_view heading) {
  headings_.emplace_back(heading);
  body_ += fmt::format("<h2 id=\"part{}\">{}</h2>\n", headings_.size(), escapedXml(heading));
}

void HtmlPage::paragraph(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", escapedXml(text)); }

void HtmlPage::picture(const std::string& svg) { body_ += fmt::format("<div class=\"picture\">{}</div>\n", svg); }

void HtmlPage::listing(std::string_view summary, std::string_view text, Fold fold) {
  beginFold(summary, fold);
  // The blank line that HTML drops after <pre> is not the text's.
  body_ += fmt::format("<pre>\n{}</pre>\n", escapedXml(text));
  endFold();
}

void HtmlPage::beginFold(std::string_view summary, Fold fold) {
  body_ += fmt::format("<details{}><summary>{}</summary>\n", fold == Fold::Open ? " open=\"open\"" : "",
                       escapedXml(summary));
}

void HtmlPage::endFold() { body_ += "</details>\n"; }

void HtmlPage::table(const std::vector<std::vector<std::string>>& rows) {
  body_ += "<table>\n";
  for (size_t i = 0; i < rows.size(); ++i) body_ += rowOf(rows[i], i == 0 ? "th" : "td");
  body_ += "</table>\n";
}

std::string HtmlPage::finish() const {
  std::string contents;
  for (size_t i = 0; i < headings_.size(); ++i)
    contents += fmt::format("<li><a href=\"#part{}\">{}</a></li>\n", i + 1, escapedXml(headings_[i]));
  const std::string title = escapedXml(title_);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{0}</title>\n<style>{1}</style>\n</head>\n"
      "<body>\n<header><h1>{0}</h1></header>\n<nav><ol>\n{2}</ol></nav>\n<main>\n{3}</main>\n</body>\n</html>\n",
      title, kStyle, contents, body_);
}

}  // namespace tokamak
