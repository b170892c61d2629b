// Uses the installed headers and the library.
#include <cstring>

#include <tokamak/tokamak.h>

int main() {
  try {
    tokamak::readFusion("fusion f(x: f8[n]) -> y { y = neg(x) }", "f.fusion");
    return 1;
  } catch (const tokamak::Error& error) {
    if (error.code() != tokamak::ErrorCode::Parse || std::strstr(error.what(), "f.fusion:1:13") == nullptr) return 2;
  }
  if (std::strcmp(tokamak::versionOfLibrary(), TOKAMAK_VERSION) != 0) return 3;
  return tokamak::dataTypeName(tokamak::DataType::F32) == "f32" ? 0 : 4;
}
