#include "fake_settings.h"

#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace fake {

namespace {

struct Fault {
  std::string function;
  int status = 0;
  int call = 1;
};

std::mutex mutex;
Settings present;
std::vector<Fault> faults;

Fault faultFrom(const std::string& text) {
  Fault fault;
  std::istringstream parts(text);
  std::string number;
  std::getline(parts, fault.function, ':');
  if (std::getline(parts, number, ':')) fault.status = std::stoi(number);
  if (std::getline(parts, number, ':')) fault.call = std::stoi(number);
  return fault;
}

}  // namespace

const Settings& settings() { return present; }

void readSettings() {
  const std::lock_guard lock(mutex);
  present = Settings();
  faults.clear();
  const char* const text = std::getenv("TOKAMAK_FAKE_CUDA");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    const std::string value = word.substr(word.find('=') + 1);
    if (name == "devices") present.devices = std::stoi(value);
    if (name == "version") present.version = std::stoi(value);
    if (name == "memory") present.memory = std::stoll(value);
    if (name == "lacks") present.lacks = std::stoi(value);
    if (name == "attribute") present.attributes[std::stoi(value)] = std::stoi(value.substr(value.find(':') + 1));
    if (name == "cublas") present.cublas_version = std::stoi(value);
    if (name == "nccl") present.nccl_version = std::stoi(value);
    if (name == "ignores_launches") present.ignores_launches = value == "1";
    if (name == "peers") present.has_peers = value != "0";
    if (name == "cupti_is_newer") present.cupti_is_newer = value == "1";
    if (name == "fail") faults.push_back(faultFrom(value));
  }
}

int faultOf(const char* function) {
  const std::lock_guard lock(mutex);
  int status = 0;
  for (Fault& fault : faults) {
    if (fault.function == function && --fault.call == 0) status = fault.status;
  }
  return status;
}

}  // namespace fake
