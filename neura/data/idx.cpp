#include "neura/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "neura/core/file.h"

namespace neura::data {
namespace {

struct Code {
  unsigned char code;
  DType dtype;
};
constexpr Code kCodes[] = {{0x08, uint8}, {0x09, int8}, {0x0B, int16}, {0x0C, int32}, {0x0D, float32}, {0x0E, float64}};

// Bytes in order, from memory that may be compressed.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {
    if (bytes.size() < 2 || bytes[0] != std::byte{0x1F} || bytes[1] != std::byte{0x8B}) return;
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw OutOfMemoryError(name + ": no memory to decompress");
    zipped_ = true;
  }
  Reader(const Reader&) = delete;
  ~Reader() {
    if (zipped_) inflateEnd(&stream_);
  }

  // At most n bytes; less only at the end.
  std::size_t read(void* to, std::size_t n) {
    std::size_t got = 0;
    while (got < n) {
      const std::size_t more = zipped_ ? inflate_some(static_cast<char*>(to) + got, n - got)
                                       : copy_some(static_cast<char*>(to) + got, n - got);
      if (!more) break;
      got += more;
    }
    count_ += got;
    return got;
  }
  std::uint64_t count() const { return count_; }
  // No more than this can come out: deflate cannot make a byte into more than 1032.
  std::uint64_t limit() const { return zipped_ ? 1032 * std::uint64_t(bytes_.size()) : bytes_.size(); }

 private:
  std::size_t copy_some(char* to, std::size_t n) {
    n = std::min(n, bytes_.size() - at_);
    if (n) std::memcpy(to, bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  std::size_t inflate_some(char* to, std::size_t n) {
    constexpr std::size_t kPiece = 1u << 30;
    while (!finished_) {
      const std::size_t in = std::min(bytes_.size() - at_, kPiece), out = std::min(n, kPiece);
      stream_.next_in = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes_.data() + at_));
      stream_.avail_in = uInt(in);
      stream_.next_out = reinterpret_cast<unsigned char*>(to);
      stream_.avail_out = uInt(out);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      at_ += in - stream_.avail_in;
      if (status == Z_STREAM_END) {
        finished_ = at_ == bytes_.size();
        if (!finished_) inflateReset(&stream_);  // gzip files may follow each other
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        throw FormatError(name_ + ": damaged gzip data at byte " + std::to_string(at_) +
                          (stream_.msg ? std::string(" (") + stream_.msg + ")" : ""));
      }
      if (const std::size_t made = out - stream_.avail_out) return made;
      if (!finished_ && at_ == bytes_.size() && status != Z_STREAM_END)
        throw FormatError(name_ + ": the gzip data is cut off at byte " + std::to_string(at_));
    }
    return 0;
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  z_stream stream_{};
  bool zipped_ = false, finished_ = false;
  std::size_t at_ = 0;
  std::uint64_t count_ = 0;
};

// Big-endian elements become the machine's, or the other way round.
void swap_bytes(void* data, std::int64_t n, int size) {
  auto* p = static_cast<unsigned char*>(data);
  for (std::int64_t i = 0; i < n; ++i, p += size) std::reverse(p, p + size);
}

Spec read_spec(Reader& reader, const std::string& name) {
  unsigned char magic[4] = {};
  const std::size_t got = reader.read(magic, 4);
  const auto* code = std::find_if(std::begin(kCodes), std::end(kCodes), [&](Code c) { return c.code == magic[2]; });
  check<FormatError>(got == 4 && !magic[0] && !magic[1] && code != std::end(kCodes), [&] {
    return name + ": expected an idx file, which begins with two zero bytes, a type and a rank; it has others";
  });
  const int rank = magic[3];
  check<FormatError>(rank >= 1 && rank <= kMaxRank, [&] {
    return name + ": expected 1 to " + std::to_string(kMaxRank) + " dimensions at byte 3, got " + std::to_string(rank);
  });
  Shape shape;
  bool overflow = false;
  std::uint64_t bytes = std::uint64_t(size_of(code->dtype));
  for (int i = 0; i < rank; ++i) {
    unsigned char b[4];
    check<FormatError>(reader.read(b, 4) == 4, [&] { return name + ": the file ends within the sizes"; });
    const std::uint64_t size = std::uint64_t(b[0]) << 24 | b[1] << 16 | b[2] << 8 | b[3];
    shape.push_back(std::int64_t(size));
    // A size of 0 makes the tensor empty, but the others must still be sizes that a tensor can have.
    overflow |= __builtin_mul_overflow(bytes, std::max<std::uint64_t>(size, 1), &bytes);
  }
  const bool empty = shape.contains(0);
  check<FormatError>(!overflow && bytes <= std::uint64_t(INT64_MAX / 16) && (empty || bytes <= reader.limit()), [&] {
    return name + ": the sizes " + shape.str() + " need " +
           (overflow || bytes > std::uint64_t(INT64_MAX / 16) ? "more bytes than there are"
                                                              : std::to_string(bytes) + " bytes") +
           ", but the file cannot hold more than " + std::to_string(reader.limit()) + "; it may have been cut off";
  });
  return Spec::dense(code->dtype, shape);
}

}  // namespace

Tensor parse_idx(std::span<const std::byte> bytes, const std::string& name) {
  Reader reader(bytes, name);
  Tensor out = Tensor::empty(read_spec(reader, name));
  const std::size_t got = reader.read(out.impl()->data(), out.nbytes());
  check<FormatError>(got == out.nbytes(), [&] {
    return name + ": expected " + std::to_string(out.nbytes()) + " bytes of values, got " + std::to_string(got) +
           "; the file was cut off";
  });
  char more;
  check<FormatError>(reader.read(&more, 1) == 0, [&] {
    return name + ": expected the end after " + std::to_string(reader.count() - 1) + " bytes, got more";
  });
  if (size_of(out.dtype()) > 1) swap_bytes(out.impl()->data(), out.numel(), size_of(out.dtype()));
  return out;
}

Tensor read_idx(const std::string& path) {
  const std::string bytes = io::read_file(path);
  return parse_idx(std::as_bytes(std::span(bytes)), path);
}

void write_idx(const std::string& path, const Tensor& tensor) {
  const auto* code =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](Code c) { return c.dtype == tensor.dtype(); });
  check<DTypeError>(code != std::end(kCodes), [&] {
    return std::string("write_idx: expected uint8, int8, int16, int32, float32 or float64, got ") +
           name(tensor.dtype());
  });
  const Shape shape = tensor.shape();
  check<ShapeError>(!shape.empty(), [] { return "write_idx: expected at least one dimension, got a 0-d tensor"; });
  std::string out{'\0', '\0', char(code->code), char(shape.size())};
  for (std::int64_t s : shape) {
    check<ShapeError>(s <= std::int64_t(UINT32_MAX),
                      [&] { return "write_idx: expected sizes below 2^32, got " + shape.str(); });
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(char(s >> shift & 0xFF));
  }
  const Tensor dense = tensor.detach().to(Device()).contiguous();
  const std::size_t header = out.size();
  out.append(static_cast<const char*>(dense.const_raw_data()), dense.nbytes());
  if (size_of(tensor.dtype()) > 1) swap_bytes(out.data() + header, tensor.numel(), size_of(tensor.dtype()));
  if (path.ends_with(".gz")) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "wb6"), gzclose);
    const bool ok = file && std::size_t(gzfwrite(out.data(), 1, out.size(), file.get())) == out.size() &&
                    gzflush(file.get(), Z_FINISH) == Z_OK;
    check<IoError>(ok, [&] { return "cannot write \"" + path + "\": " + std::strerror(errno); });
  } else {
    io::write_file(path, out);
  }
}

}  // namespace neura::data
