// Uses the installed headers, the generated ones and the library.
#include <cstring>

#include <base/error.h>
#include <ir/op_lists.h>
#include <symbolic/data_type.h>

int main() {
  try {
    TK_RAISE(Usage, "user: {} is no element type", "f8");
  } catch (const tokamak::Error& error) {
    if (std::strcmp(error.what(), "user: f8 is no element type") != 0) return 1;
  }
  return tokamak::dataTypeName(tokamak::DataType::F32) == "f32" ? 0 : 1;
}
