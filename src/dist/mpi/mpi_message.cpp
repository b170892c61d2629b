#include "dist/mpi/mpi_message.h"

namespace tokamak {

MpiMessageWriter::MpiMessageWriter(MpiMessageKind kind, const MpiJobKey& job) {
  add(static_cast<int64_t>(kind)).add(job.ranks).add(job.number);
}

MpiMessageReader::MpiMessageReader(std::span<const std::byte> bytes) : MessageReader(bytes, ShortMessage::IsAFault) {
  kind_ = static_cast<MpiMessageKind>(number());
  job_.ranks = number();
  job_.number = number();
}

}  // namespace tokamak
