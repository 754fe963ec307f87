#include "cli/npy.h"

#include <algorithm>
#include <cstring>

#include "neura/core/file.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"

namespace neura::cli {
namespace {

struct Name {
  DType dtype;
  const char* descr;
};
constexpr Name kNames[] = {{DType::float16, "<f2"},   {DType::float32, "<f4"},     {DType::float64, "<f8"},
                           {DType::int8, "|i1"},      {DType::int16, "<i2"},       {DType::int32, "<i4"},
                           {DType::int64, "<i8"},     {DType::uint8, "|u1"},       {DType::boolean, "|b1"},
                           {DType::complex64, "<c8"}, {DType::complex128, "<c16"}, {DType::uint16, "<u2"},
                           {DType::uint32, "<u4"},    {DType::uint64, "<u8"}};
constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMagicSize = 6, kAlign = 64;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw FormatError(path + ": expected a .npy file of NumPy, got " + what);
}
// What follows "'key': " in the header, a Python dictionary.
std::string_view value_of(const std::string& path, std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  if (at == std::string_view::npos) damaged(path, "a header without " + key);
  header.remove_prefix(at + key.size() + 2);
  const std::size_t begin = header.find_first_not_of(": ");
  if (begin == std::string_view::npos) damaged(path, "a header that is cut off");
  return header.substr(begin);
}
Shape shape_of(const std::string& path, std::string_view text) {
  Shape shape;
  if (text.empty() || text[0] != '(') damaged(path, "a header without sizes");
  for (std::size_t i = 1; i < text.size() && text[i] != ')';) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    std::int64_t n = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      if (__builtin_mul_overflow(n, std::int64_t{10}, &n) || __builtin_add_overflow(n, text[i] - '0', &n))
        damaged(path, "sizes beyond 64 bits");
    if (shape.size() == kMaxRank) damaged(path, "more than " + std::to_string(kMaxRank) + " dimensions");
    shape.push_back(n);
  }
  return shape;
}
DType dtype_of(const std::string& path, std::string_view text) {
  const std::size_t end = text.size() > 1 ? text.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos || text[0] != '\'') damaged(path, "a header without a dtype");
  const std::string_view descr = text.substr(1, end - 1);
  for (const Name& n : kNames)
    if (descr == n.descr || descr == std::string("|") + (n.descr + 1)) return n.dtype;
  throw NotImplementedError(path + ": expected a dtype of Neura in little-endian order, got " + std::string(descr) +
                            "; convert it with astype");
}

}  // namespace

Tensor read_npy(const std::string& path) {
  const std::string file = io::read_file(path);
  if (file.size() < 12 || file.compare(0, kMagicSize, kMagic)) damaged(path, "other bytes");
  const bool old = file[6] == 1;
  std::uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, old ? 2 : 4);
  const std::size_t first = old ? 10 : 12;
  if (length > file.size() - first) damaged(path, "a header that is cut off");
  const std::string_view header(file.data() + first, length);
  const DType dtype = dtype_of(path, value_of(path, header, "descr"));
  Shape shape = shape_of(path, value_of(path, header, "shape"));
  const bool columns = value_of(path, header, "fortran_order").substr(0, 4) == "True";
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t n : shape)
    if (__builtin_mul_overflow(bytes, n, &bytes)) damaged(path, "sizes beyond 64 bits");
  if (std::uint64_t(bytes) != file.size() - first - length)
    damaged(path, std::to_string(file.size() - first - length) + " bytes of " + std::to_string(bytes));
  if (columns) std::reverse(shape.begin(), shape.end());
  Tensor t = Tensor::empty(Spec::dense(dtype, shape));
  if (bytes) std::memcpy(t.raw_data(), file.data() + first + length, std::size_t(bytes));
  if (!columns) return t;
  Shape back;
  for (int d = t.dim(); d--;) back.push_back(d);
  return contiguous(permute(t, back));
}

void write_npy(const std::string& path, const Tensor& given) {
  const DType dtype = given.dtype() == DType::bfloat16 ? DType::float32 : given.dtype();
  const Tensor t = contiguous(given.detach().to(Device()).to(dtype));
  const auto* name =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& n) { return n.dtype == dtype; });
  check<NotImplementedError>(name != std::end(kNames), [&] {
    return path + ": expected a dtype that NumPy has, got " + std::string(neura::name(dtype)) + "; convert it";
  });
  std::string sizes;
  for (const std::int64_t n : t.shape()) sizes += std::to_string(n) + ",";
  std::string header =
      std::string("{'descr': '") + name->descr + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  header += std::string(kAlign - (10 + header.size() + 1) % kAlign, ' ') + "\n";
  const auto length = std::uint16_t(header.size());
  io::AtomicFile file(path);
  file.write(std::string_view(kMagic, kMagicSize)), file.write(std::string_view("\x01\0", 2)), file.write(&length, 2);
  file.write(header), file.write(t.const_raw_data(), t.nbytes());
  file.commit();
}

}  // namespace neura::cli
