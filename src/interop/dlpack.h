// DlpackExchange: tensors from and for other libraries, by DLPack, without a copy.
#pragma once

#include <memory>

#include "base/export.h"
#include "device/tensor.h"
#include "interop/dlpack_types.h"

namespace tokamak {

/// Of one device, which outlives it.
/// Thread safety: any threads may use it side by side; deleters are called on any of them.
class TOKAMAK_EXPORT DlpackExchange {
 public:
  explicit DlpackExchange(Device& device);
  DlpackExchange(const DlpackExchange&) = delete;
  DlpackExchange& operator=(const DlpackExchange&) = delete;
  /// Waits for the work that uses what was let go, and calls its deleters.
  ~DlpackExchange();

  /// A tensor in the memory that another library gives; its data is there for work on `stream`. From now on it is ours:
  /// the deleter is called once, when the last tensor that lies there was let go and the work on `stream` up to then is
  /// done (the caller orders uses on other streams before). A tensor that may not be written says so
  /// (Buffer::isReadOnly()). On an error it stays the caller's.
  /// Errors: Bind for what is no array of a type that we have, of up to 16 axes, in memory of this device; Unsupported
  /// for another major version.
  Tensor take(dlpack::ManagedVersioned* given, const std::shared_ptr<Stream>& stream);
  Tensor take(dlpack::Managed* given, const std::shared_ptr<Stream>& stream);

  /// The tensor for another library, which calls the deleter once. With a stream, the data is there for work on that
  /// stream, and the memory is given back behind what is on it when the deleter is called; without one, and for memory
  /// that the host reads, this waits until the data is there.
  /// Errors: of the work that made the data. Version 0.x cannot say that a tensor is read-only: Bind.
  dlpack::ManagedVersioned* give(const Tensor& tensor, const std::shared_ptr<Stream>& stream = nullptr) const;
  dlpack::Managed* giveUnversioned(const Tensor& tensor, const std::shared_ptr<Stream>& stream = nullptr) const;

  /// Calls the deleters of what was let go, also by calls that are done, and is not used any more; take() does so, too,
  /// where they are not deferred. They are called under no lock, and may call the library.
  void collect();
  /// From now on deleters are called by collect() and the destructor alone, on the threads of these calls: for
  /// languages whose objects may be let go on some threads only. Those of arrays that are let go later than this are
  /// called then, on any thread.
  void deferDeleters();

 private:
  class Retired;

  Device& device_;
  std::shared_ptr<Retired> retired_;
};

}  // namespace tokamak
