// Sections: what follows a program's closing brace when it is not the default: domains, aliases, types of scalars.
#pragma once

#include <string>

#include "host/ir/text/text_reader.h"
#include "host/ir/text/text_writer.h"

namespace tokamak {

/// "Domains:{..}" with an entry for every tensor whose domain or memory the program's statements do not tell; or
/// nothing.
std::string domainsText(TextWriter& writer, const Block& statements, const std::string& margin);
/// After "Domains:{", up to its '}'.
void readDomains(TextReader& reader);

/// "Aliases:{..}" of a host program.
std::string aliasesText(TextWriter& writer, const HostIrContainer& program, const std::string& margin);
void readAliases(TextReader& reader);

/// "Views:{..}": results that are views of what their statements read, where they can be.
std::string viewsText(TextWriter& writer, const HostIrContainer& program, const std::string& margin);
void readViews(TextReader& reader);

/// "Demands:{..}": extents that must be equal for ops of which the statements do parts.
std::string demandsText(TextWriter& writer, const HostIrContainer& program, const std::string& margin);
void readDemands(TextReader& reader);

/// "OutputAliases:{..}": outputs that are written into inputs.
std::string outputAliasesText(TextWriter& writer, const Fusion& program, const std::string& margin);
void readOutputAliases(TextReader& reader);

/// "Scalars:{..}": the types of symbols whose names do not tell them.
std::string scalarsText(const TextWriter& writer, const std::string& margin);
void readScalarTypes(TextReader& reader);

}  // namespace tokamak
