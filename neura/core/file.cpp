#include "neura/core/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "neura/core/error.h"
#include "neura/core/storage.h"

namespace neura::io {
namespace {

[[noreturn]] void system_error(const std::string& action, const std::string& path, int code) {
  throw IoError(action + " \"" + path + "\": " + std::strerror(code));
}

// The system's functions would take what comes before the byte 0 for the whole.
const std::string& checked(const std::string& path) {
  check<ValueError>(path.find('\0') == std::string::npos, [&] {
    return "file: expected a path without a byte 0, got \"" + path.substr(0, path.find('\0')) + "\\0...\"";
  });
  return path;
}

// One call moves at most this much; Linux itself stops at 2 GiB.
constexpr std::size_t kPiece = std::size_t{1} << 30;

// As memory counts; where addresses are 32 bits long, files may be larger than it.
std::size_t in_memory(std::uint64_t bytes, const char* action, const std::string& path) {
  if (bytes > std::uint64_t(PTRDIFF_MAX)) system_error(action, path, EFBIG);
  return std::size_t(bytes);
}

// A link is followed to the file it names, so that saving replaces that file and keeps the link.
std::string resolve(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (!real) return path;  // not there yet
  std::string resolved = real;
  std::free(real);
  return resolved;
}

}  // namespace

Mapping::Mapping(int file, std::uint64_t offset, std::uint64_t bytes, const std::string& path) : size(bytes) {
  if (!size) return;  // there is no empty mapping
  before_ = offset % std::uint64_t(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = in_memory(before_ + size, "cannot map", path);
  void* at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, off_t(offset - before_));
  if (at == MAP_FAILED) system_error("cannot map", path, errno);
  data = static_cast<std::byte*>(at) + before_;
}
Mapping::Mapping(std::span<const std::byte> borrowed)
    : data(const_cast<std::byte*>(borrowed.data())), size(borrowed.size()), borrowed_(true) {}
Mapping::~Mapping() {
  if (data && !borrowed_) ::munmap(data - before_, std::size_t(before_ + size));
}

Storage* storage_of(std::shared_ptr<Mapping> mapping, std::uint64_t begin, std::size_t bytes) {
  std::byte* at = mapping->data + begin;
  auto* held = new std::shared_ptr<Mapping>(std::move(mapping));
  const auto release = [](Storage* s) { delete static_cast<std::shared_ptr<Mapping>*>(s->context); };
  return Storage::wrap(at, bytes, release, held);
}

Source::Source(const std::string& path, bool mmap) : name_(path) {
  open(path);
  if (mmap) map();
}

Source::Source(const std::string& path, std::uint64_t offset, std::uint64_t size, bool mmap) : name_(path) {
  open(path);
  const std::uint64_t whole = size_;
  if (offset > whole || size > whole - offset) {
    ::close(file_);
    throw FormatError(path + ": expected " + std::to_string(size) + " bytes from byte " + std::to_string(offset) +
                      ", got a file of " + std::to_string(whole));
  }
  begin_ = offset, size_ = size;
  if (mmap) map();
}

void Source::open(const std::string& path) {
  file_ = ::open(checked(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not block
  if (file_ < 0) system_error("cannot open", path, errno);
  struct stat status;
  const bool known = ::fstat(file_, &status) == 0;
  const int code = errno;
  if (known && S_ISREG(status.st_mode)) {
    size_ = std::uint64_t(status.st_size);
    return;
  }
  ::close(file_);
  if (!known) system_error("cannot read", path, code);
  if (S_ISDIR(status.st_mode)) system_error("cannot read", path, EISDIR);
  throw IoError("cannot read \"" + path + "\": not a regular file");
}

Source::Source(std::span<const std::byte> bytes, std::string name, bool mmap)
    : name_(std::move(name)), memory_(bytes.data()), size_(bytes.size()) {
  if (mmap) mapping_ = std::make_shared<Mapping>(bytes);
}

void Source::map() {
  try {
    mapping_ = std::make_shared<Mapping>(file_, begin_, size_, name_);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Source::~Source() {
  if (file_ >= 0) ::close(file_);
}

void Source::read(std::uint64_t offset, void* to, std::size_t n) const {
  NEURA_ASSERT(offset <= size_ && n <= size_ - offset);
  if (file_ < 0) {
    if (n) std::memcpy(to, memory_ + offset, n);
    return;
  }
  char* p = static_cast<char*>(to);
  while (n) {
    const ssize_t got = ::pread(file_, p, std::min(n, kPiece), off_t(begin_ + offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) system_error("cannot read", name_, errno);
    if (got == 0)
      throw FormatError(name_ + ": the file ended at byte " + std::to_string(offset) + " while it was read");
    p += got, n -= std::size_t(got), offset += std::uint64_t(got);
  }
}

std::string read_file(const std::string& path) {
  const Source source(path);
  std::string text(in_memory(source.size(), "cannot read", path), '\0');
  source.read(0, text.data(), text.size());
  return text;
}

AtomicFile::AtomicFile(const std::string& path) : path_(checked(path)), target_(resolve(path)) {
  struct stat old;
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) system_error("cannot write", path, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) throw IoError("cannot write \"" + path + "\": not a regular file");
  const std::size_t slash = target_.rfind('/');
  folder_ = slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);

  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; file_ < 0; ++attempt) {
    const std::string mark = ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    const std::size_t kept =
        std::min(target_.size() - begin, NAME_MAX - mark.size());  // a name may be as long as names can
    temporary_ = target_.substr(0, begin + kept) + mark;
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && (errno != EEXIST || attempt == 100)) system_error("cannot write", path, errno);
  }
  if (exists && ::fchmod(file_, old.st_mode & 07777) != 0) fail("cannot write");
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const { system_error(action, path_, errno); }

void AtomicFile::write(const void* bytes, std::size_t n) {
  const char* p = static_cast<const char*>(bytes);
  while (n) {
    const ssize_t done = ::write(file_, p, std::min(n, kPiece));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot write");
    p += done, n -= std::size_t(done);
  }
}

void AtomicFile::commit() {
  if (::fsync(file_) != 0) fail("cannot write");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename a temporary file to");
  ::close(file_);
  file_ = -1;
  // The name must survive a power cut as well. Some file systems cannot sync a folder; the data is safe then anyway.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const int result = ::fsync(folder), code = errno;
  ::close(folder);
  if (result != 0 && code == EIO) system_error("cannot write", path_, code);
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace neura::io
