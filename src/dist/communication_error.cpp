#include "dist/communication_error.h"

namespace tokamak {

CommunicationError::CommunicationError(CommunicationFault fault, int64_t rank, const std::string& text)
    : Error(ErrorCode::Device, text), fault_(fault), rank_(rank) {}

void raiseOf(const Breakage& breakage) { throw CommunicationError(breakage.fault, breakage.rank, breakage.text); }

std::string textOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an exception of another type";
  }
}

}  // namespace tokamak
