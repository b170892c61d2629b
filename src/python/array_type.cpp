#include "python/array_type.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "python/cupy_arrays.h"
#include "python/python_objects.h"
#include "runtime/cpu/open_mp.h"

namespace tokamak::python {

namespace {

constexpr const char* kAttribute = "__dlpack_c_exchange_api__";

bool hasTableOfItsOwn(PyObject* type) {
  const Owned attributes = attributeOf(type, "__dict__");
  const Owned name(PyUnicode_FromString(kAttribute));
  if (attributes == nullptr || name == nullptr) return false;
  const int is_there = PySequence_Contains(attributes.get(), name.get());
  if (is_there < 0) PyErr_Clear();
  return is_there > 0 || isTextEqual(attributeOf(type, "__module__"), "torch.nn.parameter");
}

const dlpack::ExchangeTable* findTable(PyObject* type) {
  const Owned capsule = attributeOf(type, kAttribute);
  if (capsule == nullptr || !hasTableOfItsOwn(type)) return nullptr;
  const void* at = PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api");
  if (at == nullptr) PyErr_Clear();
  for (const auto* header = static_cast<const dlpack::ExchangeTableHeader*>(at); header != nullptr;
       header = header->previous) {
    if (header->version.major != 1) continue;
    const auto* const table = reinterpret_cast<const dlpack::ExchangeTable*>(header);
    return table->view == nullptr ? nullptr : table;
  }
  return nullptr;
}

void ignoreError(void* /*context*/, const char* /*kind*/, const char* /*message*/) {}

// A part of an array, which it keeps.
struct Part {
  dlpack::ManagedVersioned given;
  dlpack::ManagedVersioned* whole = nullptr;
  std::array<int64_t, Tensor::kMaxRank> sizes = {};
  std::array<int64_t, Tensor::kMaxRank> strides = {};
};

void release(dlpack::ManagedVersioned* given) {
  if (given->deleter != nullptr) given->deleter(given);
}

dlpack::ManagedVersioned* allocated(const dlpack::ExchangeTable& table, DataType dtype, const dlpack::Device& device,
                                    std::span<int64_t> sizes) {
  dlpack::Array prototype = {.device = device,
                             .rank = static_cast<int32_t>(sizes.size()),
                             .type = dlpack::typeOf(dtype),
                             .sizes = sizes.data()};
  dlpack::ManagedVersioned* made = nullptr;
  if (table.allocate(&prototype, &made, nullptr, &ignoreError) == 0) return made;
  if (PyErr_Occurred() == nullptr) PyErr_NoMemory();
  return nullptr;
}

dlpack::ManagedVersioned* allocatedInParts(const dlpack::ExchangeTable& table, const OutputLayout& layout,
                                           const dlpack::Device& device) {
  int64_t elements = layout.bytes / sizeOf(layout.dtype);
  dlpack::ManagedVersioned* const whole = allocated(table, layout.dtype, device, {&elements, 1});
  if (whole == nullptr) return nullptr;
  auto part = std::make_unique<Part>();
  part->whole = whole;
  std::ranges::copy(layout.sizes, part->sizes.begin());
  std::ranges::copy(layout.strides, part->strides.begin());
  part->given.version = whole->version;
  part->given.context = part.get();
  part->given.deleter = [](dlpack::ManagedVersioned* done) {
    const std::unique_ptr<Part> held(static_cast<Part*>(done->context));
    release(held->whole);
  };
  part->given.array = whole->array;
  part->given.array.byte_offset += static_cast<uint64_t>(layout.offset);
  part->given.array.rank = static_cast<int32_t>(layout.sizes.size());
  part->given.array.sizes = part->sizes.data();
  part->given.array.strides = part->strides.data();
  return &part.release()->given;
}

bool viewTold(const dlpack::Array& array, ArrayView& view) {
  const auto dtype = dlpack::dataTypeOf(array.type);
  if (!dtype || array.rank < 0 || array.rank > static_cast<int32_t>(Tensor::kMaxRank)) return false;
  view.data = static_cast<char*>(array.data) + array.byte_offset;
  view.dtype = *dtype;
  view.device = array.device;
  view.is_writeable = true;
  view.rank = static_cast<size_t>(array.rank);
  view.sizes_there = array.sizes;
  view.strides_there = array.strides;
  if (array.strides == nullptr) fillRowMajorStrides(view.sizesOfAxes(), std::span(view.strides).first(view.rank));
  return true;
}

}  // namespace

// The table's arrays on a GPU do not know of torch's streams (record_stream()); those of torch's own function do, at
// twice the time.
void ArrayType::learnFromTorch() {
  const Owned torch(PyImport_ImportModule("torch"));
  if (torch == nullptr) return PyErr_Clear();
  constexpr std::array kNames = {"float64", "float32", "float16", "bfloat16", "int32", "int64", "bool"};
  static_assert(kNames.size() == kAllDataTypes.size());
  for (size_t i = 0; i < kNames.size(); ++i) dtypes_[i] = attributeOf(torch.get(), kNames[i]).release();
  device_ = attributeOf(torch.get(), "device").release();
  const Owned file = attributeOf(torch.get(), "__file__");
  if (const char* const path = file == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(file.get(), nullptr)) {
    const auto folder = std::filesystem::path(path).parent_path();
    open_mp_ = OpenMp::usedBy((folder / "lib" / "libtorch_cpu.so").c_str());
  }
  PyErr_Clear();
  const bool is_whole = device_ != nullptr && std::ranges::find(dtypes_, nullptr) == dtypes_.end();
  if (is_whole) empty_strided_ = attributeOf(torch.get(), "empty_strided").release();
}

ArrayType ArrayType::described(PyTypeObject* type) {
  ArrayType made;
  auto* const object = reinterpret_cast<PyObject*>(type);
  made.type_ = type;
  made.table_ = findTable(object);
  made.is_cupys_ = made.table_ == nullptr && isCupyArrayType(type);
  const Owned module = attributeOf(object, "__module__");
  const bool is_torch = isTextEqual(module, "torch") || isTextEqual(module, "torch.nn.parameter");
  if (made.table_ != nullptr && is_torch) made.learnFromTorch();
  return made;
}

const ArrayType* ArrayType::of(PyObject* array, const ArrayType* guess) {
  if (guess != nullptr && guess->type_ == Py_TYPE(array)) return guess;
  static std::deque<ArrayType> known;  // which hold on to their types
  PyTypeObject* const type = Py_TYPE(array);
  for (const ArrayType& each : known) {
    if (each.type_ == type) return &each;
  }
  ArrayType made = described(type);
  if (made.table_ == nullptr && !made.is_cupys_) return nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  return &known.emplace_back(made);
}

bool ArrayType::view(PyObject* array, ArrayView& view) const {
  if (is_cupys_) return viewCupyArray(array, view);
  dlpack::Array told;
  if (table_->view(array, &told) == 0) return viewTold(told, view);
  PyErr_Clear();
  return false;
}

bool ArrayType::currentStream(const dlpack::Device& device, CallersStream& stream) const {
  if (is_cupys_) return currentCupyStream(device.id, stream);
  if (table_->current_stream == nullptr) return false;
  if (table_->current_stream(device.type, device.id, &stream.handle) == 0) return true;
  PyErr_Clear();
  return false;
}

// torch.device("cuda", id), which is made once; null where Python raised an error.
PyObject* ArrayType::gpuOfTorch(int32_t id) const {
  const auto number = static_cast<size_t>(id);
  if (gpus_.size() <= number) gpus_.resize(number + 1);
  if (gpus_[number] == nullptr) gpus_[number] = PyObject_CallFunction(device_, "si", "cuda", static_cast<int>(id));
  return gpus_[number];
}

PyObject* ArrayType::makeByTorch(const OutputLayout& layout, const dlpack::Device& device) const {
  const Owned sizes = tupleOfIntegers(layout.sizes);
  const Owned strides = tupleOfIntegers(layout.strides);
  PyObject* const place = gpuOfTorch(device.id);
  static PyObject* const names = Py_BuildValue("(ss)", "dtype", "device");
  if (sizes == nullptr || strides == nullptr || place == nullptr || names == nullptr) return nullptr;
  const std::array<PyObject*, 4> arguments = {sizes.get(), strides.get(), dtypes_[static_cast<size_t>(layout.dtype)],
                                              place};
  return PyObject_Vectorcall(empty_strided_, arguments.data(), 2, names);
}

PyObject* ArrayType::make(const OutputLayout& layout, const dlpack::Device& device, ArrayView& view) const {
  const bool is_by_torch = empty_strided_ != nullptr && device.type != dlpack::DeviceType::Cpu && layout.offset == 0;
  if (is_by_torch || is_cupys_) {
    PyObject* const made = is_cupys_ ? newCupyArray(type_, layout) : makeByTorch(layout, device);
    if (made != nullptr) this->view(made, view);
    return made;
  }
  std::array<int64_t, Tensor::kMaxRank> sizes = {};
  std::ranges::copy(layout.sizes, sizes.begin());
  dlpack::ManagedVersioned* const made =
      layout.isRowMajor() ? allocated(*table_, layout.dtype, device, std::span(sizes).first(layout.sizes.size()))
                          : allocatedInParts(*table_, layout, device);
  if (made == nullptr) return nullptr;
  viewTold(made->array, view);
  void* object = nullptr;
  return table_->take(made, &object) == 0 ? static_cast<PyObject*>(object) : nullptr;
}

}  // namespace tokamak::python
