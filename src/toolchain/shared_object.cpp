#include "toolchain/shared_object.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/require.h"

namespace tokamak {

namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
constexpr int kMachine = -1;  // not known here: the loader decides
#endif

template <class Record>
Record recordAt(std::string_view image, uint64_t offset) {
  Record record;
  std::memcpy(&record, image.data() + offset, sizeof record);
  return record;
}

bool isInside(std::string_view image, uint64_t offset, uint64_t bytes) {
  return offset <= image.size() && bytes <= image.size() - offset;
}

// Of a descriptor, under a name that was never given before: the loader takes objects of one name for one object, and
// descriptors are given again. Slashes and "/." before the path, which mean nothing, spell a number in binary.
std::string freshNameOf(const FileDescriptor& file) {
  static std::atomic<uint32_t> next{0};
  std::string name;
  for (uint32_t number = next++; number > 0; number >>= 1) name += (number & 1) != 0 ? "/." : "/";
  return name + fmt::format("/proc/self/fd/{}", file.get());
}

bool hasDescriptorFolder() { return access("/proc/self/fd", X_OK) == 0; }

std::string loaderFault() {
  const char* const fault = dlerror();
  return fault == nullptr ? "no reason is given" : fault;
}

}  // namespace

std::string faultOfImage(std::string_view image) {
  if (image.size() < sizeof(Elf64_Ehdr)) return fmt::format("it has {} bytes, fewer than an ELF header", image.size());
  const auto header = recordAt<Elf64_Ehdr>(image, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it does not start like an ELF file";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN) return "it is no 64-bit shared object";
  if (kMachine >= 0 && header.e_machine != kMachine)
    return fmt::format("it is for machine type {}, this is {}", header.e_machine, kMachine);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0) return "it has no program headers";
  if (!isInside(image, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
    return "its program headers are cut off";
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto part = recordAt<Elf64_Phdr>(image, header.e_phoff + uint64_t(i) * sizeof(Elf64_Phdr));
    if (!isInside(image, part.p_offset, part.p_filesz)) return fmt::format("its part {} is cut off", i);
  }
  return {};
}

std::shared_ptr<const SharedObject> SharedObject::loadFromMemory(std::string_view image) {
  const std::string fault = faultOfImage(image);
  TK_REQUIRE(fault.empty(), Compile, "loading compiled code of {} bytes: {}", image.size(), fault);
  void* handle = nullptr;
  if (hasDescriptorFolder()) {
    const FileDescriptor file(memfd_create("tokamak-kernel", MFD_CLOEXEC));
    TK_REQUIRE(file.isOpen() && writeAll(file.get(), image), Io, "loading compiled code of {} bytes: a memory file: {}",
               image.size(), std::strerror(errno));
    handle = dlopen(freshNameOf(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  } else {
    PrivateDirectory folder;
    const ScopedFile file(folder.freshPath(".so"));
    writePrivateFile(file.path(), image);
    handle = dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  TK_REQUIRE(handle != nullptr, Compile, "loading compiled code of {} bytes: {}", image.size(), loaderFault());
  return std::shared_ptr<const SharedObject>(new SharedObject(handle));
}

std::shared_ptr<const SharedObject> SharedObject::load(std::string_view image, PrivateDirectory& folder) {
  const std::string fault = faultOfImage(image);
  TK_REQUIRE(fault.empty(), Compile, "loading compiled code of {} bytes: {}", image.size(), fault);

  const ScopedFile file(folder.freshPath(".so"));
  writePrivateFile(file.path(), image);
  void* const handle = dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string reason = loaderFault();
    try {
      return loadFromMemory(image);
    } catch (const Error&) {
      TK_RAISE(Compile, "loading compiled code of {} bytes: {}", image.size(), reason);
    }
  }
  return std::shared_ptr<const SharedObject>(new SharedObject(handle));
}

SharedObject::~SharedObject() { dlclose(handle_); }

void* SharedObject::symbol(const char* name) const {
  void* const address = dlsym(handle_, name);
  TK_REQUIRE(address != nullptr, Compile, "compiled code has no symbol '{}': {}", name, loaderFault());
  return address;
}

}  // namespace tokamak
