// .npy files in and out, and every way in which one can be wrong.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "interop/npy.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

using namespace std::string_literals;

class Npy : public testing::Test {
 protected:
  Npy() : directory_(std::filesystem::temp_directory_path() / ("tokamak_npy_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
  }
  ~Npy() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ / name; }
  std::string fileOf(const std::string& bytes) const {
    std::ofstream(path("case.npy"), std::ios::binary) << bytes;
    return path("case.npy");
  }
  Tensor read(const std::string& file, NpyHalf half = NpyHalf::Refuse) { return readNpy(file, device_, stream_, half); }
  // The message of the Io error that reading these bytes raises.
  std::string refusal(const std::string& bytes) {
    try {
      read(fileOf(bytes));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Io) << error.what();
      EXPECT_NE(error.message().find("case.npy"), std::string::npos) << error.what();
      return error.message();
    }
    ADD_FAILURE() << "the file was read";
    return "";
  }

  std::filesystem::path directory_;
  CpuDevice device_{{.threads = 1, .poisons_memory = true}};
  std::shared_ptr<Stream> stream_ = device_.createStream();
};

std::string file(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string length = {static_cast<char>(dictionary.size() & 0xFFU), static_cast<char>(dictionary.size() >> 8U)};
  if (version > 1) length += "\0\0"s;
  return "\x93NUMPY"s + version + "\0"s + length + dictionary + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST_F(Npy, EveryTypeGoesOutAndComesBack) {
  for (const DataType dtype : kAllDataTypes) {
    const std::vector<int64_t> sizes = {2, 3};
    const Tensor out = Tensor::emptyOnHost(device_, stream_, dtype, sizes);
    auto* const bytes = static_cast<unsigned char*>(out.data());
    const int64_t count = out.numel() * sizeOf(dtype);
    for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(dtype == DataType::Bool ? i % 2 : 37 * i);
    writeNpy(path("a.npy"), out);
    const Tensor in = read(path("a.npy"), NpyHalf::BFloat16);
    EXPECT_EQ(in.dtype(), dtype);
    EXPECT_TRUE(std::ranges::equal(in.sizes(), sizes));
    EXPECT_TRUE(in.isContiguous());
    EXPECT_EQ(std::memcmp(in.hostData(), bytes, static_cast<size_t>(count)), 0) << dataTypeName(dtype);
  }
}

TEST_F(Npy, StridedAndColumnMajorTensorsKeepTheirElements) {
  std::vector<int32_t> values(24);
  std::iota(values.begin(), values.end(), 0);
  const auto at = [](const Tensor& t, int64_t i, int64_t j) {
    return static_cast<const int32_t*>(t.hostData())[i * t.strides()[0] + j * t.strides()[1]];
  };
  const std::vector<int64_t> sizes = {3, 4};
  for (const std::vector<int64_t>& strides : {std::vector<int64_t>{4, 1}, {1, 3}, {8, 2}, {1, 5}, {0, 1}}) {
    const Tensor out = Tensor::borrow(device_, values.data(), DataType::I32, sizes, strides, MemoryKind::Host);
    writeNpy(path("a.npy"), out);
    const Tensor in = read(path("a.npy"));
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(at(in, i, j), at(out, i, j));
    }
  }
}

TEST_F(Npy, ColumnMajorFilesGiveColumnMajorStrides) {
  const Tensor in = read(fileOf(file(dictionary("|b1", "(2, 3)", "True"), "\1\0\1\0\1\1"s)));
  EXPECT_TRUE(std::ranges::equal(in.strides(), std::vector<int64_t>{1, 2}));
}

TEST_F(Npy, VersionsOneToThreeScalarsAndEmptyArraysAreRead) {
  for (const char version : {1, 2, 3}) {
    const Tensor in = read(fileOf(file(dictionary("<i4", "(2,)"), "\1\0\0\0\2\0\0\0"s, version)));
    EXPECT_EQ(static_cast<const int32_t*>(in.hostData())[1], 2);
  }
  EXPECT_EQ(read(fileOf(file(dictionary("<i4", "()"), "\1\0\0\0"s))).numel(), 1);
  EXPECT_EQ(read(fileOf(file(dictionary("<i4", "(0, 9223372036854775807, 5)"), ""))).numel(), 0);
}

TEST_F(Npy, WhatNumPyWritesIsWhatWeWrite) {
  const std::vector<double> values = {1, 2};
  const std::vector<int64_t> sizes = {2};
  const std::vector<int64_t> strides = {1};
  writeNpy(path("a.npy"), Tensor::borrow(device_, const_cast<double*>(values.data()), DataType::F64, sizes, strides,
                                         MemoryKind::Host));
  std::ifstream stream(path("a.npy"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(bytes.size(), 128U + 16U);
  EXPECT_EQ(bytes.substr(0, 10), "\x93NUMPY\x01\x00\x76\x00"s);
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }  ");
  EXPECT_EQ(bytes[127], '\n');
}

TEST_F(Npy, WhatIsWrongIsNamed) {
  struct Case {
    std::string bytes;
    std::string says;
  };
  const std::string good = dictionary("<f4", "(2,)");
  const Case cases[] = {
      {"", "does not start"},
      {"\x93NUMP", "does not start"},
      {"PK\3\4 a zip file", "does not start"},
      {"\x93NUMPY\1\0"s, "ends inside its header"},
      {file(good, "12345678", 4), "version is 4.0"},
      {file(good, "1234567"), "truncated: its shape (2) takes 8 bytes, 7 are there"},
      {"\x93NUMPY\1\0\xff\xff{'descr'"s, "claims 65535 bytes"},
      {"\x93NUMPY\2\0\xff\xff\xff\xff{'descr'"s, "claims 4294967295 bytes"},
      {"\x93NUMPY\2\0\0\0\x20\0"s + std::string(3 << 20, ' '), "at most 1048576"},
      {file(dictionary(">f4", "(2,)"), "12345678"), "big-endian"},
      {file(dictionary("|O", "(2,)"), "12345678"), "Python objects"},
      {file(dictionary("<u2", "(2,)"), "1234"), "where bf16 is asked for"},
      {file(dictionary("<c8", "(2,)"), "12345678"), "data type is '<c8'"},
      {file(dictionary("<b1", "(1,)"), "\2"), "element 0 of its booleans is 2"},
      {file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"), "several fields"},
      {file(dictionary("<f4", "(-2,)"), "12345678"), "negative size"},
      {file(dictionary("<f4", "(2)"), "12345678"), "',' is missing"},
      {file(dictionary("<f4", "(2, x)"), "12345678"), "a size is missing"},
      {file(dictionary("<f4", "(99999999999999999999,)"), ""), "does not fit 63 bits"},
      {file(dictionary("<f4", "(4294967296, 4294967296)"), ""), "more elements than 63 bits"},
      {file(dictionary("<f4", "(1000000000000,)"), "1234"), "truncated"},
      {file(dictionary("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "1234"), "more than 16 axes"},
      {file(dictionary("<f4", "(2,)", "Maybe"), "12345678"), "not True or False"},
      {file("{'descr': '<f4', 'shape': (2,)}", "12345678"), "lacks"},
      {file("{'descr': '<f4', 'descr': '<f4'}", ""), "twice"},
      {file("{'descr' '<f4', 'colour': 1}", ""), "damaged"},
      {file("{'colour': 1}", ""), "the entry 'colour'"},
      {file("{'descr': '<f4", ""), "not closed"},
      {file("'descr'", ""), "'{' is missing"},
      {file(good + "more", "12345678"), "more after the dictionary"},
  };
  for (const Case& wrong : cases) {
    const std::string message = refusal(wrong.bytes);
    EXPECT_NE(message.find(wrong.says), std::string::npos) << message << "\nshould say: " << wrong.says;
  }
}

TEST_F(Npy, EveryTruncationAndManyBitFlipsAreErrorsOrTensors) {
  const std::string good = file(dictionary("<f4", "(2, 2)"), "0123456789abcdef");
  for (size_t length = 0; length < good.size(); ++length) EXPECT_NE(refusal(good.substr(0, length)), "");
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    try {
      EXPECT_LE(read(fileOf(flipped)).numel(), 16);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Io) << error.what();
    }
  }
}

TEST_F(Npy, FilesThatCannotBeOpenedAreNamed) {
  EXPECT_THROW(read(path("missing.npy")), Error);
  EXPECT_THROW(read(directory_.string()), Error);
  const Tensor tensor = Tensor::emptyOnHost(device_, stream_, DataType::F32, std::vector<int64_t>{1});
  EXPECT_THROW(writeNpy(path("no/such/folder.npy"), tensor), Error);
  std::filesystem::create_directory(path("folder.npy"));
  EXPECT_THROW(writeNpy(path("folder.npy"), tensor), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);  // nothing half-written stays
}

}  // namespace

}  // namespace tokamak
