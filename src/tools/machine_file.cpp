#include "tools/machine_file.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/require.h"
#include "base/text.h"
#include "tools/integer_in.h"
#include "tools/program_file.h"

namespace tokamak::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAlgorithms[] = {"ring", "direct"};

// An object of the file, whose members are taken by name.
class Members {
 public:
  Members(const std::string& path, std::string where, const Json& json)
      : path_(path), where_(std::move(where)), json_(json) {
    TK_REQUIRE(json.is_object(), Usage, "{}: {} has to be an object", path_, where_);
  }

  bool has(const std::string& name) const { return json_.contains(name); }

  double number(const std::string& name) const { return value(name, &Json::is_number, "a number").get<double>(); }
  int64_t integer(const std::string& name) const {
    return value(name, &Json::is_number_integer, "an integer").get<int64_t>();
  }
  std::string text(const std::string& name) const { return value(name, &Json::is_string, "a text").get<std::string>(); }
  Members object(const std::string& name) const {
    return {path_, where_ + "." + name, value(name, &Json::is_object, "an object")};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, member] : json_.items())
      if (name != "source") all.push_back(name);
    return all;
  }
  void requireOnly(std::initializer_list<std::string_view> known) const {
    for (const std::string& name : names())
      TK_REQUIRE(std::ranges::find(known, name) != known.end(), Usage, "{}: {} has a member {}; known are {}", path_,
                 where_, name, joined(known));
  }

  const std::string& path() const { return path_; }
  const std::string& where() const { return where_; }

 private:
  const Json& value(const std::string& name, bool (Json::*is_kind)() const noexcept, std::string_view kind) const {
    const auto found = json_.find(name);
    TK_REQUIRE(found != json_.end(), Usage, "{}: {} lacks {}, {}", path_, where_, name, kind);
    TK_REQUIRE((*found.*is_kind)(), Usage, "{}: {} of {} has to be {}", path_, name, where_, kind);
    return *found;
  }

  std::string path_;
  std::string where_;
  const Json& json_;
};

MachineLink linkOf(const Members& members) {
  members.requireOnly({"latency", "bandwidth"});
  return {.latency = members.number("latency"), .bandwidth = members.number("bandwidth")};
}

MachineTransport transportOf(const Members& members) {
  members.requireOnly(
      {"algorithm", "latency", "step_latency", "bandwidth_fractions", "multiprocessors", "copy_engines"});
  const std::string algorithm = members.text("algorithm");
  const auto found = std::ranges::find(kAlgorithms, algorithm);
  TK_REQUIRE(found != std::end(kAlgorithms), Usage, "{}: algorithm {} of {}; it must be one of {}", members.path(),
             algorithm, members.where(), joined(kAlgorithms));
  const Members fractions = members.object("bandwidth_fractions");
  std::map<int64_t, double> by_size;
  for (const std::string& size : fractions.names()) {
    const std::optional<int64_t> ranks = integerIn<int64_t>(size);
    TK_REQUIRE(ranks.has_value(), Usage, "{}: {} has a member {}; its members are sizes of teams", members.path(),
               fractions.where(), size);
    by_size[*ranks] = fractions.number(size);
  }
  return {.algorithm = static_cast<TransportAlgorithm>(found - std::begin(kAlgorithms)),
          .latency = members.number("latency"),
          .step_latency = members.number("step_latency"),
          .bandwidth_fractions = by_size,
          .multiprocessors = members.integer("multiprocessors"),
          .copy_engines = members.integer("copy_engines")};
}

DataType typeNamed(const Members& members, const std::string& name) {
  const auto type = dataTypeFromName(name);
  TK_REQUIRE(type.has_value(), Usage, "{}: {} names a type {}; there is none", members.path(), members.where(), name);
  return *type;
}

Machine machineOf(const Members& members) {
  members.requireOnly({"name", "ranks_per_host", "multiprocessors", "copy_engines", "memory_bandwidth", "function_rate",
                       "product_rates", "kernel_latency", "host_launch", "host_event", "host_link", "network",
                       "host_memory", "transports"});
  Machine machine{.name = members.text("name"),
                  .ranks_per_host = members.integer("ranks_per_host"),
                  .multiprocessors = members.integer("multiprocessors"),
                  .copy_engines = members.integer("copy_engines"),
                  .memory_bandwidth = members.number("memory_bandwidth"),
                  .function_rate = members.number("function_rate"),
                  .product_rates = {},
                  .kernel_latency = members.number("kernel_latency"),
                  .host_launch = members.number("host_launch"),
                  .host_event = members.number("host_event"),
                  .host_link = linkOf(members.object("host_link")),
                  .transports = {}};
  const Members rates = members.object("product_rates");
  for (const std::string& type : rates.names()) machine.product_rates[typeNamed(rates, type)] = rates.number(type);
  if (members.has("network")) machine.network = linkOf(members.object("network"));
  if (members.has("host_memory")) machine.host_memory = linkOf(members.object("host_memory"));
  const Members transports = members.object("transports");
  for (const std::string& name : transports.names()) machine.transports[name] = transportOf(transports.object(name));
  return machine;
}

Json linkJson(const MachineLink& link) { return {{"latency", link.latency}, {"bandwidth", link.bandwidth}}; }

}  // namespace

Machine readMachine(const std::string& path) {
  const std::string text = readText(path);
  const Json json = Json::parse(text, nullptr, false);
  TK_REQUIRE(!json.is_discarded(), Parse, "{}: it is no JSON; a machine file is one object", path);
  Machine machine = machineOf({path, "the machine", json});
  requireLegal(machine);
  return machine;
}

std::string machineText(const Machine& machine, const std::string& source) {
  Json json = {{"name", machine.name},
               {"source", source},
               {"ranks_per_host", machine.ranks_per_host},
               {"multiprocessors", machine.multiprocessors},
               {"copy_engines", machine.copy_engines},
               {"memory_bandwidth", machine.memory_bandwidth},
               {"function_rate", machine.function_rate},
               {"product_rates", Json::object()},
               {"kernel_latency", machine.kernel_latency},
               {"host_launch", machine.host_launch},
               {"host_event", machine.host_event},
               {"host_link", linkJson(machine.host_link)},
               {"transports", Json::object()}};
  for (const auto& [type, rate] : machine.product_rates) json["product_rates"][std::string(dataTypeName(type))] = rate;
  if (machine.network) json["network"] = linkJson(*machine.network);
  if (machine.host_memory) json["host_memory"] = linkJson(*machine.host_memory);
  for (const auto& [name, transport] : machine.transports) {
    Json fractions = Json::object();
    for (const auto& [members, fraction] : transport.bandwidth_fractions) fractions[std::to_string(members)] = fraction;
    json["transports"][name] = {{"algorithm", kAlgorithms[static_cast<size_t>(transport.algorithm)]},
                                {"latency", transport.latency},
                                {"step_latency", transport.step_latency},
                                {"bandwidth_fractions", std::move(fractions)},
                                {"multiprocessors", transport.multiprocessors},
                                {"copy_engines", transport.copy_engines}};
  }
  return json.dump(2) + "\n";
}

}  // namespace tokamak::tools
